//! Forks through the real binary: a question answered differently, both runs to their end, and a server that dies in
//! the middle of it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use tests::product::{Product, command};
use tests::world::World;

use crate::runs::verify;

/// The implementer writes, asks, writes what this story wants, and completes.
fn story(word: &str) -> String {
    let call = |tool: &str, input: &str| {
        format!("[[conversation.turn]]\n[[conversation.turn.call]]\ntool = \"{tool}\"\ninput = {input}\n")
    };
    let plan = r##"{ title = "A note", body = "# A note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }"##;
    let question = r#"{ questions = [{ question = "Which greeting?", options = ["warm", "short"], responseType = "single_choice" }] }"#;
    let role = |name: &str| format!("[[conversation]]\nrole = \"{name}\"\n");
    [
        role("planner"),
        call("submit_plan", plan),
        role("implementer"),
        call("write_file", r#"{ path = "first.txt", content = "first\n" }"#),
        call("ask_questions", question),
        call("write_file", &format!("{{ path = \"greeting.txt\", content = \"{word}\\n\" }}")),
        call("complete_pulse", r#"{ summary = "done" }"#),
        role("validator"),
        call("complete_review", r#"{ verdict = "pass", severity = "minor", summary = "fine" }"#),
    ]
    .concat()
}

fn body(world: &World) -> Value {
    json!({
        "project": world.repository(),
        "request": "Greet people",
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"},
        "models": {"*": "scripted/story"},
        "autoMerge": false,
        "push": false,
        "checks": [{"name": "there", "command": "test -e greeting.txt"}],
    })
}

/// A run that was asked, answered `warm`, and is done.
async fn completed(world: &World, product: &Product) -> Value {
    let run = product.run(None, &body(world)).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let asked = product.until(id, |view| view["hold"]["kind"] == "clarification").await.unwrap();
    product.decide(&asked, &json!({"decision": "answer", "answer": ["warm"]})).await.unwrap();
    product.until(id, |view| view["status"] == "completed").await.unwrap()
}

/// Everything the user's checkout consists of.
fn checkout(world: &World) -> (String, String, Vec<u8>) {
    let index = std::fs::read(world.repository().join(".git/index")).unwrap();
    (world.git(&["status", "--porcelain"]).unwrap(), world.git(&["rev-parse", "HEAD"]).unwrap(), index)
}

async fn cli(world: &World, arguments: &[&str]) -> (i32, String, String) {
    let output = command(&world.repository(), &world.home(), arguments).await.unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

#[tokio::test]
async fn a_question_is_answered_differently_in_a_fork_and_compare_shows_both() {
    let world = World::new(&story("warm")).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let origin = completed(&world, &product).await;
    let id = origin["id"].as_str().unwrap();
    let (calls, ..) = world.given().unwrap();
    assert_eq!(calls, 6);
    let before = checkout(&world);

    let (code, listed, _) = cli(&world, &["fork", id, "--list"]).await;
    assert_eq!(code, 0);
    assert!(listed.contains("asked: Which greeting?") && listed.contains("implementation begins"), "{listed}");
    let (code, _, refused) = cli(&world, &["fork", id, "--at", "1"]).await;
    assert_eq!(code, 2, "{refused}");
    assert!(refused.contains("hint:") && refused.contains("--list"), "{refused}");
    let (code, _, refused) = cli(&world, &["fork", id, "--answer", "loud"]).await;
    assert_eq!(code, 2, "{refused}");
    assert!(refused.contains("1. warm; 2. short"), "{refused}");

    world.tell(&story("short")).unwrap();
    let (code, forked, said) = cli(&world, &["fork", id, "--answer", "2"]).await;
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("at event") && said.contains("asked: Which greeting?"), "{said}");
    let done = product.until(&forked, |view| view["completedAt"].is_string()).await.unwrap();
    assert_eq!(done["status"], "completed", "{done}");
    assert_eq!(world.given().unwrap().0, calls + 3, "two turns of the implementer and one of the validator");
    assert_eq!((&done["spend"]["calls"], &done["spend"]["inheritedCalls"]), (&json!(3), &json!(3)));
    let shown =
        |run: &Value, file: &str| world.git(&["show", &format!("{}:{file}", run["branch"].as_str().unwrap())]).unwrap();
    assert_eq!((shown(&origin, "greeting.txt"), shown(&done, "greeting.txt")), ("warm".to_owned(), "short".to_owned()));
    assert_eq!(shown(&done, "first.txt"), "first", "what was written before the question is there");
    assert_eq!(checkout(&world), before, "the user's checkout is as it was");

    let short = &id[..6];
    let (code, compared, _) = cli(&world, &["compare", id, &forked]).await;
    assert_eq!(code, 0);
    assert!(compared.contains(&format!("from {short} at event")) && compared.contains("inherited"), "{compared}");
    let (_, shown, _) = cli(&world, &["show", &forked]).await;
    assert!(shown.contains(&format!("from {short} at event")), "{shown}");
    let (_, listed, _) = cli(&world, &["list"]).await;
    assert!(listed.contains(&format!("(from {short}@")), "{listed}");
    let (_, why, _) = cli(&world, &["why", &forked]).await;
    assert!(why.contains(&format!("forked from {short} at event")), "{why}");
    let (_, events, _) = cli(&world, &["events", &forked]).await;
    assert!(events.contains("RUN_FORKED") && events.contains("FORK_OPENED"), "{events}");
    product.stop().await.unwrap();
    let said = verify(&world).await;
    assert!(said.ends_with(" 0 violations"), "{said}");
}

#[tokio::test]
async fn a_run_that_waits_for_a_yes_is_forked_with_a_no_and_both_go_on() {
    let world = World::new(&story("warm")).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let mut manual = body(&world);
    manual["trust"]["planning"] = json!("manual");
    let run = product.run(None, &manual).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let planned = product.until(id, |view| view["hold"]["kind"] == "approval").await.unwrap();
    let (code, forked, said) = cli(&world, &["fork", id, "--reject", "shorter, please"]).await;
    assert_eq!(code, 0, "{said}");
    let again = product.until(&forked, |view| view["hold"]["kind"] == "approval").await.unwrap();
    assert_eq!(again["stages"][0]["visits"], 2, "the fork planned anew: {again}");
    let (_, still) = product.get(&format!("/api/runs/{id}")).await.unwrap();
    assert_eq!(still["hold"], planned["hold"], "the origin waits as before");
    product.stop().await.unwrap();
    let said = verify(&world).await;
    assert!(said.ends_with(" 0 violations"), "{said}");
}

#[tokio::test]
async fn a_server_that_dies_in_the_middle_of_a_fork_leaves_no_run_or_one_that_goes_on() {
    let world = World::new(&story("warm")).unwrap();
    let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
    let origin = completed(&world, &product).await;
    let path = format!("/api/runs/{}/fork", origin["id"].as_str().unwrap());
    product.stop().await.unwrap();
    let request = json!({"decision": {"decision": "answer", "answer": ["short"]}});
    // Each server dies at its n-th durable write or effect after it began; the client asks again with the same key.
    for (round, boundary) in (1..=8).enumerate() {
        let kill = BTreeMap::from([("HOLDPOINT_KILL_AT".to_owned(), boundary.to_string())]);
        let key = format!("fork {round}");
        // It may die before it listens, and its answer may be lost with it.
        if let Ok(mut dying) = Product::start(&world.home(), &kill).await {
            let _ = dying.post(&path, Some(&key), &request).await;
            dying.ended().await.unwrap();
        }
        let product = Product::start(&world.home(), &BTreeMap::new()).await.unwrap();
        let (status, made) = product.post(&path, Some(&key), &request).await.unwrap();
        assert!(status == 200 || status == 201, "{boundary}: {made}");
        let id = made["run"]["id"].as_str().unwrap();
        let done = product.until(id, |view| view["completedAt"].is_string()).await.unwrap();
        assert_eq!(done["status"], "completed", "{boundary}: {done}");
        assert_eq!(done["spend"]["calls"], 3, "{boundary}: nothing was paid twice");
        product.stop().await.unwrap();
    }
    let said = verify(&world).await;
    assert!(said.starts_with("9 runs") && said.ends_with(" 0 violations"), "{said}");
}
