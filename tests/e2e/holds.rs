//! Holds that only a whole product can show: money, models, cancelling, and deciding from the command line.

use std::collections::BTreeMap;
use std::process::Output;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::product::{Product, command};
use tests::world::World;

const STORY: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A note", body = "# A note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }

[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "ask_questions"
input = { questions = [{ question = "Which note?", options = ["short", "long"], responseType = "single_choice" }] }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "note.txt", content = "hello\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "A note is there" }

[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "fine" }
"##;

fn body(world: &World) -> Value {
    json!({
        "project": world.repository(), "request": "Leave a note",
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"},
        "models": {"planner": "scripted/story", "implementer": "scripted/story", "validator": "scripted/story"},
    })
}

fn waits(view: &Value) -> bool {
    view["completedAt"].is_string() || view["hold"].is_object()
}

async fn start(world: &World) -> Product {
    Product::start(&world.home(), &BTreeMap::new()).await.unwrap()
}

#[tokio::test]
async fn a_spent_budget_waits_for_a_person_and_a_raise_goes_on() {
    let world = World::new(STORY).unwrap();
    let product = start(&world).await;
    let mut body = body(&world);
    body["budgetUsd"] = json!(0.0001);
    let run = product.run(None, &body).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let view = product.until(id, waits).await.unwrap();
    assert_eq!((&view["hold"]["kind"], &view["status"]), (&json!("budget"), &json!("paused")), "{view}");
    assert!(view["spend"]["usd"].as_f64().unwrap() <= 0.0001, "{view}");
    let (status, body) = product.decide(&view, &json!({"decision": "raise", "usd": 5.0})).await.unwrap();
    assert_eq!(status, 200, "{body}");
    let view = product.until(id, |view| view["hold"]["kind"] == "clarification").await.unwrap();
    let answer = format!("/api/clarifications/{}/answer", view["hold"]["id"].as_str().unwrap());
    let (status, problem) = product.post(&answer, None, &json!({"answer": ["medium"]})).await.unwrap();
    assert_eq!(status, 400, "an answer that is no option is refused: {problem}");
    let (status, said) = product.post(&answer, None, &json!({"answer": ["long"]})).await.unwrap();
    assert_eq!(status, 200, "{said}");
    let view = product.until(id, waits).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    let (status, problem) = product.post(&answer, None, &json!({"answer": ["short"]})).await.unwrap();
    assert_eq!((status, problem["code"].as_str()), (409, Some("already_decided")), "{problem}");
    let branch = view["branch"].as_str().unwrap();
    assert_eq!(world.git(&["show", &format!("{branch}:note.txt")]).unwrap(), "hello");
    assert_eq!(world.git(&["rev-list", "--count", "main"]).unwrap(), "1", "without auto-merge the base stays");
    product.stop().await.unwrap();
}

#[tokio::test]
async fn a_model_that_refuses_becomes_a_hold_that_says_so() {
    let broken = STORY.replacen(
        "[[conversation.turn]]",
        "[[conversation.turn]]\nfault = { kind = \"status\", status = 401, times = 9 }",
        1,
    );
    let world = World::new(&broken).unwrap();
    let product = start(&world).await;
    let run = product.run(None, &body(&world)).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let view = product.until(id, waits).await.unwrap();
    assert_eq!((&view["hold"]["kind"], &view["status"]), (&json!("model"), &json!("paused")), "{view}");
    let (_, why) = product.get(&format!("/api/runs/{id}/why")).await.unwrap();
    assert!(why["waitsFor"].as_str().unwrap().contains("the model is unavailable"), "{why}");
    product.stop().await.unwrap();
}

#[tokio::test]
async fn cancelling_ends_every_process_also_those_that_left_the_group() {
    let stubborn = STORY.replacen(
        "tool = \"ask_questions\"\ninput = { questions = [{ question = \"Which note?\", options = [\"short\", \"long\"], responseType = \"single_choice\" }] }",
        "tool = \"shell\"\ninput = { command = \"trap '' TERM; setsid sh -c 'trap : TERM; while :; do sleep 1; done' & echo started > started; sleep 600\", timeout = 600 }",
        1,
    );
    let world = World::new(&stubborn).unwrap();
    let product = start(&world).await;
    let run = product.run(None, &body(&world)).await.unwrap();
    let id = run["id"].as_str().unwrap();
    product.until_tool(id, "shell").await.unwrap();
    let begun = Instant::now();
    let (status, view) = product.post(&format!("/api/runs/{id}/cancel"), None, &json!({})).await.unwrap();
    assert_eq!((status, &view["status"]), (200, &json!("cancelled")));
    until_cleaned_up(&product, id).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert!(!world.home().join("runs").join(id).join("workspace").exists());
    product.stop().await.unwrap();
}

/// The clean-up ends when no process of the run is left.
async fn until_cleaned_up(product: &Product, id: &str) {
    loop {
        let (_, events) = product.get(&format!("/api/runs/{id}/events")).await.unwrap();
        let events = events.as_array().unwrap();
        if events.iter().any(|event| event["payload"]["result"] == "cleaned_up") {
            return;
        }
        let seen = events.len() as u64;
        product.until(id, |view| view["version"].as_u64().unwrap() > seen).await.unwrap();
    }
}

async fn holdpoint(world: &World, arguments: &[&str]) -> Output {
    command(&world.repository(), &world.home(), arguments).await.unwrap()
}

fn json_of(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[tokio::test]
async fn a_person_starts_decides_and_watches_from_the_command_line() {
    let world = World::new(STORY).unwrap();
    let started =
        holdpoint(&world, &["run", "Leave a note", "--model", "scripted/story", "--auto-merge", "--json"]).await;
    assert_eq!(started.status.code(), Some(0), "{started:?}");
    let run = json_of(&started);
    let short = &run["id"].as_str().unwrap()[..4];
    for field in [
        "project",
        "request",
        "playbook",
        "status",
        "stage",
        "branch",
        "base",
        "commit",
        "createdAt",
        "completedAt",
        "clarificationCount",
        "hold",
        "artifacts",
        "spend",
    ] {
        assert!(run.get(field).is_some(), "`{field}` is missing: {run}");
    }
    let watched = holdpoint(&world, &["watch", short]).await;
    assert_eq!(watched.status.code(), Some(3), "a person is waited for: {watched:?}");
    let inbox = json_of(&holdpoint(&world, &["inbox", "--json"]).await);
    assert_eq!((&inbox[0]["kind"], inbox.as_array().unwrap().len()), (&json!("approval"), 1), "{inbox}");
    let stale = holdpoint(&world, &["approve", short, "--digest", "0000"]).await;
    assert_eq!(stale.status.code(), Some(1), "{stale:?}");
    assert!(String::from_utf8_lossy(&stale.stderr).contains("changed"), "{stale:?}");
    assert_eq!(holdpoint(&world, &["approve", short]).await.status.code(), Some(0));
    assert_eq!(holdpoint(&world, &["watch", short]).await.status.code(), Some(3));
    assert_eq!(holdpoint(&world, &["answer", short, "1"]).await.status.code(), Some(0));
    let watched = holdpoint(&world, &["watch", short]).await;
    assert_eq!(watched.status.code(), Some(0), "{watched:?}");
    let events = holdpoint(&world, &["events", short, "--json"]).await;
    let lines = String::from_utf8_lossy(&events.stdout).into_owned();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["sequence"], &first["type"]), (&json!(1), &json!("RUN_STARTED")));
    assert_eq!(std::fs::read_to_string(world.repository().join("note.txt")).unwrap(), "hello\n");
    stop_background_server(&world);
}

fn stop_background_server(world: &World) {
    let info: Value = serde_json::from_slice(&std::fs::read(world.home().join("server.json")).unwrap()).unwrap();
    let pid = i32::try_from(info["pid"].as_i64().unwrap()).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::TERM).unwrap();
}
