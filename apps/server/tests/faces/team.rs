//! Runs of several agents: conversation, plan, tasks, pauses; and what of a person's own plan is refused.

use crate::common::Bench;
use reqwest::StatusCode;
use serde_json::{Value, json};

fn id(run: &Value) -> &str {
    run["id"].as_str().unwrap()
}

/// A run whose plan waits for a yes.
async fn planned(bench: &Bench, request: &str) -> Value {
    let run = bench.team(request).await;
    let asked = bench.held(id(&run), "clarification").await;
    assert_eq!((&asked["hold"]["question"], &asked["hold"]["attemptNumber"]), (&json!("Which pages?"), &json!(0)));
    assert_eq!(bench.decide(&asked, json!({"decision": "answer", "answer": ["all"]})).await.0, StatusCode::OK);
    let ready = bench.held(id(&run), "confirm").await;
    assert_eq!(ready["hold"]["question"], "All pages.");
    assert_eq!(bench.decide(&ready, json!({"decision": "approve"})).await.0, StatusCode::OK);
    bench.held(id(&run), "approval").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_several_agents_shows_its_tasks_steps_and_children() {
    let bench = Bench::start().await;
    let run = planned(&bench, "add pages").await;
    assert_eq!(run["groups"], json!([["store", "page"], ["api"]]));
    assert_eq!(run["conversation"][1], json!({"by": "ada", "text": "all"}));
    let (_, plan) = bench.get(&format!("/api/runs/{}/plan", id(&run))).await;
    assert_eq!(plan["tasks"][2]["dependsOn"], json!(["store"]));
    assert_eq!(bench.decide(&run, json!({"decision": "ask", "text": "Why three?"})).await.0, StatusCode::OK);
    let run = bench.wait_for(id(&run), |run| !run["hold"]["asked"].is_null()).await;
    assert_eq!(run["hold"]["asked"], json!([{"question": "Why three?", "answer": "It is the shortest."}]));
    assert_eq!(bench.decide(&run, json!({"decision": "approve"})).await.0, StatusCode::OK);
    let done = bench.wait(id(&run), "completed").await;
    for task in done["tasks"].as_array().unwrap() {
        assert_eq!((&task["status"], &task["attempt"]), (&json!("merged"), &json!(1)), "{task}");
    }
    assert_eq!((&done["tasks"][2]["group"], &done["tasks"][2]["cost"]), (&json!(2), &json!(0.003)));
    assert_eq!(done["spend"]["childrenUsd"], json!(0.009));
    let steps: Vec<&str> =
        done["checkpoints"].as_array().unwrap().iter().map(|step| step["step"].as_str().unwrap()).collect();
    for step in ["QUEUED", "CLARIFYING", "CLARIFIED", "PLANNED", "AGENTS_SPAWNED", "SUBTASK_REVIEWING", "SUBTASK_DONE"]
    {
        assert!(steps.contains(&step), "{step} is not in {steps:?}");
    }
    assert_eq!((steps[0], *steps.last().unwrap()), ("QUEUED", "COMPLETED"));
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_tasks_are_listed_with_their_parent_and_can_be_left_out() {
    let bench = Bench::start().await;
    let run = planned(&bench, "slow tasks").await;
    assert_eq!(bench.decide(&run, json!({"decision": "approve"})).await.0, StatusCode::OK);
    let working =
        |run: &Value| run["tasks"].as_array().unwrap().iter().filter(|task| task["status"] == "working").count();
    let run = bench.wait_for(id(&run), |run| working(run) == 2).await;
    let (_, all) = bench.get("/api/runs").await;
    let parents: Vec<&Value> = all.as_array().unwrap().iter().map(|run| &run["parent"]).collect();
    assert_eq!(parents, [&run["id"], &run["id"], &Value::Null]);
    let (_, roots) = bench.get("/api/runs?roots=true&limit=1").await;
    assert_eq!((roots.as_array().unwrap().len(), &roots[0]["id"]), (1, &run["id"]));
    let (_, children) = bench.get(&format!("/api/runs?parent={}", id(&run))).await;
    let tasks: Vec<&Value> = children.as_array().unwrap().iter().map(|run| &run["task"]).collect();
    assert_eq!(tasks.len(), 2);
    assert!(tasks.contains(&&json!("store")) && tasks.contains(&&json!("page")), "{tasks:?}");
    let child = bench.get(&format!("/api/runs/{}", id(&children[0]))).await.1;
    assert_eq!((&child["parent"], &child["task"]), (&run["id"], &children[0]["task"]));
    let (_, why) = bench.get(&format!("/api/runs/{}/why", id(&run))).await;
    assert!(why["waitsFor"].as_str().unwrap().contains("store"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_cannot_be_worked_is_refused_and_the_run_stays_where_it_was() {
    let bench = Bench::start().await;
    let run = planned(&bench, "add pages").await;
    let task = |id: &str, on: Value| json!({"id": id, "title": id, "description": "x", "dependsOn": on});
    let plan = |tasks: Vec<Value>| json!({"summary": "mine", "tasks": tasks}).to_string();
    let many = (0..500).map(|number| task(&format!("t{number}"), json!([]))).collect();
    let cases = [
        (plan(vec![task("a", json!(["b"])), task("b", json!(["a"]))]), "circle"),
        (plan(vec![task("a", json!(["ghost"]))]), "ghost"),
        (plan(Vec::new()), "task"),
        (plan(many), "500"),
        (plan(vec![task("a", json!([])), task("a", json!([]))]), "`a`"),
        ("no plan at all".to_owned(), "plan"),
    ];
    for (text, reason) in cases {
        let (status, problem) = bench.decide(&run, json!({"decision": "modify_plan", "text": text})).await;
        assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_plan")), "{problem}");
        assert!(problem["message"].as_str().unwrap().contains(reason), "{problem}");
    }
    let mut long = task("a", json!([]));
    long["description"] = json!("x".repeat(1024 * 1024));
    let (status, problem) =
        bench.decide(&run, json!({"decision": "modify_plan", "text": plan(vec![long.clone()])})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::PAYLOAD_TOO_LARGE, &json!("too_large")));
    long["description"] = json!("x".repeat(600 * 1024));
    let (status, problem) = bench.decide(&run, json!({"decision": "modify_plan", "text": plan(vec![long])})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_answer")), "{problem}");
    let after = bench.get(&format!("/api/runs/{}", id(&run))).await.1;
    assert_eq!((&after["version"], &after["hold"]), (&run["version"], &run["hold"]));
    let mine = plan(vec![task("only", json!([]))]);
    assert_eq!(bench.decide(&run, json!({"decision": "modify_plan", "text": mine})).await.0, StatusCode::OK);
    let done = bench.wait(id(&run), "completed").await;
    assert_eq!((&done["tasks"][0]["id"], &done["groups"]), (&json!("only"), &json!([["only"]])));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_is_not_allowed_changes_nothing_whatever_it_is() {
    let bench = Bench::start().await;
    let run = planned(&bench, "add pages").await;
    let allowed: Vec<&str> =
        run["hold"]["allowed"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(allowed, ["approve", "reject", "suggest", "modify_plan", "ask", "cancel"]);
    let others = [
        json!({"decision": "answer", "answer": ["x"]}),
        json!({"decision": "ignore"}),
        json!({"decision": "retry"}),
        json!({"decision": "retry", "model": "scripted/demo"}),
        json!({"decision": "accept_anyway"}),
        json!({"decision": "extend", "minutes": 5}),
        json!({"decision": "raise", "usd": 1.0}),
        json!({"decision": "resolve"}),
        json!({"decision": "create_pr"}),
        json!({"decision": "take_over"}),
        json!({"decision": "resume"}),
    ];
    for decision in others {
        let (status, problem) = bench.decide(&run, decision.clone()).await;
        assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("not_allowed")), "{decision}");
        assert_eq!(problem["hint"], format!("it takes: {}", allowed.join(", ")));
    }
    for (model, code) in [("the best", "bad_model"), ("acme/x", "unknown_model"), ("scripted/none", "unknown_model")] {
        let (status, problem) = bench.decide(&run, json!({"decision": "retry", "model": model})).await;
        assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!(code)), "{problem}");
        assert_eq!(problem["field"], "model");
    }
    let after = bench.get(&format!("/api/runs/{}", id(&run))).await.1;
    assert_eq!(after["version"], run["version"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_word_reaches_the_agent_at_work_and_nobody_else() {
    let bench = Bench::start().await;
    let run = bench.run_until("linger for ever", "running").await;
    let run = bench.wait_for(id(&run), |run| run["stages"][0]["state"] == "active").await;
    let path = |session: &str| format!("/api/sessions/{session}/message");
    let session = format!("{}.planner-1", id(&run));
    let (status, told) = bench.post(&path(&session), &json!({"text": "use the blue one"})).await;
    assert_eq!(status, StatusCode::OK, "{told}");
    let (_, events) = bench.get(&format!("/api/runs/{}/events", id(&run))).await;
    let given = events.as_array().unwrap().iter().find(|event| event["type"] == "GUIDANCE_GIVEN").unwrap();
    assert_eq!(
        (&given["payload"]["text"], &given["payload"]["by"]["name"]),
        (&json!("use the blue one"), &json!("ada"))
    );
    let (status, problem) = bench.post(&path(&format!("{}.planner-9", id(&run))), &json!({"text": "x"})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("session_not_active")), "{problem}");
    assert_eq!(bench.post(&path(&session), &json!({"text": ""})).await.0, StatusCode::BAD_REQUEST);
    let waiting = bench.run_until("add a page", "awaiting_approval").await;
    let (status, _) = bench.post(&path(&format!("{}.planner-1", id(&waiting))), &json!({"text": "x"})).await;
    assert_eq!(status, StatusCode::CONFLICT);
    let (status, _) = bench.post(&format!("/api/runs/{}/message", id(&waiting)), &json!({"text": "for later"})).await;
    assert_eq!(status, StatusCode::OK, "a run can be told something while nobody works");
    assert_eq!(bench.post(&path("zzz"), &json!({"text": "x"})).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_paused_and_goes_on_once() {
    let bench = Bench::start().await;
    let run = bench.run_until("linger for ever", "running").await;
    let run = bench.wait_for(id(&run), |run| run["stages"][0]["state"] == "active").await;
    let path = |rest: &str| format!("/api/runs/{}/{rest}", id(&run));
    let (status, paused) = bench.post(&path("pause"), &json!({"reason": "lunch"})).await;
    assert_eq!((status, &paused["status"]), (StatusCode::OK, &json!("paused")), "{paused}");
    assert_eq!(paused["hold"]["allowed"], json!(["resume", "cancel"]));
    let (status, problem) = bench.post(&path("pause"), &json!({})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("waits_already")));
    let (status, problem) = bench.post(&path("resume"), &json!({"digest": "0".repeat(64)})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("digest_changed")));
    let digest = json!({"digest": paused["hold"]["digest"]});
    assert_eq!(bench.post(&path("resume"), &digest).await.0, StatusCode::OK);
    let (status, problem) = bench.post(&path("resume"), &digest).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("already_decided")));
    let (status, problem) = bench.post(&path("overturn"), &json!({"assumption": 1, "answer": ["red"]})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("no_such_assumption")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_taken_over_by_one_person_and_handed_back() {
    let bench = Bench::start().await;
    let run = bench.run_until("linger for ever", "running").await;
    let run = bench.wait_for(id(&run), |run| run["stages"][0]["state"] == "active").await;
    let path = |rest: &str| format!("/api/runs/{}/{rest}", id(&run));
    let (status, taken) = bench.post(&path("attach"), &json!({})).await;
    assert_eq!((status, &taken["window"]), (StatusCode::OK, &json!("planner")), "{taken}");
    assert!(taken["terminal"].as_str().unwrap().ends_with("terminal.sock"), "{taken}");
    assert_eq!((&taken["run"]["status"], &taken["run"]["attached"]["active"]), (&json!("paused"), &json!(true)));
    let (status, again) = bench.post(&path("attach"), &json!({})).await;
    assert_eq!((status, &again["terminal"]), (StatusCode::OK, &taken["terminal"]));
    assert_eq!(again["run"]["hold"]["id"], taken["run"]["hold"]["id"], "who has it is only told where it is");
    assert_eq!(bench.post(&path("attach"), &json!({"by": "eve"})).await.0, StatusCode::BAD_REQUEST);
    let (status, back) = bench.post(&path("resume"), &json!({})).await;
    assert_eq!((status, &back["status"], &back["attached"]), (StatusCode::OK, &json!("running"), &Value::Null));
    let waits = bench.run_until("add a page", "awaiting_approval").await;
    let (status, problem) = bench.post(&format!("/api/runs/{}/attach", id(&waits)), &json!({})).await;
    assert_eq!((status, &problem["code"]), (StatusCode::CONFLICT, &json!("no_session")), "{problem}");
}
