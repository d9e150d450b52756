//! Clocks that run out: a stage's own, and the deadline of a question. They are minutes at the least, so the server is
//! killed, the clocks run out while it is off, and the next one finds them due.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::product::{Product, command};
use tests::world::World;

use crate::runs::verify;

const PLAN: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A note", body = "# A note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }
"##;

const PASS: &str = r#"
[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine" }
"#;

const DONE: &str = r#"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "A note is there" }
"#;

const ASK: &str = r#"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "ask_questions"
input = { questions = [{ question = "Which note?", options = ["short", "long"], default = ["short"], deadline_minutes = 1, reversible = true, at_deadline = "assume" }] }
"#;

const STALL: &str = "\n[[conversation.turn]]\ndelay_ms = 600000\ntext = \"Thinking for a long time.\"\n";

fn implementer(visit: u32, turns: &[&str]) -> String {
    format!("\n[[conversation]]\nrole = \"implementer\"\nvisit = {visit}\n{}", turns.concat())
}

fn writes(text: &str) -> String {
    format!(
        "\n[[conversation.turn]]\n[[conversation.turn.call]]\ntool = \"write_file\"\n\
         input = {{ path = \"note.txt\", content = \"{text}\\n\" }}\n"
    )
}

fn story(implementers: &[String]) -> String {
    format!("{PLAN}{}{PASS}", implementers.concat())
}

fn body(world: &World) -> Value {
    json!({
        "project": world.repository(), "request": "Leave a note", "autoMerge": true,
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"},
        "models": {"*": "scripted/story"}, "timeoutMinutes": {"implementation": 1},
    })
}

fn settled(view: &Value) -> bool {
    view["completedAt"].is_string() || view["hold"].is_object()
}

async fn start(world: &World) -> Product {
    Product::start(&world.home(), &BTreeMap::new()).await.unwrap()
}

/// The server dies, every clock runs out meanwhile, and another server starts.
async fn too_late(world: &World, product: Product) -> Product {
    product.kill().await.unwrap();
    world.let_clocks_run_out().unwrap();
    start(world).await
}

async fn decides(product: &Product, view: &Value, decision: Value) {
    let (status, answer) = product.decide(view, &decision).await.unwrap();
    assert_eq!(status, 200, "{answer}");
}

async fn events(product: &Product, id: &str) -> Vec<Value> {
    let (_, events) = product.get(&format!("/api/runs/{id}/events")).await.unwrap();
    events.as_array().unwrap().clone()
}

fn count(events: &[Value], kind: &str) -> usize {
    events.iter().filter(|event| event["type"] == kind).count()
}

/// A run whose implementer has written its note and then stalls, at the hold its clock led to.
async fn out_of_time(world: &World) -> (Product, Value) {
    let product = start(world).await;
    let run = product.run(None, &body(world)).await.unwrap();
    let id = run["id"].as_str().unwrap();
    // The planner's call and the implementer's first are paid for.
    let stalls = |view: &Value| view["stage"] == "implementation" && view["spend"]["calls"] == 2;
    product.until(id, |view| settled(view) || stalls(view)).await.unwrap();
    let product = too_late(world, product).await;
    let view = product.until(id, settled).await.unwrap();
    let hold = &view["hold"];
    assert_eq!((&hold["kind"], &hold["stage"]), (&json!("timeout"), &json!("implementation")), "{view}");
    assert_eq!(hold["allowed"], json!(["extend", "retry", "cancel"]));
    assert_eq!(hold["summary"], "implementation did not end in its time (1 min)");
    (product, view)
}

/// The run ends by itself with this note merged.
async fn ends(world: &World, product: Product, id: &str, note: &str) -> Vec<Value> {
    let view = product.until(id, settled).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    assert_eq!(world.git(&["show", "main:note.txt"]).unwrap(), note);
    let events = events(&product, id).await;
    product.stop().await.unwrap();
    let said = verify(world).await;
    assert!(said.ends_with(" 0 violations"), "{said}");
    events
}

#[tokio::test]
async fn a_stage_out_of_time_is_stopped_and_more_time_lets_its_agent_go_on_where_it_was() {
    let note = writes("first");
    let world = World::new(&story(&[implementer(1, &[&note, STALL])])).unwrap();
    let (product, view) = out_of_time(&world).await;
    world.tell(&story(&[implementer(1, &[&note, DONE])])).unwrap();
    decides(&product, &view, json!({"decision": "extend", "minutes": 5})).await;
    let id = view["id"].as_str().unwrap();
    product.until(id, |view| view["hold"].is_null()).await.unwrap();
    let events = ends(&world, product, id, "first").await;
    let begun =
        events.iter().filter(|event| event["type"] == "STAGE_STARTED" && event["payload"]["stage"] == "implementation");
    assert_eq!(begun.count(), 1, "it is the same visit, in which the note was written before the clock ran out");
    assert_eq!(count(&events, "AGENT_CRASHED"), 0);
}

#[tokio::test]
async fn a_stage_out_of_time_can_be_tried_again_from_its_beginning() {
    let (first, second) = (writes("first"), writes("second"));
    let world = World::new(&story(&[implementer(1, &[&first, STALL]), implementer(2, &[&second, DONE])])).unwrap();
    let (product, view) = out_of_time(&world).await;
    decides(&product, &view, json!({"decision": "retry"})).await;
    let id = view["id"].as_str().unwrap();
    product.until(id, |view| view["hold"].is_null()).await.unwrap();
    ends(&world, product, id, "second").await;
}

#[tokio::test]
async fn a_question_nobody_answers_becomes_an_assumption_that_a_person_overturns() {
    let (short, long) = (writes("short"), writes("long"));
    let again =
        implementer(2, &[&long, DONE]).replacen("visit = 2", "visit = 2\nwhen = [\"Which note?\", \"long\"]", 1);
    let world = World::new(&story(&[implementer(1, &[ASK, &short, DONE]), again])).unwrap();
    let product = start(&world).await;
    let mut body = body(&world);
    body["review"] = json!(true);
    let run = product.run(None, &body).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let view = product.until(id, settled).await.unwrap();
    let hold = &view["hold"];
    assert_eq!((&hold["kind"], &hold["atDeadline"]), (&json!("clarification"), &json!("assume")), "{view}");
    assert!(hold["deadline"].is_string() && hold["default"] == json!(["short"]), "{view}");
    let product = too_late(&world, product).await;

    let view = product.until(id, |view| settled(view) && view["hold"]["kind"] != "clarification").await.unwrap();
    assert_eq!(view["hold"]["kind"], "review", "{view}");
    let assumed = json!([{"number": 1, "stage": "implementation", "question": "Which note?", "answer": ["short"], "overturned": false}]);
    let (_, view) = product.get(&format!("/api/runs/{id}")).await.unwrap();
    assert_eq!(view["assumptions"], assumed, "{view}");
    let branch = view["branch"].as_str().unwrap();
    assert_eq!(world.git(&["show", &format!("{branch}:note.txt")]).unwrap(), "short");
    let before = events(&product, id).await;
    assert_eq!((count(&before, "DEADLINE_PASSED"), count(&before, "ASSUMPTION_MADE")), (1, 1));

    let overturn = ["overturn", &id[..8], "1", "long"];
    let said = command(&world.repository(), &world.home(), &overturn).await.unwrap();
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    let first = view["hold"]["id"].clone();
    let view = product.until(id, |view| settled(view) && view["hold"]["id"] != first).await.unwrap();
    assert_eq!(view["hold"]["kind"], "review", "{view}");
    let begun = events(&product, id).await.into_iter().skip(before.len());
    let begun: Vec<Value> = begun.filter(|event| event["type"] == "STAGE_STARTED").collect();
    assert_eq!(begun[0]["payload"]["stage"], "implementation", "it goes back to the stage that assumed");
    decides(&product, &view, json!({"decision": "approve"})).await;
    product.until(id, |view| view["completedAt"].is_string()).await.unwrap();
    let late = command(&world.repository(), &world.home(), &overturn).await.unwrap();
    assert_eq!(late.status.code(), Some(1), "{late:?}");
    let events = ends(&world, product, id, "long").await;
    assert_eq!(count(&events, "ASSUMPTION_OVERTURNED"), 1);
}
