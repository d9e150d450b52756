//! Runs that are started together, and runs side by side.

use crate::common::Bench;
use reqwest::StatusCode;
use serde_json::{Value, json};

fn ids(started: &Value) -> Vec<String> {
    let items = started["items"].as_array().unwrap().iter();
    items.map(|item| item["run"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_starts_what_can_be_started_and_says_why_the_rest_is_not() {
    let bench = Bench::start().await;
    let mut wrong = bench.new_run("add b");
    wrong["onFailure"] = json!("explode");
    let runs = json!({"runs": [bench.new_run(" "), bench.new_run("add a"), wrong, bench.new_run("add c")]});
    let (status, started) = bench.post_with_key("/api/runs/batch", &runs, "k1").await;
    assert_eq!(status, StatusCode::OK, "{started}");
    let first = ids(&started);
    assert_eq!((first[0].as_str(), first[2].as_str(), &started["group"]), ("", "", &json!(first[1])));
    assert_eq!(started["items"][0]["problem"]["field"], "request");
    assert_eq!(started["items"][2]["problem"]["field"], "onFailure");
    let (_, run) = bench.get(&format!("/api/runs/{}", first[3])).await;
    assert_eq!(run["group"], json!({"id": first[1], "index": 4, "of": 4, "variants": false}));
    let (_, again) = bench.post_with_key("/api/runs/batch", &runs, "k1").await;
    assert_eq!((ids(&again), &again["group"]), (first, &started["group"]));
    assert_eq!(bench.get("/api/runs").await.1.as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_nothing_or_too_much_is_refused() {
    let bench = Bench::start().await;
    for count in [0, 201] {
        let runs = json!({"runs": vec![bench.new_run("add a page"); count]});
        let (status, problem) = bench.post("/api/runs/batch", &runs).await;
        assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_batch")), "{problem}");
    }
    for wrong in [json!({"count": 1}), json!({"count": 21}), json!({}), json!({"approaches": ["a", " "]})] {
        let mut body = wrong.clone();
        body["run"] = bench.new_run("add a page");
        let (status, problem) = bench.post("/api/runs/variants", &body).await;
        assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_variants")), "{wrong}");
    }
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn variants_wait_for_a_review_and_are_compared_by_any_of_them() {
    let bench = Bench::start().await;
    let mut run = bench.new_run("add a page");
    run["autoMerge"] = json!(true);
    let body = json!({"run": run, "count": 3, "approaches": ["with a table"]});
    let (status, started) = bench.post("/api/runs/variants", &body).await;
    assert_eq!(status, StatusCode::OK, "{started}");
    let ids = ids(&started);
    for id in &ids {
        let run = bench.held(id, "approval").await;
        assert_eq!(bench.decide(&run, json!({"decision": "approve"})).await.0, StatusCode::OK);
        let run = bench.held(id, "review").await;
        assert_eq!((&run["group"]["variants"], &run["merged"]), (&json!(true), &Value::Null));
    }
    let (_, compared) = bench.get(&format!("/api/compare?runs={}", ids[1])).await;
    let requests: Vec<&str> =
        compared["runs"].as_array().unwrap().iter().map(|run| run["request"].as_str().unwrap()).collect();
    assert!(requests[0].ends_with("Approach 1 of 3: with a table"), "{requests:?}");
    assert!(requests[2].contains("Approach 3 of 3: ") && requests[2].contains("different design"), "{requests:?}");
    assert_eq!(compared["common"], json!(["x"]));
    assert_eq!(compared["pairs"].as_array().unwrap().len(), 3);
    let one = &compared["runs"][0];
    assert_eq!((&one["plan"], &one["verdict"]), (&json!("the spec"), &json!("pass")));
    assert_eq!((&one["added"], &one["usd"], &one["hold"]["kind"]), (&json!(1), &json!(0.0045), &json!("review")));
    let (status, _) =
        bench.post(&format!("/api/runs/{}/approve", ids[0]), &json!({"digest": one["hold"]["digest"]})).await;
    assert_eq!(status, StatusCode::OK);
    let merged = bench.wait(&ids[0], "completed").await;
    assert_eq!(merged["merged"], json!("e".repeat(40)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_compared_is_refused() {
    let bench = Bench::start().await;
    let alone = bench.run_until("add a page", "awaiting_approval").await;
    let path = |runs: &str| format!("/api/compare?runs={runs}");
    let id = alone["id"].as_str().unwrap();
    let (status, problem) = bench.get(&path(id)).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_compare")));
    assert_eq!(bench.get(&path("")).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(bench.get(&path(&format!("{id},{id}"))).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(bench.get(&path(&format!("{id},zzzzzz"))).await.0, StatusCode::NOT_FOUND);
}
