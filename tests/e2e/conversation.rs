//! A server that dies in the middle of a clarifying conversation: nothing that was said is lost.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::product::Product;
use tests::world::World;

/// The planner is only there for somebody who was told the whole conversation and what was confirmed.
const STORY: &str = r#"
[[conversation]]
role = "architect"
visit = 1
[[conversation.turn]]
[[conversation.turn.call]]
tool = "clarify"
input = { status = "questions", message = "One file or two?" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "clarify"
input = { status = "questions", message = "In which language?" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "clarify"
input = { status = "ready", message = "A single note.txt in Latin." }

[[conversation]]
role = "architect"
visit = 2
when = ["One file or two?", "Just one.", "In which language?", "Latin, please.", "A single note.txt in Latin."]
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { summary = "A note", tasks = [{ id = "note", title = "Write the note", description = "note.txt", files = ["note.txt"] }] }

[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "note.txt", content = "salve\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "It is there" }

[[conversation]]
role = "reviewer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "As asked" }
"#;

async fn start(world: &World) -> Product {
    Product::start(&world.home(), &BTreeMap::new()).await.unwrap()
}

/// Waits for a hold of this kind about these words, and decides on it.
async fn meets(product: &Product, id: &str, kind: &str, words: &str, decision: Value) {
    let asked = |view: &Value| view["completedAt"].is_string() || view["hold"]["question"] == words;
    let view = product.until(id, asked).await.unwrap();
    assert_eq!((&view["hold"]["kind"], &view["stage"]), (&json!(kind), &json!("clarifying")), "{view}");
    let (status, answer) = product.decide(&view, &decision).await.unwrap();
    assert_eq!(status, 200, "{answer}");
}

fn answers(text: &str) -> Value {
    json!({"decision": "answer", "answer": [text]})
}

async fn said(product: &Product, id: &str) -> Vec<String> {
    let (_, view) = product.get(&format!("/api/runs/{id}")).await.unwrap();
    view["conversation"].as_array().unwrap().iter().map(|said| said["text"].as_str().unwrap().to_owned()).collect()
}

/// The records of the architect's first conversation, which are what its model is sent.
fn told(world: &World, id: &str) -> String {
    let path = world.home().join("runs").join(id).join("sessions/architect-1/turns.jsonl");
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn a_conversation_whose_server_is_killed_goes_on_with_all_that_was_said() {
    let world = World::new(STORY).unwrap();
    let product = start(&world).await;
    let body = json!({
        "project": world.repository(), "request": "Leave a note", "playbook": "team", "autoMerge": true,
        "models": {"*": "scripted/story"},
    });
    let run = product.run(None, &body).await.unwrap();
    let id = run["id"].as_str().unwrap();
    meets(&product, id, "clarification", "One file or two?", answers("Just one.")).await;
    product.until(id, |view| view["hold"]["question"] == "In which language?").await.unwrap();
    product.kill().await.unwrap();

    let product = start(&world).await;
    assert_eq!(said(&product, id).await, ["One file or two?", "Just one.", "In which language?"]);
    meets(&product, id, "clarification", "In which language?", answers("Latin, please.")).await;
    // The script has its third turn only for a request that holds the two before.
    product.until(id, |view| view["hold"]["kind"] == "confirm").await.unwrap();
    let told = told(&world, id);
    for words in ["One file or two?", "Just one.", "In which language?", "Latin, please."] {
        assert!(told.contains(words), "`{words}` is not in {told}");
    }
    assert_eq!(said(&product, id).await.len(), 5, "two rounds, and what was understood");
    meets(&product, id, "confirm", "A single note.txt in Latin.", json!({"decision": "approve"})).await;

    let view = product.until(id, |view| view["hold"]["kind"] == "approval").await.unwrap();
    assert_eq!(view["stage"], "planning", "{view}");
    let (status, answer) = product.decide(&view, &json!({"decision": "approve"})).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    let view = product.until(id, |view| view["completedAt"].is_string()).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    assert_eq!(world.git(&["show", "main:note.txt"]).unwrap(), "salve");
    let branch = view["branch"].as_str().unwrap();
    let requirement = format!("{branch}:.autonomous/runs/{id}/requirement.md");
    assert_eq!(world.git(&["show", &requirement]).unwrap(), "A single note.txt in Latin.");
    product.stop().await.unwrap();
}

#[tokio::test]
async fn a_word_reaches_the_agent_at_work_before_its_next_turn() {
    let script = r#"
[[conversation]]
role = "worker"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "shell"
input = { command = "until test -e go; do sleep 0.1; done; rm go" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "ask_questions"
input = { questions = [{ question = "Which?" }] }
"#;
    let world = World::new(script).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let body = json!({
        "project": world.repository(), "request": "Wait", "playbook": "task", "models": {"*": "scripted/story"},
    });
    let run = product.run(None, &body).await.unwrap();
    let id = run["id"].as_str().unwrap();
    product.until_tool(id, "shell").await.unwrap();
    let word = json!({"text": "use the blue one"});
    let (status, told) = product.post(&format!("/api/runs/{id}/message"), None, &word).await.unwrap();
    assert_eq!(status, 200, "{told}");
    std::fs::write(world.home().join(format!("runs/{id}/workspace/go")), "").unwrap();
    product.until(id, |view| view["hold"].is_object()).await.unwrap();
    let (_, history) = product.get(&format!("/api/sessions/{id}.worker-1")).await.unwrap();
    assert!(history["turns"][0]["items"].to_string().contains("use the blue one"), "{history}");
    product.stop().await.unwrap();
}
