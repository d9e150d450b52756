//! Programs that use their own login at their own vendor: where each looks for it, which hosts it needs, whose prices
//! hold for it. Pure.

use std::collections::BTreeMap;
use std::path::Path;

use domain::AgentProgram;

use super::Brief;
use crate::Way;

/// A program by its vendor, also where it is only known by its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Claude,
    Codex,
    Gemini,
    Opencode,
    Other,
}

fn kind(program: &AgentProgram) -> Kind {
    let command = match program {
        AgentProgram::Claude => return Kind::Claude,
        AgentProgram::Codex | AgentProgram::CodexExec => return Kind::Codex,
        AgentProgram::Gemini => return Kind::Gemini,
        AgentProgram::Opencode => return Kind::Opencode,
        // A plain command is told nothing of any program's settings.
        AgentProgram::Own | AgentProgram::Command(_) => return Kind::Other,
        AgentProgram::Acp(command) => command,
    };
    let is = |name: &str| super::names(command, name);
    match () {
        () if is("claude") => Kind::Claude,
        () if is("codex") => Kind::Codex,
        () if is("gemini") => Kind::Gemini,
        () if is("opencode") => Kind::Opencode,
        () => Kind::Other,
    }
}

/// The hosts a program needs to work with its own login; none: they have to be named.
///
/// Those that only renew a login are left out where a renewal would make the user's own copy useless.
#[must_use]
pub fn default_hosts(program: &AgentProgram) -> &'static [&'static str] {
    match kind(program) {
        Kind::Claude => &["api.anthropic.com"],
        Kind::Codex => &["chatgpt.com", "api.openai.com"],
        Kind::Gemini => &["cloudcode-pa.googleapis.com", "generativelanguage.googleapis.com", "oauth2.googleapis.com"],
        Kind::Opencode | Kind::Other => &[],
    }
}

/// The provider whose models a program asks for, where it is always the same.
#[must_use]
pub fn vendor(program: &AgentProgram) -> Option<&'static str> {
    match kind(program) {
        Kind::Claude => Some("anthropic"),
        Kind::Codex => Some("openai"),
        Kind::Gemini => Some("gemini"),
        Kind::Opencode | Kind::Other => None,
    }
}

/// How a person logs a program in.
#[must_use]
pub fn how_to_log_in(program: &AgentProgram) -> &'static str {
    match kind(program) {
        Kind::Claude => "run `claude` and `/login`, or `claude setup-token` and name CLAUDE_CODE_OAUTH_TOKEN in `env`",
        Kind::Codex => "run `codex login`",
        Kind::Gemini => "run `gemini` and choose to log in, or name GEMINI_API_KEY in `env`",
        Kind::Opencode => "run `opencode auth login`",
        Kind::Other => "log it in as its own documentation says",
    }
}

/// Where a file of the user's belongs in the session folder, so that the program finds it as its login; `home` is the
/// user's.
#[must_use]
pub fn login_place(program: &AgentProgram, file: &Path, home: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match kind(program) {
        Kind::Claude => format!("claude/{name}"),
        Kind::Codex => format!("codex/{name}"),
        Kind::Gemini => format!("gemini/.gemini/{name}"),
        Kind::Opencode => format!("opencode/data/opencode/{name}"),
        // The session folder is its home.
        Kind::Other => file.strip_prefix(home).map_or(name, |below| below.to_string_lossy().into_owned()),
    }
}

/// Variables by which a program finds the only way out it has.
pub(super) fn way_out(brief: &Brief) -> BTreeMap<String, String> {
    let Way::Direct { hosts, .. } = &brief.way else { return BTreeMap::new() };
    // Its own loopback is nobody else's; where the user's is meant, the proxy leads there.
    let to_users = hosts.iter().any(|host| host.starts_with("127.0.0.1:"));
    let near = if to_users { "localhost" } else { "127.0.0.1,localhost" };
    let proxy = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"].map(|name| (name, brief.broker.as_str()));
    let rest = [("NO_PROXY", near), ("no_proxy", near), ("NODE_USE_ENV_PROXY", "1")];
    proxy.into_iter().chain(rest).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_goes_where_its_program_looks_for_it() {
        let place =
            |program: &str, file: &str| login_place(&program.parse().unwrap(), Path::new(file), Path::new("/home/ada"));
        assert_eq!(place("claude", "/home/ada/.claude/.credentials.json"), "claude/.credentials.json");
        assert_eq!(place("codex", "/home/ada/.codex/auth.json"), "codex/auth.json");
        assert_eq!(place("gemini", "/home/ada/.gemini/oauth_creds.json"), "gemini/.gemini/oauth_creds.json");
        assert_eq!(place("acp:opencode acp", "/x/auth.json"), "opencode/data/opencode/auth.json");
        assert_eq!(place("command:./work.sh", "/home/ada/.config/work/key"), ".config/work/key");
        assert_eq!(place("command:./work.sh", "/etc/work/key"), "key");
    }
}
