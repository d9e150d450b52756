//! Tasks: created, listed, wished into another status, merged; and every wish that is refused, with its reason.

use crate::common::Bench;
use reqwest::StatusCode;
use serde_json::{Value, json};

async fn create(bench: &Bench, summary: &str, task: Value) -> String {
    let body = json!({"project": bench.repository, "request": summary, "playbook": "task", "task": task,
        "models": {"*": "scripted/demo"}});
    let (created, run) = bench.post("/api/runs", &body).await;
    assert_eq!(created, StatusCode::CREATED, "{run}");
    run["id"].as_str().unwrap().to_owned()
}

/// A task that has got to a status by itself.
async fn task(bench: &Bench, summary: &str, status: &str) -> String {
    let id = create(bench, summary, json!({"name": "one"})).await;
    bench.wait_for(&id, |run| run["taskStatus"] == status).await;
    id
}

async fn say(bench: &Bench, id: &str, what: &str, body: Value) -> (StatusCode, Value) {
    bench.post(&format!("/api/tasks/{id}/{what}"), &body).await
}

async fn wish(bench: &Bench, id: &str, status: &str) -> (StatusCode, Value) {
    say(bench, id, "update", json!({"status": status})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reviewed_task_is_merged_and_then_nothing_more_becomes_of_it() {
    let bench = Bench::start().await;
    let id = task(&bench, "add a page", "reviewing").await;
    let (_, shown) = bench.get(&format!("/api/tasks/{id}")).await;
    assert_eq!((&shown["name"], &shown["summary"]), (&json!("one"), &json!("add a page")));
    assert_eq!((&shown["session"], &shown["reviewRound"]), (&json!("inactive"), &json!(1)));
    assert_eq!(shown["mayBecome"], json!(["done", "cancelled"]));
    for (status, word) in
        [("working", "transition_refused"), ("pending", "transition_refused"), ("ready", "unknown_status")]
    {
        let (refused, problem) = wish(&bench, &id, status).await;
        assert_eq!((refused, &problem["code"]), (StatusCode::BAD_REQUEST, &json!(word)), "{problem}");
    }
    let (_, problem) = wish(&bench, &id, "working").await;
    assert_eq!(problem["message"], "a task does not go from `reviewing` to `working`");
    assert_eq!(problem["hint"], "from `reviewing` it may become `done`, `cancelled`");
    assert_eq!(wish(&bench, &id, "done").await.0, StatusCode::OK);
    bench.wait_for(&id, |run| run["taskStatus"] == "done").await;
    let (refused, problem) = wish(&bench, &id, "working").await;
    assert_eq!((refused, &problem["hint"]), (StatusCode::BAD_REQUEST, &json!("`done` is the end; create a new task")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_without_words_asks_first_and_goes_on_with_the_summary_it_is_given() {
    let bench = Bench::start().await;
    let id = create(&bench, "", json!({})).await;
    let run = bench.held(&id, "clarification").await;
    assert_eq!(run["hold"]["question"], "What would you like to work on?");
    let (refused, problem) = wish(&bench, &id, "working").await;
    assert_eq!((refused, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("goes_by_itself")), "{problem}");
    let said = json!({"status": "working", "summary": "add a search page"});
    assert_eq!(say(&bench, &id, "update", said).await.0, StatusCode::OK);
    bench.wait_for(&id, |run| run["taskStatus"] == "reviewing").await;
    assert_eq!(bench.get(&format!("/api/tasks/{id}")).await.1["summary"], "add a search page");
    let body = json!({"project": bench.repository, "request": "", "models": {"*": "scripted/demo"}});
    assert_eq!(bench.post("/api/runs", &body).await.0, StatusCode::BAD_REQUEST, "only a task may begin with nothing");
    let mut foreign = body.clone();
    foreign["task"] = json!({});
    assert_eq!(bench.post("/api/runs", &foreign).await.1["code"], "not_a_task");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_task_is_shown_as_one_and_respawned() {
    let bench = Bench::start().await;
    let id = task(&bench, "crash the page", "stuck").await;
    let (_, listed) = bench.get("/api/tasks").await;
    assert_eq!((&listed[0]["session"], &listed[0]["crashCount"]), (&json!("crashed"), &json!(2)), "{listed}");
    let (refused, problem) = wish(&bench, &id, "agent-review").await;
    assert_eq!((refused, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("artifact_missing")), "{problem}");
    assert!(problem["message"].as_str().unwrap().contains("## Handoff"), "{problem}");
    let before = bench.get(&format!("/api/runs/{id}")).await.1["version"].as_u64().unwrap();
    assert_eq!(say(&bench, &id, "respawn", json!({"notes": "try again"})).await.0, StatusCode::OK);
    bench.wait_for(&id, |run| run["taskStatus"] == "stuck" && run["version"].as_u64() > Some(before + 3)).await;
    let (_, events) = bench.get(&format!("/api/runs/{id}/events?after=1")).await;
    let told: Vec<&Value> =
        events.as_array().unwrap().iter().map(|event| &event["task"]).filter(|task| !task.is_null()).collect();
    let crash = json!({"type": "agent.crashed", "status": "working", "crashCount": 1, "reason": "process exited without ## Handoff"});
    assert_eq!(told[0], &crash);
    assert_eq!((&told[2]["type"], &told[2]["to"]), (&json!("auto.advanced"), &json!("stuck")));
    assert_eq!(wish(&bench, &id, "cancelled").await.0, StatusCode::OK);
    let (refused, problem) = say(&bench, &id, "respawn", json!({})).await;
    assert_eq!((refused, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("transition_refused")), "{problem}");
    assert_eq!(bench.get("/api/tasks").await.1, json!([]), "what is over is not on the list");
    assert_eq!(bench.get("/api/tasks?all=true").await.1[0]["status"], "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn unreviewed_work_is_merged_only_by_force_and_that_is_recorded_by_name() {
    let bench = Bench::start().await;
    let id = task(&bench, "bad work on a page", "stuck").await;
    for (what, body) in [("merge", json!({})), ("create-pr", json!({}))] {
        let (refused, problem) = say(&bench, &id, what, body).await;
        assert_eq!((refused, &problem["code"]), (StatusCode::CONFLICT, &json!("not_reviewed")), "{problem}");
    }
    let other = json!({"force": true, "commit": "9".repeat(40)});
    let (refused, problem) = say(&bench, &id, "merge", other).await;
    assert_eq!((refused, &problem["code"]), (StatusCode::CONFLICT, &json!("digest_changed")), "{problem}");
    let (_, shown) = bench.get(&format!("/api/tasks/{id}")).await;
    let force = json!({"force": true, "reason": "it is late", "commit": shown["commit"]});
    let (forced, shown) = say(&bench, &id, "merge", force).await;
    assert_eq!(forced, StatusCode::OK, "{shown}");
    let run = bench.wait_for(&id, |run| run["taskStatus"] == "done").await;
    assert!(!run["merged"].is_null(), "{run}");
    let (_, events) = bench.get(&format!("/api/runs/{id}/events")).await;
    let found = events.as_array().unwrap().iter().find(|event| event["type"] == "MERGE_FORCED").unwrap();
    assert_eq!((&found["payload"]["by"]["name"], &found["payload"]["reason"]), (&json!("ada"), &json!("it is late")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_at_work_is_paused_told_and_not_completed_by_words() {
    let bench = Bench::start().await;
    let id = task(&bench, "linger on a page", "working").await;
    bench.wait_for(&id, |run| run["stages"][0]["state"] == "active").await;
    assert_eq!(bench.get(&format!("/api/tasks/{id}")).await.1["session"], "active");
    let (refused, problem) = say(&bench, &id, "complete", json!({})).await;
    assert_eq!((refused, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("artifact_missing")), "{problem}");
    assert_eq!(say(&bench, &id, "update", json!({"notes": "shorter"})).await.0, StatusCode::OK);
    assert_eq!(say(&bench, &id, "update", json!({})).await.1["code"], "nothing_said");
    let (refused, problem) = say(&bench, &id, "merge", json!({"force": true})).await;
    assert_eq!((refused, &problem["code"]), (StatusCode::CONFLICT, &json!("nothing_to_merge")), "{problem}");
    assert_eq!(wish(&bench, &id, "stuck").await.1["status"], "stuck");
    assert_eq!(wish(&bench, &id, "working").await.1["status"], "working");
    assert_eq!(
        say(&bench, &id, "update", json!({"status": "cancelled", "notes": "enough"})).await.1["status"],
        "cancelled"
    );
    let other = bench.run_until("add a page", "awaiting_approval").await;
    let foreign = bench.get(&format!("/api/tasks/{}", other["id"].as_str().unwrap())).await;
    assert_eq!((foreign.0, &foreign.1["code"]), (StatusCode::BAD_REQUEST, &json!("not_a_task")));
}
