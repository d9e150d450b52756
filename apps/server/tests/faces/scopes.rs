//! What the agents' token may do: read and start, within its owner's settings; never decide.

use crate::common::{AGENT_TOKEN, Bench, TOKEN, answer, commit, git};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use server::AgentsToken;

async fn as_agent(bench: &Bench, method: Method, path: &str, body: &Value) -> (StatusCode, Value) {
    let request = bench.bare(method.clone(), path).bearer_auth(AGENT_TOKEN).header("holdpoint-channel", "cli");
    answer(if method == Method::GET { request } else { request.json(body) }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_change_but_a_start_is_beyond_the_agents_token() {
    let bench = Bench::start().await;
    let api = serde_json::to_value(server::openapi()).unwrap();
    let starts = ["/api/runs", "/api/workflows", "/api/runs/estimate", "/api/workflows/estimate"];
    let mut refused = 0;
    // Whoever logs in is not known yet.
    for (path, item) in api["paths"].as_object().unwrap().iter().filter(|(path, _)| *path != "/api/login") {
        let changes = ["post", "put", "patch", "delete"].into_iter().filter(|method| item[method].is_object());
        for method in changes.filter(|_| !starts.contains(&path.as_str())) {
            let method: Method = method.to_uppercase().parse().unwrap();
            let (status, body) = as_agent(&bench, method, &path.replace("{id}", "abc"), &json!({})).await;
            assert_eq!((status.as_u16(), &body["code"]), (403, &json!("scope_missing")), "{path}: {body}");
            assert!(body["hint"].as_str().unwrap().contains("holdpoint inbox"), "{body}");
            refused += 1;
        }
    }
    assert!(refused >= 20, "{refused}");
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_shown_to_an_agent_and_not_decided_by_it() {
    let bench = Bench::start().await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let id = run["id"].as_str().unwrap();
    let before = bench.events_in_all().await;
    let (status, seen) = as_agent(&bench, Method::GET, &format!("/api/runs/{id}"), &Value::Null).await;
    assert_eq!((status, &seen["hold"]), (StatusCode::OK, &run["hold"]));
    let yes = json!({"digest": run["hold"]["digest"]});
    let word = json!({"digest": run["hold"]["digest"], "decision": "approve"});
    for (verb, body) in
        [("approve", &yes), ("decide", &word), ("cancel", &json!({})), ("message", &json!({"text": "x"}))]
    {
        let (status, body) = as_agent(&bench, Method::POST, &format!("/api/runs/{id}/{verb}"), body).await;
        assert_eq!((status.as_u16(), &body["code"]), (403, &json!("scope_missing")), "{verb}: {body}");
    }
    assert_eq!(bench.events_in_all().await, before);
    let (status, _) = bench.post(&format!("/api/runs/{id}/approve"), &yes).await;
    assert_eq!(status, StatusCode::OK, "the owner's token decides");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_an_agent_is_no_freer_than_its_owner_lets_it_be() {
    let bench = Bench::start().await;
    let with = |field: &str, value: Value| {
        let mut body = bench.new_run("add a page");
        body[field] = value;
        body
    };
    let refused = [
        ("trust", json!({"planning": "auto"})),
        ("autoMerge", json!(true)),
        ("createPr", json!(true)),
        ("trustSources", json!(true)),
    ];
    for (field, value) in refused {
        let (status, body) = as_agent(&bench, Method::POST, "/api/runs", &with(field, value)).await;
        let told = (status.as_u16(), body["code"].as_str().unwrap(), body["field"].as_str().unwrap());
        assert_eq!(told, (403, "scope_missing", field), "{body}");
    }
    assert_eq!(bench.events_in_all().await, 0);
    for (field, value) in
        [("trust", json!({"planning": "manual"})), ("autoMerge", json!(false)), ("review", json!(true))]
    {
        let (status, run) = as_agent(&bench, Method::POST, "/api/runs", &with(field, value)).await;
        assert_eq!(status, StatusCode::CREATED, "{run}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_names_no_playbook_program_or_model_that_its_owner_did_not_choose() {
    let bench = Bench::start().await;
    let with = |field: &str, value: Value| {
        let mut body = bench.new_run("add a page");
        body["models"] = json!({"*": "scripted/demo"});
        body[field] = value;
        body
    };
    let refused = [
        ("playbook", json!("subtask")),
        ("playbook", json!("goal")),
        ("playbook", json!("team")),
        ("programs", json!({"*": "command:/bin/true"})),
        ("programs", json!({"implementer": "opencode"})),
        ("models", json!({"implementer": "house/large"})),
        ("skipClarification", json!(true)),
    ];
    for (field, value) in refused {
        let (status, body) = as_agent(&bench, Method::POST, "/api/runs", &with(field, value.clone())).await;
        let told = (status.as_u16(), body["code"].as_str().unwrap_or_default(), body["field"].as_str().unwrap_or(""));
        assert_eq!(told, (403, "scope_missing", field), "{value}: {body}");
    }
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_names_what_its_owner_listed() {
    let listed = AgentsToken {
        playbooks: vec!["team".to_owned()],
        programs: vec!["opencode".parse().unwrap()],
        models: vec!["house/large".parse().unwrap(), "scripted/demo".parse().unwrap()],
        budget: None,
    };
    let bench = Bench::with_agents_token(listed).await;
    for (field, value) in [
        ("playbook", json!("team")),
        ("programs", json!({"implementer": "opencode"})),
        ("models", json!({"implementer": "house/large"})),
    ] {
        let mut body = bench.new_run("linger for ever");
        body["models"] = json!({"*": "scripted/demo"});
        body[field] = value;
        let (status, run) = as_agent(&bench, Method::POST, "/api/runs", &body).await;
        assert_eq!(status, StatusCode::CREATED, "{run}");
    }
    let mut body = bench.new_run("linger for ever");
    body["playbook"] = json!("subtask");
    body["models"] = json!({"*": "scripted/demo"});
    assert_eq!(as_agent(&bench, Method::POST, "/api/runs", &body).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_begins_on_no_branch_that_asks_for_less() {
    let bench = Bench::start().await;
    let folder = bench.repository.join(".autonomous");
    git(&bench.repository, &["branch", "loose"]);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), r#"{"checks": [{"name": "tests", "command": "true"}]}"#).unwrap();
    commit(&bench.repository);
    let mut body = bench.new_run("add a page");
    body["baseBranch"] = json!("loose");
    let (status, told) = as_agent(&bench, Method::POST, "/api/runs", &body).await;
    assert_eq!((status.as_u16(), &told["field"]), (403, &json!("checks")), "{told}");
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_begins_on_no_branch_that_asks_for_no_review() {
    let bench = Bench::start().await;
    let folder = bench.repository.join(".autonomous");
    git(&bench.repository, &["branch", "loose"]);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.json"), r#"{"git": {"review": true}}"#).unwrap();
    commit(&bench.repository);
    let mut body = bench.new_run("add a page");
    body["baseBranch"] = json!("loose");
    let (status, told) = as_agent(&bench, Method::POST, "/api/runs", &body).await;
    assert_eq!((status.as_u16(), &told["field"]), (403, &json!("review")), "{told}");
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_asks_its_owner_no_fewer_questions_and_lets_its_run_ask_no_more_before_an_approval() {
    let bench = Bench::start().await;
    for (field, value) in [("maxClarifications", json!(100)), ("maxClarificationRounds", json!(1))] {
        let mut body = bench.new_run("add a page");
        body[field] = value;
        let (status, told) = as_agent(&bench, Method::POST, "/api/runs", &body).await;
        assert_eq!((status.as_u16(), &told["field"]), (403, &json!(field)), "{told}");
    }
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_spellings_of_a_start_are_none_and_keys_of_others_are_not_replayed() {
    let bench = Bench::start().await;
    let run = bench.new_run("add a page");
    for path in ["/api/runs/", "//api/runs", "/api/%72uns", "/API/RUNS", "/api/runs;x", "/api/tasks", "/api/runs/batch"]
    {
        let (status, body) = as_agent(&bench, Method::POST, path, &run).await;
        assert!(matches!(status.as_u16(), 403 | 404), "{path}: {status} {body}");
    }
    for method in ["x-http-method-override", "x-http-method", "x-method-override"] {
        let request = bench.bare(Method::GET, "/api/runs").bearer_auth(AGENT_TOKEN).header(method, "POST").json(&run);
        assert_eq!(answer(request).await.0, StatusCode::OK, "a list, and nothing else");
    }
    assert_eq!(bench.events_in_all().await, 0);
    let keyed = |request: reqwest::RequestBuilder| request.header("idempotency-key", "the-same").json(&run);
    let (status, owners) = answer(keyed(bench.bare(Method::POST, "/api/runs").bearer_auth(TOKEN))).await;
    assert_eq!(status, StatusCode::CREATED, "{owners}");
    let agents = |body: Value| {
        let request = bench.bare(Method::POST, "/api/runs").bearer_auth(AGENT_TOKEN);
        answer(request.header("idempotency-key", "the-same").json(&body))
    };
    let (status, other) = agents(run.clone()).await;
    assert_eq!(status, StatusCode::CREATED, "{other}");
    assert_ne!(owners["id"], other["id"], "an owner's answer was replayed to an agent");
    let mut freer = run.clone();
    freer["autoMerge"] = json!(true);
    let (status, body) = agents(freer).await;
    assert!(matches!(status.as_u16(), 403 | 409), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agents_token_starts_came_through_mcp_whatever_it_says() {
    let bench = Bench::start().await;
    let (status, run) = as_agent(&bench, Method::POST, "/api/runs", &bench.new_run("add a page")).await;
    assert_eq!(status, StatusCode::CREATED, "{run}");
    let (_, events) = bench.get(&format!("/api/runs/{}/events", run["id"].as_str().unwrap())).await;
    assert_eq!(events[0]["payload"]["by"], json!({"name": "ada", "channel": "mcp"}), "{}", events[0]);
}
