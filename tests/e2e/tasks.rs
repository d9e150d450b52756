//! A task from the command line to the merged branch: it asks first, its worker speaks through TASK.md, its review is by
//! tool, and the person merges.

use std::collections::BTreeMap;

use serde_json::Value;
use tests::product::{Product, command};
use tests::world::World;

/// The worker writes its handoff into the file and is gone; the reviewer uses its tool.
const SCRIPT: &str = r#"
[[conversation]]
role = "worker"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = '''grep -q "^summary: Write the note down" TASK.md || exit 1
echo note > note.txt
printf "\n## Handoff\n\nwrote the note\n" >> TASK.md
kill -9 $PPID''' }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine", findings = [] }
"#;

#[tokio::test]
async fn a_task_asks_first_hands_over_through_its_file_and_is_merged_from_the_command_line() {
    let world = World::new(SCRIPT).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let (repository, home) = (world.repository(), world.home());
    let said = async |arguments: &[&str]| command(&repository, &home, arguments).await.unwrap();
    let created = said(&["task", "create", "--model", "scripted/story", "--check", "test -f note.txt"]).await;
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    let id = String::from_utf8(created.stdout).unwrap().trim().to_owned();
    product.until(&id, |view| view["taskStatus"] == "clarification").await.unwrap();
    let answer = ["task", "update", &id, "--status", "working", "--summary", "Write the note down"];
    assert!(said(&answer).await.status.success());
    product.until(&id, |view| view["taskStatus"] == "reviewing").await.unwrap();
    let refused = said(&["task", "update", &id, "--status", "working"]).await;
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
    let listed: Value = serde_json::from_slice(&said(&["task", "list", "--json"]).await.stdout).unwrap();
    assert_eq!((&listed[0]["status"], &listed[0]["session"]), (&"reviewing".into(), &"inactive".into()), "{listed}");
    assert!(said(&["task", "merge", &id]).await.status.success());
    let done = product.until(&id, |view| view["taskStatus"] == "done").await.unwrap();
    assert!(done["merged"].is_string(), "{done}");
    product.stop().await.unwrap();
}
