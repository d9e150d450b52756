//! Runs that wait to be let in: what `why` says of them, and when they begin.

use crate::common::Bench;
use reqwest::StatusCode;
use serde_json::{Value, json};

/// Starts a run whose agent never ends.
async fn linger(bench: &Bench, priority: Option<&str>) -> String {
    let mut new = bench.new_run("linger");
    if let Some(priority) = priority {
        new["priority"] = json!(priority);
    }
    let (status, run) = bench.post("/api/runs", &new).await;
    assert_eq!(status, StatusCode::CREATED, "{run}");
    assert_eq!((&run["status"], &run["priority"]), (&json!("queued"), &json!(priority.unwrap_or("normal"))));
    run["id"].as_str().unwrap().to_owned()
}

async fn why(bench: &Bench, id: &str) -> Value {
    bench.get(&format!("/api/runs/{id}/why")).await.1
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_the_users_limit_a_run_says_why_it_waits_and_begins_when_it_may() {
    let bench = Bench::start().await;
    let mut active = Vec::new();
    for _ in 0..5 {
        active.push(linger(&bench, None).await);
    }
    for id in &active {
        bench.wait(id, "running").await;
    }
    let (normal, high) = (linger(&bench, None).await, linger(&bench, Some("high")).await);
    let said = why(&bench, &normal).await;
    assert_eq!(said["waitsFor"], "5 of 5 runs of ada are active; 1 is ahead of it");
    assert_eq!(said["status"], "queued");
    assert_eq!(said["queue"], json!({"ahead": 1, "active": 5, "waiting": 0}));
    assert_eq!(said["unblockedBy"][0], "it begins by itself when one of them has ended");
    let (_, shown) = bench.get(&format!("/api/runs/{normal}")).await;
    assert_eq!(said["since"], shown["createdAt"]);
    let (_, list) = bench.get("/api/runs?status=queued").await;
    assert_eq!(list.as_array().unwrap().len(), 2);

    let (_, cancelled) = bench.post(&format!("/api/runs/{}/cancel", active[0]), &json!({})).await;
    assert_eq!(cancelled["status"], "cancelled");
    bench.wait(&high, "running").await;
    let said = why(&bench, &high).await;
    assert!(said.get("queue").is_none(), "{said}");
    assert_eq!(why(&bench, &normal).await["queue"]["ahead"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_priority_that_is_none_is_refused_by_name() {
    let bench = Bench::start().await;
    let mut new = bench.new_run("add a page");
    new["priority"] = json!("urgent");
    let (status, problem) = bench.post("/api/runs", &new).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_priority")));
    assert_eq!(problem["field"], "priority");
}
