//! Forks: a new run from a point of another one, listed, asked for, repeated and refused.

use crate::common::{AGENT_TOKEN, Bench, answer};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

fn id(run: &Value) -> &str {
    run["id"].as_str().unwrap()
}

async fn fork(bench: &Bench, run: &str, body: Value) -> (StatusCode, Value) {
    bench.post(&format!("/api/runs/{run}/fork"), &body).await
}

async fn points(bench: &Bench, run: &str) -> Vec<Value> {
    let (status, points) = bench.get(&format!("/api/runs/{run}/checkpoints")).await;
    assert_eq!(status, StatusCode::OK, "{points}");
    points.as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_differently_in_a_fork_and_both_runs_are_compared() {
    let bench = Bench::start().await;
    let asked = bench.run_until("ask for it", "awaiting_clarification").await;
    assert_eq!(bench.decide(&asked, json!({"decision": "answer", "answer": ["red"]})).await.0, StatusCode::OK);
    let planned = bench.wait(id(&asked), "awaiting_approval").await;
    assert_eq!(bench.decide(&planned, json!({"decision": "approve"})).await.0, StatusCode::OK);
    let origin = bench.wait(id(&asked), "completed").await;

    let listed = points(&bench, id(&origin)).await;
    let question = listed.iter().find(|point| point["hold"]["question"] == "Which colour?").unwrap();
    assert_eq!((&question["kind"], &question["stage"]), (&json!("hold"), &json!("planning")));
    assert_eq!(question["hold"]["options"], json!(["red", "blue"]));
    assert_eq!(question["usd"], json!(0.0015));

    let other = json!({"decision": {"decision": "answer", "answer": ["blue"]}});
    let (status, made) = fork(&bench, id(&origin), other).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    assert_eq!(made["point"], *question, "the last question, since nothing else was said");
    let from = json!({"run": origin["id"], "at": question["at"]});
    assert_eq!(made["run"]["forkedFrom"], from);
    let forked = id(&made["run"]);
    let planned = bench.wait(forked, "awaiting_approval").await;
    assert_eq!(bench.decide(&planned, json!({"decision": "approve"})).await.0, StatusCode::OK);
    let done = bench.wait(forked, "completed").await;
    assert_eq!((&done["spend"]["calls"], &done["spend"]["inheritedCalls"]), (&json!(3), &json!(1)), "{done}");
    assert_eq!(done["spend"]["inheritedUsd"], json!(0.0015));
    assert_ne!(done["branch"], origin["branch"]);
    let (_, events) = bench.get(&format!("/api/runs/{forked}/events")).await;
    let answered = events.as_array().unwrap().iter().filter(|event| event["type"] == "CLARIFICATION_ANSWERED");
    let answered: Vec<&Value> = answered.map(|event| &event["payload"]["decision"]["answer"][0]).collect();
    assert_eq!(answered, ["blue"]);
    let (_, calls) = bench.get(&format!("/api/runs/{forked}/spend")).await;
    assert_eq!(calls.as_array().unwrap().len(), 3, "only what it spent itself");
    let (_, listed) = bench.get("/api/runs").await;
    assert_eq!(listed[0]["forkedFrom"], from, "lists say so too");
    let (_, why) = bench.get(&format!("/api/runs/{forked}/why")).await;
    assert_eq!(why["forkedFrom"], from);

    let (status, compared) = bench.get(&format!("/api/compare?runs={},{forked}", id(&origin))).await;
    assert_eq!(status, StatusCode::OK, "{compared}");
    let sides = compared["runs"].as_array().unwrap();
    assert_eq!((&sides[0]["usd"], &sides[0]["inheritedUsd"]), (&json!(0.006), &Value::Null));
    assert_eq!((&sides[1]["usd"], &sides[1]["inheritedUsd"]), (&json!(0.0045), &json!(0.0015)));
    assert_eq!(sides[1]["forkedFrom"], from);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_makes_one_fork_however_often_it_is_sent() {
    let bench = Bench::start().await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let path = format!("/api/runs/{}/fork", id(&run));
    let (first, made) = bench.post_with_key(&path, &json!({}), "once").await;
    let (second, again) = bench.post_with_key(&path, &json!({}), "once").await;
    assert_eq!((first, second), (StatusCode::CREATED, StatusCode::CREATED), "{again}");
    assert_eq!(made["run"]["id"], again["run"]["id"]);
    let (status, problem) = bench.post_with_key(&path, &json!({"at": 4}), "once").await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("key_reused")));
    let (_, listed) = bench.get("/api/runs").await;
    assert_eq!(listed.as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_forked_is_refused_with_a_hint_and_nothing_is_made() {
    let bench = Bench::start().await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let gone = bench.run_until("cleaned away", "awaiting_approval").await;
    let events = bench.events_in_all().await;
    let check = async |run: &str, body: Value, status: u16, code: &str, field: Value| {
        let (found, problem) = fork(&bench, run, body.clone()).await;
        assert_eq!((found.as_u16(), &problem["code"]), (status, &json!(code)), "{body} {problem}");
        assert_eq!(problem["field"], field, "{problem}");
        assert!(!problem["hint"].as_str().unwrap().is_empty(), "{problem}");
    };
    let of = id(&run);
    check(of, json!({"at": 0}), 400, "no_such_event", json!("at")).await;
    check(of, json!({"at": 999_999}), 400, "no_such_event", json!("at")).await;
    check(of, json!({"at": 1}), 400, "no_checkpoint", json!("at")).await;
    check(of, json!({"decision": {"decision": "answer", "answer": ["x"]}}), 400, "no_checkpoint", json!("decision"))
        .await;
    let first = points(&bench, of).await[0]["at"].clone();
    let yes = json!({"at": first, "decision": {"decision": "approve"}});
    check(of, yes, 400, "not_forkable", json!("at")).await;
    let empty = json!({"decision": {"decision": "reject", "text": " "}});
    check(of, empty, 400, "bad_answer", json!("answer")).await;
    check(of, json!({"decision": {"decision": "cancel"}}), 400, "not_forkable", json!("at")).await;
    check(of, json!({"decision": {"decision": "explode"}}), 400, "unknown_decision", json!("decision")).await;
    check(of, json!({"models": {"chef": "a/b"}}), 400, "unknown_role", json!("models")).await;
    check(of, json!({"models": {"planner": "nobody/x"}}), 400, "unknown_model", json!("models")).await;
    check(of, json!({"models": {"planner": "scripted/demo,scripted/demo"}}), 400, "bad_model", json!("models")).await;
    check(of, json!({"programs": {"planner": "nothing"}}), 400, "bad_agent", json!("programs")).await;
    check(of, json!({"budgetUsd": -1}), 400, "bad_budget", json!("budgetUsd")).await;
    check(id(&gone), json!({}), 409, "commit_gone", Value::Null).await;
    check("zzzzzz", json!({}), 404, "no_such_run", Value::Null).await;
    assert_eq!(fork(&bench, of, json!({"when": "now"})).await.0, StatusCode::BAD_REQUEST, "unknown fields are refused");
    let agent = bench.bare(Method::POST, &format!("/api/runs/{of}/fork")).bearer_auth(AGENT_TOKEN).json(&json!({}));
    assert_eq!(answer(agent).await.0, StatusCode::FORBIDDEN);
    assert_eq!(bench.events_in_all().await, events, "nothing was recorded");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_run_of_a_task_is_forked_with_its_parent() {
    let bench = Bench::start().await;
    let run = bench.team("slow tasks").await;
    let asked = bench.held(id(&run), "clarification").await;
    assert_eq!(bench.decide(&asked, json!({"decision": "answer", "answer": ["all"]})).await.0, StatusCode::OK);
    let ready = bench.held(id(&run), "confirm").await;
    assert_eq!(bench.decide(&ready, json!({"decision": "approve"})).await.0, StatusCode::OK);
    let planned = bench.held(id(&run), "approval").await;
    assert_eq!(bench.decide(&planned, json!({"decision": "approve"})).await.0, StatusCode::OK);
    let working = bench.wait_for(id(&run), |run| run["tasks"][0]["child"].is_string()).await;
    let child = working["tasks"][0]["child"].as_str().unwrap();
    let (status, problem) = fork(&bench, child, json!({})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("child_run")), "{problem}");
    assert!(problem["hint"].as_str().unwrap().contains("holdpoint fork"), "{problem}");
    assert_eq!(points(&bench, child).await, Vec::<Value>::new());
    let (status, made) = fork(&bench, id(&run), json!({})).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    assert_eq!((&made["point"]["stage"], &made["point"]["kind"]), (&json!("execution"), &json!("stage_started")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_fork_inherits_is_not_told_again_and_counted_in_no_sum() {
    let bench = Bench::start().await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let figure = async |name: &str| {
        let (_, text) = bench.get("/metrics").await;
        let text = text.as_str().unwrap().to_owned();
        text.lines().find_map(|line| line.strip_prefix(&format!("{name} "))).unwrap().to_owned()
    };
    let (before, calls) = (bench.events_in_all().await, figure("holdpoint_model_calls_total").await);
    let (status, made) = fork(&bench, id(&run), json!({})).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    bench.wait(id(&made["run"]), "awaiting_approval").await;
    let told = bench.engine.store().feed(before, 100).unwrap();
    let told: Vec<String> = told
        .iter()
        .map(|item| serde_json::to_value(&item.recorded.event).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(told, ["RUN_STARTED", "RUN_FORKED", "EFFECT_REQUESTED", "EFFECT_FINISHED", "FORK_OPENED"]);
    assert_eq!(figure("holdpoint_model_calls_total").await, calls);
}
