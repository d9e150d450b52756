//! Every name that live messages have in the contract, seen over a real socket while real agents work.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use tests::product::Product;
use tests::world::World;

/// An agent that thinks, speaks, uses a tool, loses its model once and asks.
const STORY: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
thought = "A single file is enough."
text = "I look around first."
[[conversation.turn.call]]
tool = "list_directory"
input = { path = "." }
[[conversation.turn]]
fault = { kind = "cut", times = 1 }
text = "I have seen enough to write the plan down."
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A note", body = "# A note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }

[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "Nothing was to be done" }
"##;

const NAMES: [&str; 15] = [
    "workflow:created",
    "workflow:approval_needed",
    "workflow:stage_changed",
    "workflow:completed",
    "workflow:error",
    "workflow:event",
    "session:started",
    "session:completed",
    "session:error",
    "turn:started",
    "turn:completed",
    "turn:message_delta",
    "turn:thought_delta",
    "turn:tool_started",
    "turn:tool_completed",
];

#[tokio::test]
async fn every_name_of_the_contract_is_seen_while_runs_go_well_and_badly() {
    let world = World::new(STORY).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let (connected, begin) = tokio::sync::oneshot::channel();
    let mut connected = Some(connected);
    let mut seen = BTreeSet::new();
    let watching = product.watch("/api/live", |message| {
        // The snapshot comes first; what agents do is told only to who is there.
        if let Some(connected) = connected.take() {
            connected.send(()).unwrap();
        }
        seen.extend(message["name"].as_str().map(str::to_owned));
        NAMES.iter().all(|name| seen.contains(*name)).then_some(())
    });
    let working = async {
        begin.await.unwrap();
        let start = |playbook: &str, checks: serde_json::Value| {
            json!({"project": world.repository(), "request": "Leave a note", "playbook": playbook,
                "models": {"*": "scripted/story"}, "checks": checks, "trust": {"planning": "manual"}})
        };
        let planned = product.run(None, &start("autonomous", json!([]))).await.unwrap();
        let id = planned["id"].as_str().unwrap();
        product.until(id, |view| view["hold"]["kind"] == "approval").await.unwrap();
        let (status, said) = product.post(&format!("/api/runs/{id}/cancel"), None, &json!({})).await.unwrap();
        assert_eq!(status, 200, "{said}");
        let failing = json!([{"name": "never", "command": "false"}]);
        let failed = product.run(None, &start("subtask", failing)).await.unwrap();
        let failed = product.until(failed["id"].as_str().unwrap(), |view| view["completedAt"].is_string()).await;
        assert_eq!(failed.unwrap()["status"], "failed");
    };
    let (watched, ()) = tokio::join!(watching, working);
    watched.unwrap();
}
