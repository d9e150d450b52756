//! Secrets over HTTP: an answer that is one is shown nowhere, and work with one in it is decided on by its places.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::common::Bench;

fn id(run: &Value) -> &str {
    run["id"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_answer_is_in_no_answer_of_the_api() {
    let bench = Bench::start().await;
    let run = bench.run_until("ask for a key", "awaiting_clarification").await;
    assert_eq!((&run["hold"]["secret"], &run["hold"]["question"]), (&json!(true), &json!("Which key?")));
    let path = format!("/api/clarifications/{}/answer", run["hold"]["id"].as_str().unwrap());
    let (status, view) = bench.post(&path, &json!({"answer": ["correct horse battery"]})).await;
    assert_eq!(status, StatusCode::OK);
    assert!(!view.to_string().contains("correct horse"), "{view}");
    let run = bench.wait(id(&run), "awaiting_approval").await;
    let of_run = ["", "/events", "/why", "/checkpoints", "/holds"].map(|part| format!("/api/runs/{}{part}", id(&run)));
    for path in of_run.iter().map(String::as_str).chain(["/api/runs", "/api/holds", "/api/clarifications"]) {
        let (_, view) = bench.get(path).await;
        assert!(!view.to_string().contains("correct horse"), "{path}: {view}");
    }
    let (_, events) = bench.get(&format!("/api/runs/{}/events", id(&run))).await;
    assert!(events.to_string().contains("(secret, not recorded)"), "{events}");
}

#[tokio::test(flavor = "multi_thread")]
async fn work_with_a_secret_in_it_is_held_with_its_place_and_goes_on_after_a_yes() {
    let bench = Bench::start().await;
    let run = bench.run_until("leak a key", "awaiting_approval").await;
    bench.decide(&run, json!({"decision": "approve"})).await;
    let held = bench.held(id(&run), "permission").await;
    let found = &held["hold"]["findings"][0];
    assert_eq!(
        (&found["path"], &found["line"], &found["kind"]),
        (&json!("src/login.rs"), &json!(3), &json!("GitHub token"))
    );
    assert_eq!(found.get("fingerprint"), None, "nothing to guess the value by is shown");
    assert_eq!(held["hold"]["allowed"], json!(["approve", "reject", "cancel"]));
    let (status, _) = bench.decide(&held, json!({"decision": "approve"})).await;
    assert_eq!(status, StatusCode::OK);
    bench.wait_for(id(&run), |run| run["hold"]["kind"] != "permission").await;
}
