//! Decisions: used once, bound to what was shown, and named to whoever comes second.

use crate::common::Bench;
use reqwest::StatusCode;
use serde_json::{Value, json};

fn id(run: &Value) -> &str {
    run["id"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_from_request_to_completed_with_one_approval() {
    let bench = Bench::start().await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    assert_eq!((&run["hold"]["kind"], &run["stage"]), (&json!("approval"), &json!("planning")));
    assert_eq!(run["stages"][0]["state"], "holding");
    let (status, after) =
        bench.post(&format!("/api/runs/{}/approve", id(&run)), &json!({"digest": run["hold"]["digest"]})).await;
    assert_eq!(status, StatusCode::OK, "{after}");
    let done = bench.wait(id(&run), "completed").await;
    assert_eq!(done["stages"][2]["state"], "done");
    assert_eq!((&done["spend"]["calls"], &done["hold"]), (&json!(3), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_decisions_at_once_exactly_one_counts() {
    let bench = Bench::start().await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let approve = format!("/api/runs/{}/approve", id(&run));
    let reject = format!("/api/workflows/{}/request-changes", id(&run));
    let digest = &run["hold"]["digest"];
    let (yes, no) = (json!({"digest": digest}), json!({"digest": digest, "feedback": "shorter"}));
    let (first, second) = tokio::join!(bench.post(&approve, &yes), bench.post(&reject, &no));
    let mut both = [first, second];
    both.sort_by_key(|(status, _)| *status);
    assert_eq!((both[0].0, both[1].0), (StatusCode::OK, StatusCode::CONFLICT), "{both:?}");
    let problem = &both[1].1;
    assert_eq!(problem["code"], "already_decided");
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains("`ada`") && (message.contains("`approve`") || message.contains("`reject`")), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_to_a_plan_that_changed_is_refused() {
    let bench = Bench::start().await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let path = format!("/api/runs/{}", id(&run));
    let (status, problem) = bench.post(&format!("{path}/approve"), &json!({"digest": "0".repeat(64)})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("digest_changed")));
    let old = &run["hold"]["digest"];
    let no = json!({"digest": old, "feedback": "shorter"});
    assert_eq!(bench.post(&format!("{path}/request-changes"), &no).await.0, StatusCode::OK);
    let again = bench.wait(id(&run), "awaiting_approval").await;
    assert_ne!(&again["hold"]["digest"], old);
    let (status, problem) = bench.post(&format!("{path}/approve"), &json!({"digest": old})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("already_decided")));
    assert!(problem["message"].as_str().unwrap().contains("`reject`"), "{problem}");
    let stale = json!({"digest": old, "decision": "approve", "hold": again["hold"]["id"]});
    let (status, problem) = bench.post(&format!("{path}/decide"), &stale).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("digest_changed")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_once_and_only_with_what_it_offers() {
    let bench = Bench::start().await;
    let run = bench.run_until("ask me first", "awaiting_clarification").await;
    let hold = &run["hold"];
    assert_eq!((&hold["responseType"], &hold["attemptNumber"]), (&json!("single_choice"), &json!(1)));
    let (_, inbox) = bench.get("/api/holds").await;
    assert_eq!(inbox[0]["id"], hold["id"]);
    let path = format!("/api/clarifications/{}/answer", hold["id"].as_str().unwrap());
    let (status, problem) = bench.post(&path, &json!({"answer": ["green"]})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_answer")));
    let (status, problem) = bench.post(&path, &json!({"answer": ["red"], "digest": "x"})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("digest_changed")));
    assert_eq!(bench.post(&path, &json!({"answer": ["red"]})).await.0, StatusCode::OK);
    let (status, problem) = bench.post(&path, &json!({"answer": ["blue"]})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("already_decided")));
    let run = bench.wait(id(&run), "awaiting_approval").await;
    assert_eq!(run["clarificationCount"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_the_hold_does_not_take_is_refused_with_those_it_takes() {
    let bench = Bench::start().await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let path = format!("/api/runs/{}/decide", id(&run));
    let digest = &run["hold"]["digest"];
    let (status, problem) = bench.post(&path, &json!({"digest": digest, "decision": "raise", "usd": 1.0})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("not_allowed")));
    assert!(
        problem["hint"].as_str().unwrap().contains("approve, reject, suggest, modify_plan, ask, cancel"),
        "{problem}"
    );
    let (status, problem) = bench.post(&path, &json!({"digest": digest, "decision": "dance"})).await;
    assert_eq!((status, &problem["field"]), (StatusCode::BAD_REQUEST, &json!("decision")));
    let (status, problem) = bench.post(&path, &json!({"digest": digest, "decision": "reject", "text": " "})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_answer")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_takes_no_more_decisions() {
    let bench = Bench::start().await;
    let run = bench.run_until("linger for ever", "running").await;
    let path = format!("/api/runs/{}", id(&run));
    let (status, problem) = bench.post(&format!("{path}/approve"), &json!({"digest": "x"})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("no_hold")));
    let (status, after) = bench.post(&format!("{path}/cancel"), &json!({"reason": "changed my mind"})).await;
    assert_eq!((status, &after["status"]), (StatusCode::OK, &json!("cancelled")));
    let (status, problem) = bench.post(&format!("{path}/cancel"), &json!({})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("already_ended")));
    let (status, problem) = bench.post(&format!("{path}/approve"), &json!({"digest": "x"})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("already_ended")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_key_changes_nothing_twice() {
    let bench = Bench::start().await;
    let body = bench.new_run("add a page");
    let (first, run) = bench.post_with_key("/api/runs", &body, "k1").await;
    let (second, same) = bench.post_with_key("/api/runs", &body, "k1").await;
    assert_eq!((first, second), (StatusCode::CREATED, StatusCode::CREATED));
    assert_eq!(run["id"], same["id"]);
    let (status, problem) = bench.post_with_key("/api/runs", &bench.new_run("another"), "k1").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("key_reused")));
    assert_eq!(bench.get("/api/runs").await.1.as_array().unwrap().len(), 1);
    let run = bench.wait(id(&run), "awaiting_approval").await;
    let path = format!("/api/runs/{}/approve", id(&run));
    let yes = json!({"digest": run["hold"]["digest"]});
    assert_eq!(bench.post_with_key(&path, &yes, "k1").await.0, StatusCode::OK);
    assert_eq!(bench.post_with_key(&path, &yes, "k1").await.0, StatusCode::OK);
    assert_eq!(bench.post(&path, &yes).await.0, StatusCode::CONFLICT);
    let (status, problem) = bench.post_with_key("/api/runs", &body, &"x".repeat(300)).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_key")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_to_code_that_cannot_be_shown_is_refused_and_a_no_is_not() {
    let bench = Bench::start().await;
    let run = bench.code_awaiting_approval("a damaged change").await;
    assert_eq!(run["hold"]["artifact"]["type"], "code");
    let path = format!("/api/runs/{}", id(&run));
    let before = bench.events_in_all().await;
    let yes = json!({"digest": run["hold"]["digest"], "decision": "approve", "hold": run["hold"]["id"]});
    let asked = [bench.post(&format!("{path}/approve"), &json!({"digest": run["hold"]["digest"]})).await];
    for (status, problem) in asked.into_iter().chain([bench.post(&format!("{path}/decide"), &yes).await]) {
        assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("content_unavailable")));
        assert!(problem["message"].as_str().unwrap().contains("the content of `x` is gone"), "{problem}");
    }
    assert_eq!(bench.events_in_all().await, before, "nothing happened");
    let no = json!({"digest": run["hold"]["digest"], "feedback": "again"});
    assert_eq!(bench.post(&format!("{path}/request-changes"), &no).await.0, StatusCode::OK);
}
