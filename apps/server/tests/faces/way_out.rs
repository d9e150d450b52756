//! Merging and offering what a run shows: bound to what was shown, and refused with what would help.

use crate::common::Bench;
use reqwest::StatusCode;
use serde_json::{Value, json};

/// A run that waits for a person's look at the whole work.
async fn reviewed(bench: &Bench, request: &str) -> Value {
    let mut body = bench.new_run(request);
    body["review"] = json!(true);
    body["trust"] = json!({"planning": "auto", "implementation": "auto"});
    let (created, run) = bench.post("/api/runs", &body).await;
    assert_eq!(created, StatusCode::CREATED, "{run}");
    bench.held(run["id"].as_str().unwrap(), "review").await
}

async fn leave(bench: &Bench, run: &Value, way: &str) -> (StatusCode, Value) {
    let digest = run["hold"]["digest"].as_str().unwrap_or_default();
    bench.post(&format!("/api/runs/{}/{way}", run["id"].as_str().unwrap()), &json!({"digest": digest})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_review_shows_is_merged_once_and_only_as_it_was_shown() {
    let bench = Bench::start().await;
    let run = reviewed(&bench, "add a page").await;
    let path = format!("/api/runs/{}/merge", run["id"].as_str().unwrap());
    let (status, problem) = bench.post(&path, &json!({"digest": "another"})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("digest_changed")), "{problem}");
    let (status, after) = leave(&bench, &run, "merge").await;
    assert_eq!(status, StatusCode::OK, "{after}");
    let done = bench.wait(run["id"].as_str().unwrap(), "completed").await;
    assert_eq!(done["merged"], json!("e".repeat(40)));
    let (status, problem) = leave(&bench, &run, "merge").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("already_merged")), "{problem}");
    assert_eq!(leave(&bench, &run, "pull-request").await.1["code"], "already_merged");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_is_wished_for_and_tried_again_with_the_same_words() {
    let bench = Bench::start().await;
    let run = reviewed(&bench, "add a page").await;
    let (status, after) = leave(&bench, &run, "pull-request").await;
    assert_eq!(status, StatusCode::OK, "{after}");
    // The sample repository has no remote.
    let held = bench.held(run["id"].as_str().unwrap(), "credentials").await;
    let (status, problem) = leave(&bench, &held, "merge").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("other_hold")), "{problem}");
    assert!(problem["hint"].as_str().unwrap().contains("retry"), "{problem}");
    let (status, after) = leave(&bench, &held, "pull-request").await;
    assert_eq!(status, StatusCode::OK, "{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_shows_nothing_to_merge_says_what_it_waits_for() {
    let bench = Bench::start().await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let (status, problem) = leave(&bench, &run, "merge").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("other_hold")));
    assert!(problem["hint"].as_str().unwrap().contains("approve"), "{problem}");
    let busy = bench.run_until("linger for ever", "running").await;
    let (status, problem) = leave(&bench, &busy, "merge").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("no_hold")), "{problem}");
    let (status, _) = bench.post("/api/runs/none/merge", &json!({"digest": ""})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}
