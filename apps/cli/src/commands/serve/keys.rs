//! Keys of the server's environment: taken out of the environment block, which root, crash reporters and tools that list
//! processes can read for as long as the server runs. The process starts itself again without them and reads them from
//! its standard input.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use runner::ServerSecrets;

/// Set for a process that reads its keys from standard input.
const VARIABLE: &str = "HOLDPOINT_KEYS_FROM";
const STDIN: &str = "stdin";
/// Below what a pipe takes without a reader.
const MAX_BYTES: usize = 32 * 1024;

/// Variables whose value is a key of the server's.
fn is_key(name: &str) -> bool {
    name.ends_with("_API_KEY") || matches!(name, "GITHUB_TOKEN" | "DATABASE_URL")
}

/// The keys in the environment as known secrets, for what is logged before the server has read its settings.
pub(super) fn secrets(variables: &BTreeMap<String, String>) -> ServerSecrets {
    let secrets = ServerSecrets::default();
    for (name, value) in variables.iter().filter(|(name, _)| is_key(name)) {
        secrets.add(name, value);
    }
    secrets
}

/// The server's settings and keys.
pub(super) struct Environment {
    pub(super) variables: BTreeMap<String, String>,
    /// Why the keys are still in the environment block.
    pub(super) exposed: Option<io::Error>,
}

/// The environment with the keys that this process was given: by its own environment, or by the process it was before.
/// Starts the program again where keys are in the environment block, and then does not return.
pub(super) fn environment() -> io::Result<Environment> {
    let mut environment = super::environment_block();
    if environment.get(VARIABLE).is_some_and(|from| from == STDIN) {
        let mut text = String::new();
        io::stdin().lock().take(MAX_BYTES as u64).read_to_string(&mut text)?;
        rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        let keys: BTreeMap<String, String> = serde_json::from_str(&text)?;
        environment.extend(keys);
        return Ok(Environment { variables: environment, exposed: None });
    }
    let keys: BTreeMap<&String, &String> =
        environment.iter().filter(|(name, value)| is_key(name) && !value.is_empty()).collect();
    let exposed = (!keys.is_empty()).then(|| start_again(&keys));
    Ok(Environment { variables: environment, exposed })
}

/// Returns only if it cannot be done.
fn start_again(keys: &BTreeMap<&String, &String>) -> io::Error {
    let prepare = || {
        let text = serde_json::to_vec(keys)?;
        if text.len() >= MAX_BYTES {
            return Err(io::Error::other("the keys are too long"));
        }
        let (reader, mut writer) = io::pipe()?;
        writer.write_all(&text)?;
        Ok(reader)
    };
    let mut command = match (std::env::current_exe(), prepare()) {
        (Ok(program), Ok(reader)) => {
            let mut command = Command::new(program);
            command.stdin(reader);
            command
        }
        (Err(error), _) | (_, Err(error)) => return error,
    };
    keys.keys().for_each(|name| {
        command.env_remove(name);
    });
    command.args(std::env::args_os().skip(1)).env(VARIABLE, STDIN).exec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn provider_keys_and_tokens_are_keys_and_settings_are_not() {
        for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN", "DATABASE_URL"] {
            assert!(is_key(name), "{name}");
        }
        for name in ["ANTHROPIC_BASE_URL", "PATH", "HOLDPOINT_HOME", "GITHUB_REPO_OWNER"] {
            assert!(!is_key(name), "{name}");
        }
    }
}
