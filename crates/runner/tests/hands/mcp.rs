//! MCP servers of the user's configuration: one inside the agent's sandbox, one over HTTP through its broker.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use broker::Secret;
use domain::{Command, Ending, Phase};
use drivers::{AgentEvent, Observation};
use runner::{McpServers, McpSettings, McpSource};
use serde_json::{Value, json};
use testkit::samples;

use crate::world::{World, yes};

const SCRIPT: &str = r##"
[[conversation]]
role = "worker"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "mcp__local__look"
input = { word = "sample" }
[[conversation.turn.call]]
tool = "mcp__docs__find"
input = { page = "start" }
[[conversation.turn.call]]
tool = "mcp__docs__fly"
input = {}
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "a.txt", content = "a\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "made", look_at = "a.txt", how_to_test = "cat a.txt" }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "mcp__docs__find"
input = { page = "start" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine", findings = [] }
"##;

/// A server in a few lines of shell; `mark` tells its processes from all others.
pub(crate) fn local(mark: &str, call: &str) -> McpSettings {
    let script = format!(
        r#"
        # {mark}
        say() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
        while IFS= read -r line; do
          id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}
          case "$line" in
            *'"initialize"'*) say '{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"x","version":"1"}}}}';;
            *'"tools/list"'*) say '{{"tools":[{{"name":"look","description":"Looks","inputSchema":{{"type":"object"}}}}]}}';;
            *'"tools/call"'*) {call};;
          esac
        done"#
    );
    let way = McpSource::Process {
        command: vec!["/bin/sh".into(), "-c".into(), script],
        variables: BTreeMap::from([("TOKEN".to_owned(), Secret::new("t0ken-of-the-user"))]),
        read: Vec::new(),
    };
    McpSettings { name: "local".into(), way, roles: vec!["worker".into()], tools: None, timeout_seconds: 600 }
}

pub(crate) type Seen = Arc<Mutex<Vec<String>>>;

async fn answer(State(seen): State<Seen>, headers: HeaderMap, body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap();
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let key = headers.get("x-key").map_or("no key", |key| key.to_str().unwrap());
    seen.lock().unwrap().push(format!("{method} {key}"));
    let result = match method.as_str() {
        "initialize" => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "d", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "find", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            let page = message["params"]["arguments"]["page"].as_str().unwrap();
            json!({"content": [{"type": "text", "text": format!("the page {page}")}]})
        }
        _other => return StatusCode::ACCEPTED.into_response(),
    };
    axum::Json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).into_response()
}

pub(crate) async fn docs() -> (McpSettings, Seen) {
    let seen = Seen::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = Router::new().route("/mcp", post(answer)).with_state(Arc::clone(&seen));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let headers = BTreeMap::from([("X-Key".to_owned(), Secret::new("k3y-of-the-user"))]);
    let way = McpSource::Http { url, headers };
    let roles = vec!["worker".into()];
    (McpSettings { name: "docs".into(), way, roles, tools: None, timeout_seconds: 30 }, seen)
}

fn observations(world: &World, run: &domain::RunId, session: &str) -> Vec<Observation> {
    let text = String::from_utf8(world.session_file(run, session, "observations.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Processes whose command line has this in it.
pub(crate) fn alive(mark: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(mark))
        .count()
}

#[tokio::test]
async fn a_role_that_may_uses_a_server_in_its_sandbox_and_one_through_its_broker() {
    let mark = format!("mcp-mark-{}-works", std::process::id());
    // It sees the workspace and its variable; its words about the variable are not passed on.
    let call = r#"say '{"content":[{"type":"text","text":"'"$(cat README.md) $TOKEN"'"}]}'"#;
    let (docs, seen) = docs().await;
    let world = World::with_mcp(SCRIPT, BTreeMap::new(), McpServers(vec![local(&mark, call), docs]));
    let run = world.work("task", "test -f a.txt", |_, _| yes()).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);

    let told = world.told(&run.id, "worker", 1);
    assert!(told.contains("- MCP server `local` offers 1 tools\n- MCP server `docs` offers 1 tools"), "{told}");
    let seen_by_worker = observations(&world, &run.id, "worker-1");
    let came = |at: usize| (seen_by_worker[at].source.as_str(), seen_by_worker[at].success);
    assert_eq!(came(0), ("mcp__local__look", true), "{seen_by_worker:?}");
    assert_eq!(seen_by_worker[0].output.as_deref(), Some("# Sample [TOKEN]"));
    assert_eq!(came(1), ("mcp__docs__find", true), "{seen_by_worker:?}");
    assert_eq!(seen_by_worker[1].output.as_deref(), Some("the page start"));
    assert_eq!(came(2), ("mcp__docs__fly", false));
    let calls = seen.lock().unwrap().iter().filter(|call| *call == "tools/call k3y-of-the-user").count();
    assert_eq!(calls, 1, "{seen:?}");

    let judged = world.results(&run.id, "reviewer", 1);
    assert!(!judged[0].0 && judged[0].1.contains("there is no tool `mcp__docs__find`"), "{judged:?}");
    assert!(!world.told(&run.id, "reviewer", 1).contains("MCP"));
    for file in ["job.json", "turns.jsonl", "stream.jsonl"] {
        let text = String::from_utf8(world.session_file(&run.id, "worker-1", file)).unwrap();
        assert!(!text.contains("of-the-user"), "{file}: {text}");
    }
    assert_eq!(alive(&mark), 0, "servers end with their agent");
}

#[tokio::test]
async fn a_cancelled_run_leaves_no_process_of_a_server_behind() {
    let mark = format!("mcp-mark-{}-hangs", std::process::id());
    // Also one that leaves its group and its parent.
    let call = format!("setsid sh -c 'sleep 600; : {mark}' & sleep 600");
    let world = World::with_mcp(SCRIPT, BTreeMap::new(), McpServers(vec![local(&mark, &call)]));
    let mut activity = world.hands.activity();
    let stop = async {
        loop {
            let event = activity.recv().await.unwrap().event;
            if matches!(&event, AgentEvent::ToolStarted { tool, .. } if tool == "mcp__local__look") {
                break;
            }
        }
        assert!(alive(&mark) > 0, "the server runs");
        let cancel = Command::Cancel { reason: None, by: samples::actor("ada") };
        world.engine.submit(samples::run_id(1), cancel, None).await.unwrap();
    };
    let (run, ()) = tokio::join!(world.work("task", "true", |_, _| yes()), stop);
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Cancelled });
    assert_eq!(alive(&mark), 0);
}
