//! Tools of MCP servers in whole attempts: offered, called, recorded, and never repeated by themselves.

use crate::fake::{Fake, Turn};
use crate::kills::{kill, start};
use drivers::{AgentEvent, HandIn, Job, JobKind, McpServer, McpVariables, McpWay, ObservationKind, RoleSettings};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

fn server(name: &str, call: &str) -> McpServer {
    let script = format!(
        r#"
        say() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
        text() {{ say '{{"content":[{{"type":"text","text":"'"$1"'"}}]}}'; }}
        while IFS= read -r line; do
          id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}
          case "$line" in
            *'"initialize"'*) say '{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"x","version":"1"}}}}';;
            *'"tools/list"'*) say '{{"tools":[{{"name":"a.b","description":"Does it","inputSchema":{{"type":"object"}}}}]}}';;
            *'"tools/call"'*) {call};;
          esac
        done"#
    );
    let command = vec!["/bin/sh".to_owned(), "-c".to_owned(), script];
    let way = McpWay::Process { command, variables: McpVariables::None };
    McpServer { name: name.into(), way, tools: None, timeout_seconds: 5 }
}

fn done() -> Turn {
    Turn::Says("", vec![("complete_pulse", json!({"summary": "done"}))])
}

fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap()).filter(|name| name.starts_with("mcp__")).collect()
}

#[tokio::test]
async fn tools_of_servers_are_offered_called_and_observed_and_a_broken_server_is_told() {
    let calls = [
        ("mcp__good__a_b", json!({"word": 1})),
        ("mcp__dead__a_b", json!({})),
        ("mcp__good__a_b", json!({"path": ".env"})),
    ];
    let mut fake = Fake::new(vec![Turn::Says("", calls[..2].to_vec()), done()]).await;
    std::fs::write(fake.work("a.txt"), "a\n").unwrap();
    let dead = McpWay::Process { command: vec!["/no/such/program".into()], variables: McpVariables::None };
    let mcp = vec![server("good", "text 'it is done'"), McpServer { way: dead, ..server("dead", "") }];
    let job = Job { mcp, ..fake.job(JobKind::Code) };
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    let requests = fake.requests();
    assert_eq!(offered(&requests[0]), ["mcp__good__a_b"]);
    let said = requests[0]["messages"].to_string();
    assert!(said.contains("MCP server `good` offers 1 tools"), "{said}");
    assert!(said.contains("MCP server `dead` could not be started: `/no/such/program` cannot be run"), "{said}");
    let told = |words: &str| {
        fake.events().iter().any(|event| matches!(event, AgentEvent::Noted { text } if text.contains(words)))
    };
    assert!(told("`dead` could not be started") && told("`good` offers 1 tools"));
    let observations = fake.observations();
    assert_eq!(observations[0].output.as_deref(), Some("it is done"), "{observations:?}");
    assert_eq!((observations[0].kind, observations[0].success), (ObservationKind::ToolExecution, true));
    assert_eq!((observations[1].kind, observations[1].success), (ObservationKind::Refusal, false));
    assert!(observations[1].error.as_deref().unwrap().contains("could not be started"));
    assert!(fake.records().iter().any(|record| record.get("begun").is_some()), "it was recorded before it ran");

    // What our own tools may not without a yes, a server's may not either.
    let mut asks = Fake::new(vec![Turn::Says("", calls[2..].to_vec()), done()]).await;
    let job = Job { mcp: vec![server("good", "text read")], ..asks.job(JobKind::Code) };
    assert!(matches!(asks.attempt(&job).await, HandIn::Permission { .. }));

    // A role file can take them away.
    let mut without = Fake::new(vec![done()]).await;
    let settings = RoleSettings { tools: Some(vec!["grep".into()]), ..RoleSettings::default() };
    let job = Job { mcp: vec![server("good", "text no")], settings, ..without.job(JobKind::Code) };
    assert!(matches!(without.attempt(&job).await, HandIn::Pulse(_)));
    assert!(offered(&without.requests()[0]).is_empty());
}

#[tokio::test]
async fn a_long_answer_of_a_server_is_cut_and_kept_whole_in_a_file() {
    let mut fake = Fake::new(vec![Turn::Says("", vec![("mcp__big__a_b", json!({}))]), done()]).await;
    let call = r#"text "$(head -c 300000 /dev/zero | tr '\0' y)""#;
    let job = Job { mcp: vec![server("big", call)], ..fake.job(JobKind::Code) };
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    let sent = fake.requests()[1]["messages"].to_string();
    assert!(sent.contains("the whole output, 1 lines, is in `.holdpoint/output-1.txt`"), "{}", sent.len());
    assert_eq!(std::fs::metadata(fake.session("output/output-1.txt")).unwrap().len(), 300_000);
}

#[tokio::test]
async fn a_call_that_was_killed_with_the_agent_is_told_and_not_made_again() {
    // It waits for an end that only the agent's death brings.
    let call = "echo x >> ran.txt; if [ -p told ]; then echo here > told; IFS= read -r never; exit; fi; text made";
    let mut fake = Fake::new(vec![Turn::Says("", vec![("mcp__slow__a_b", json!({}))]), done()]).await;
    let told = fake.work("told");
    rustix::fs::mkfifoat(rustix::fs::CWD, &told, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let mut slow = server("slow", call);
    slow.timeout_seconds = 600;
    let job = Job { mcp: vec![slow], ..fake.job(JobKind::Code) };
    fake.put_job(&job);
    let child = start(&fake);
    let mut here = String::new();
    tokio::fs::File::open(&told).await.unwrap().read_to_string(&mut here).await.unwrap();
    kill(child).await;
    std::fs::remove_file(&told).unwrap();
    assert!(matches!(fake.attempt(&job).await, HandIn::Pulse(_)));
    let sent = fake.requests()[1]["messages"].to_string();
    assert!(sent.contains("interrupted: the agent was stopped while `mcp__slow__a_b` ran"), "{sent}");
    assert_eq!(std::fs::read_to_string(fake.work("ran.txt")).unwrap(), "x\nx\n", "once by each call of the model");
}
