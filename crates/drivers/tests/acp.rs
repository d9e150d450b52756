//! How agents that are known only by their command find the broker and our tools, keep their sessions, and ask.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use domain::AgentProgram;
use drivers::driver::{Act, Brief, Edits, Start, start};
use serde_json::{Value, json};

fn brief(resume: Option<&str>) -> Brief {
    Brief {
        way: drivers::Way::Broker,
        prompt: "Leave a note".to_owned(),
        model: "scripted/demo".to_owned(),
        broker: "http://127.0.0.1:4000".to_owned(),
        home: "/home/ada/session".to_owned(),
        workspace: "/home/ada/workspace".to_owned(),
        tools: ["holdpoint", "agent", "relay"].map(str::to_owned).to_vec(),
        resume: resume.map(str::to_owned),
        turns: 0,
        protected: Vec::new(),
        edits: Edits::Kept,
    }
}

fn started(command: &str, resume: Option<&str>) -> Start {
    start(&AgentProgram::Acp(command.to_owned()), &brief(resume)).unwrap().0
}

fn file(start: &Start, end: &str) -> Value {
    let (_, text) = start.files.iter().find(|(path, _)| path.ends_with(end)).unwrap();
    serde_json::from_str(text).unwrap()
}

#[test]
fn copilot_finds_the_broker_and_our_tools_and_holds_no_common_word_for_a_secret() {
    let copilot = started("copilot --acp", None);
    assert_eq!(copilot.env["COPILOT_PROVIDER_BASE_URL"], "http://127.0.0.1:4000/openai/v1");
    assert_eq!(copilot.env["COPILOT_MODEL"], "scripted/demo");
    let server = &file(&copilot, "copilot/mcp-config.json")["mcpServers"]["holdpoint"];
    assert_eq!(server["command"], "holdpoint");
    let keys = copilot.env.iter().filter(|(name, _)| name.ends_with("_KEY"));
    for (name, key) in keys {
        assert!(!key.contains("holdpoint"), "{name} would be blanked out of all that names us");
    }
}

#[test]
fn qwen_shows_its_model_our_tools_and_asks_whatever_a_repository_allows() {
    let qwen = started("npx qwen --acp --auth-type openai", None);
    assert_eq!(qwen.env["OPENAI_BASE_URL"], "http://127.0.0.1:4000/openai/v1");
    assert!(qwen.env["QWEN_CODE_SYSTEM_SETTINGS_PATH"].ends_with("/qwen/holdpoint.json"));
    let permissions = &file(&qwen, "/qwen/holdpoint.json")["permissions"];
    assert!(permissions["deny"].as_array().unwrap().contains(&"tool_search".into()));
    assert!(permissions["ask"].as_array().unwrap().contains(&"run_shell_command".into()));
}

#[test]
fn a_session_of_gemini_is_set_aside_before_it_is_taken_up_and_only_then() {
    let home = tempfile::tempdir().unwrap();
    let chats = home.path().join(".gemini/tmp/work space/chats");
    std::fs::create_dir_all(&chats).unwrap();
    std::fs::write(chats.join("session-2026-11-16T12-05-85f3ea3a.jsonl"), "said\n").unwrap();
    let run = |start: &Start| {
        let mut shell = std::process::Command::new(&start.argv[0]);
        let status = shell.args(&start.argv[1..]).env("GEMINI_CLI_HOME", home.path()).status().unwrap();
        assert!(status.success());
        let names = std::fs::read_dir(&chats).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(run(&started("true gemini --acp", None)), ["session-2026-11-16T12-05-85f3ea3a.jsonl"]);
    let kept = ["session-kept-2026-11-16T12-05-85f3ea3a.jsonl"];
    assert_eq!(run(&started("true gemini --acp", Some("85f3ea3a"))), kept);
    assert_eq!(run(&started("true gemini --acp", Some("85f3ea3a"))), kept);
}

#[track_caller]
fn asked_about(call: &Value) -> Value {
    let (_, mut talk) = start(&AgentProgram::Acp("agent".to_owned()), &brief(None)).unwrap();
    let line = json!({"id": 7, "method": "session/request_permission", "params": {"toolCall": call, "options": []}});
    let acts = talk.line(&line.to_string(), 0);
    let asked = acts.into_iter().find_map(|act| if let Act::Ask(asked) = act { Some(asked) } else { None });
    asked.unwrap().action["command"].clone()
}

#[test]
fn a_command_is_seen_whole_however_it_is_told() {
    let words = json!({"rawInput": {"command": ["bash", "-lc", "git push || echo 'no'"]}});
    assert_eq!(asked_about(&words), r"bash -lc 'git push || echo '\''no'\'''");
    assert_eq!(asked_about(&json!({"rawInput": {"command": "git push"}, "title": "a step"})), "git push");
    assert_eq!(asked_about(&json!({"kind": "execute", "title": "git push"})), "git push");
    assert_eq!(asked_about(&json!({"kind": "edit", "title": "git push"})), Value::Null);
}
