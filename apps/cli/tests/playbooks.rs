//! `holdpoint playbook` as a program: files need no server, problems come with their lines, and exit codes tell.
#![expect(clippy::unwrap_used, reason = "what these helpers unwrap is made by the tests themselves")]

use std::{fs, path::Path, process::Output};

use serde_json::Value;

const SECURITY: &str = include_str!("../../../docs/playbooks/security.toml");

fn holdpoint(place: &Path, arguments: &[&str]) -> Output {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.current_dir(place).env("HOLDPOINT_HOME", place.join("home")).env_remove("ORCHESTRATOR_PORT");
    command.args(arguments).output().unwrap()
}

/// Standard output of a call that must work, and no server may have been started for it.
fn told(place: &Path, arguments: &[&str]) -> String {
    let output = holdpoint(place, arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(!place.join("home/server.json").exists(), "{arguments:?} started a server");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_built_in_playbooks_are_listed_and_shown() {
    let place = tempfile::tempdir().unwrap();
    let list = told(place.path(), &["playbook", "list"]);
    for name in ["autonomous", "team", "subtask", "staged", "goal", "task"] {
        assert!(list.contains(name), "{list}");
    }
    let shown = told(place.path(), &["playbook", "show", "task"]);
    assert!(shown.starts_with("task (built in)\n") && shown.contains("agent-review"), "{shown}");
    let json: Value = serde_json::from_str(&told(place.path(), &["playbook", "show", "team", "--json"])).unwrap();
    assert_eq!(json["steps"][2]["work"], "delegate tasks to subtask runs");
    let all: Value = serde_json::from_str(&told(place.path(), &["playbook", "list", "--json"])).unwrap();
    assert_eq!(all.as_array().unwrap().len(), 6);
}

#[test]
fn every_built_in_playbook_can_be_drawn_in_a_terminal() {
    let place = tempfile::tempdir().unwrap();
    for name in ["autonomous", "team", "subtask", "staged", "goal", "task"] {
        let json = told(place.path(), &["playbook", "draw", name, "--json"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        let drawing = json["drawing"].as_str().unwrap();
        assert!(!drawing.contains("this is its source"), "{name}:\n{drawing}");
        assert!(drawing.contains('│') && drawing.contains("finish"), "{name}:\n{drawing}");
        let source = told(place.path(), &["playbook", "draw", name, "--mermaid"]);
        assert_eq!(json["mermaid"].as_str().unwrap(), source);
        assert!(source.starts_with("stateDiagram-v2\n"), "{source}");
    }
}

#[test]
fn a_file_is_checked_shown_and_drawn_without_a_server() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("security.toml"), SECURITY).unwrap();
    assert_eq!(told(place.path(), &["playbook", "check", "security.toml"]), "");
    assert_eq!(told(place.path(), &["playbook", "check", "security.toml", "--json"]), "[]\n");
    assert!(told(place.path(), &["playbook", "show", "security.toml"]).contains("security-review"));
    assert!(told(place.path(), &["playbook", "draw", "./security.toml"]).contains("security-review"));
}

#[test]
fn every_problem_of_bad_files_is_printed_with_its_place_and_hint() {
    let place = tempfile::tempdir().unwrap();
    let bad = SECURITY.replace("rounds = 2\n", "").replace("artifact = \"spec\"", "artifact = \"poem\"\nagents = 2");
    fs::write(place.path().join("security.toml"), bad).unwrap();
    fs::write(place.path().join("broken.toml"), "name = \"broken\"\n[[stage]\n").unwrap();
    let output = holdpoint(place.path(), &["playbook", "check", "security.toml", "broken.toml"]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stdout).unwrap();
    let expected = [
        "security.toml:8: `artifact` cannot be `poem`\n  hint: use `scope`,",
        "security.toml:9: `agents` does not belong to a `produce` stage\n  hint: it belongs to `delegate`",
        "security.toml:25: a loop needs a cap\n  hint: add `rounds = 3`",
        "broken.toml:2: this is not TOML",
    ];
    for line in expected {
        assert!(told.contains(line), "{line}\nis missing in\n{told}");
    }
    let output = holdpoint(place.path(), &["playbook", "check", "security.toml", "--json"]);
    let problems: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&problems[0]["line"], &problems[0]["key"]), (&Value::from(8), &Value::from("artifact")));
    assert_eq!(holdpoint(place.path(), &["playbook", "draw", "security.toml"]).status.code(), Some(1));
}

#[test]
fn a_warning_is_printed_and_is_no_failure() {
    let place = tempfile::tempdir().unwrap();
    let later = "\n[[stage]]\nname = \"more\"\nwork = \"produce\"\nartifact = \"code\"\nrole = \"implementer\"\n";
    fs::write(place.path().join("security.toml"), format!("{SECURITY}{later}")).unwrap();
    let told = told(place.path(), &["playbook", "check", "security.toml"]);
    assert!(told.contains("security.toml:22: warning: `more` changes what `security-review` has passed"), "{told}");
}

#[test]
fn what_is_not_there_is_said() {
    let place = tempfile::tempdir().unwrap();
    let output = holdpoint(place.path(), &["playbook", "show", "waterfall"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there are: autonomous, team"), "{output:?}");
    assert_eq!(holdpoint(place.path(), &["playbook", "check", "none.toml"]).status.code(), Some(5));
    assert_eq!(holdpoint(place.path(), &["playbook", "check"]).status.code(), Some(2));
}
