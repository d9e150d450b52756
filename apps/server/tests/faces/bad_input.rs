//! Bad input gets a clear refusal that names the field, and nothing changes.

use crate::common::{Bench, TOKEN, answer, commit, git, sample};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

/// Posts a new run with some fields set, and expects a refusal that names the field.
async fn check(bench: &Bench, change: Value, field: &str, code: &str) {
    let mut body = bench.new_run("add a page");
    for (name, value) in change.as_object().unwrap() {
        body[name] = value.clone();
    }
    let (status, problem) = bench.post("/api/runs", &body).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{change} -> {problem}");
    assert_eq!((&problem["field"], &problem["code"]), (&json!(field), &json!(code)), "{change} -> {problem}");
    assert!(!problem["hint"].as_str().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_cannot_be_is_refused_by_field() {
    let bench = Bench::start().await;
    check(&bench, json!({"request": "  "}), "request", "bad_request").await;
    check(&bench, json!({"request": "x".repeat(70_000)}), "request", "bad_request").await;
    check(&bench, json!({"request": "add\u{1b}[31m"}), "request", "bad_request").await;
    check(&bench, json!({"playbook": "waterfall"}), "playbook", "unknown_playbook").await;
    check(&bench, json!({"trust": {"deploy": "auto"}}), "trust", "bad_trust").await;
    check(&bench, json!({"trust": {"planning": "maybe"}}), "trust", "bad_trust").await;
    check(&bench, json!({"models": {"chef": "scripted/demo"}}), "models", "unknown_role").await;
    check(&bench, json!({"models": {"planner": "gpt"}}), "models", "bad_model").await;
    check(&bench, json!({"models": {"planner": "scripted/none"}}), "models", "unknown_model").await;
    check(&bench, json!({"models": {"planner": "acme/best"}}), "models", "unknown_model").await;
    check(&bench, json!({"models": {"planner": "openai/gpt-4o"}}), "models", "provider_not_configured").await;
    check(&bench, json!({"timeoutMinutes": {"lunch": 5}}), "timeoutMinutes", "unknown_stage").await;
    check(&bench, json!({"timeoutMinutes": {"planning": 0}}), "timeoutMinutes", "bad_timeout").await;
    check(&bench, json!({"maxClarifications": 1000}), "maxClarifications", "bad_limit").await;
    check(&bench, json!({"budgetUsd": -1.0}), "budgetUsd", "bad_budget").await;
    let unpriced = json!({"budgetUsd": 1.0, "models": {"planner": "scripted/demo, house/qwen"}});
    check(&bench, unpriced, "budgetUsd", "unknown_price").await;
    check(&bench, json!({"checks": [{"name": "", "command": "true"}]}), "checks", "bad_check").await;
    check(&bench, json!({"surprise": 1}), "surprise", "bad_json").await;
    check(&bench, json!({"trust": "auto"}), "trust", "bad_json").await;
    check(&bench, json!({"timeoutMinutes": {"planning": "long"}}), "timeoutMinutes.planning", "bad_json").await;
    check(&bench, json!({"project": "relative/path"}), "project", "bad_project").await;
    check(&bench, json!({"baseBranch": "nowhere"}), "baseBranch", "base_branch_missing").await;
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_no_usable_repository_is_refused() {
    let bench = Bench::start().await;
    let at = |name: &str| bench.folder.path().join(name);
    std::fs::create_dir(at("plain")).unwrap();
    check(&bench, json!({"project": at("plain")}), "project", "not_a_repository").await;
    check(&bench, json!({"project": at("missing")}), "project", "no_such_folder").await;
    git(bench.folder.path(), &["init", "-q", "--bare", "bare"]);
    check(&bench, json!({"project": at("bare")}), "project", "bare_repository").await;
    git(bench.folder.path(), &["init", "-q", "empty"]);
    check(&bench, json!({"project": at("empty")}), "project", "empty_repository").await;
    sample(&at("detached"));
    git(&at("detached"), &["checkout", "-q", "--detach"]);
    check(&bench, json!({"project": at("detached")}), "baseBranch", "detached_head").await;
    let body = json!({"project": at("detached"), "request": "add a page", "baseBranch": "main"});
    assert_eq!(bench.post("/api/runs", &body).await.0, StatusCode::CREATED);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_that_is_broken_or_ambiguous_is_refused() {
    let bench = Bench::start().await;
    let long = "[".repeat(5000);
    for (body, field) in [
        ("{", Value::Null),
        ("[]", Value::Null),
        ("null", Value::Null),
        ("{}", json!("project")),
        (long.as_str(), Value::Null),
        ("\u{0}", Value::Null),
        (r#"{"project": "/a", "project": "/b", "request": "x"}"#, json!("project")),
        (r#"{"project": "/a", "request": "x", "trust": {"fixes": "auto", "fixes": "manual"}}"#, json!("fixes")),
        (r#"{"project": 1, "request": "x"}"#, json!("project")),
        (r#"{"project": "/a", "request": "x", "budgetUsd": 1e999}"#, Value::Null),
    ] {
        let request = bench.bare(Method::POST, "/api/runs").bearer_auth(TOKEN);
        let request = request.header("content-type", "application/json").body(body.to_owned());
        let (status, problem) = answer(request).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body:.60} -> {problem}");
        assert_eq!(problem["code"], "bad_json");
        if !field.is_null() {
            assert_eq!(problem["field"], field, "{body:.60} -> {problem}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_and_queries_that_mean_nothing_are_refused() {
    let bench = Bench::start().await;
    for id in ["zzzzzz", "..%2f..%2fetc", "%1b%5b31m", "x'%20OR%201=1", "k7m2q9-x4tz3c"] {
        assert_eq!(bench.get(&format!("/api/runs/{id}")).await.0, StatusCode::NOT_FOUND, "{id}");
        let (status, _) = bench.post(&format!("/api/runs/{id}/cancel"), &json!({})).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{id}");
    }
    for query in ["limit=0", "limit=many", "status=happy", "unknown=1", "limit=-1"] {
        assert_eq!(bench.get(&format!("/api/runs?{query}")).await.0, StatusCode::BAD_REQUEST, "{query}");
    }
    for hold in ["nonsense", "k7m2q9-x4tz3c", "k7m2q9-x4tz3c.x", "k7m2q9-x4tz3c.7"] {
        let (status, _) = bench.post(&format!("/api/clarifications/{hold}/answer"), &json!({"answer": ["x"]})).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{hold}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_repositorys_file_tightens_and_never_loosens() {
    let bench = Bench::start().await;
    let file = bench.repository.join(".autonomous/config.json");
    std::fs::create_dir(file.parent().unwrap()).unwrap();
    let text = json!({
        "defaultRunConfig": {"trustMode": {"planning": "auto", "fixes": "manual"}, "maxClarifications": 50,
            "maxConcurrency": 2},
        "git": {"autoMerge": true, "review": true, "requireApprovalFor": ["implementation", "reviewing"]},
        "protectedPaths": ["billing/"],
        "checks": [{"name": "test", "command": "true"}],
        "excludePaths": ["*.log"],
    });
    std::fs::write(&file, text.to_string()).unwrap();
    commit(&bench.repository);
    let mut body = bench.new_run("add a page");
    body["trust"] = json!({"implementation": "auto"});
    body["agents"] = json!(7);
    body["review"] = json!(false);
    let (status, run) = bench.post("/api/runs", &body).await;
    assert_eq!(status, StatusCode::CREATED, "{run}");
    let (_, events) = bench.get(&format!("/api/runs/{}/events", run["id"].as_str().unwrap())).await;
    let config = &events[0]["payload"]["config"];
    assert_eq!(config["trust"], json!({"planning": "manual", "implementation": "manual", "fixes": "manual"}));
    assert_eq!((&config["maxClarifications"], &config["git"]["autoMerge"]), (&json!(3), &json!(false)));
    assert_eq!((&config["checks"][0]["name"], &config["excludePaths"]), (&json!("test"), &json!(["*.log"])));
    assert_eq!((&config["maxConcurrency"], &config["git"]["review"]), (&json!(2), &json!(true)));
    assert_eq!(config["risk"]["protected"], json!(["billing/"]));
    assert_eq!(config["requireApproval"], json!(["implementation", "reviewing"]));
    let roles = bench.repository.join(".autonomous/roles");
    std::fs::create_dir(&roles).unwrap();
    std::fs::write(roles.join("planner.toml"), "temperature = 9\n").unwrap();
    commit(&bench.repository);
    check(&bench, json!({}), "project", "bad_role").await;
    std::fs::write(roles.join("planner.toml"), "model = 'nobody/x'\n").unwrap();
    commit(&bench.repository);
    let (status, run) = bench.post("/api/runs", &bench.new_run("add another page")).await;
    assert_eq!(status, StatusCode::CREATED, "a model the user has not set up is no reason to fail: {run}");
    std::fs::write(&file, json!({"git": {"requireApprovalFor": ["deploy"]}}).to_string()).unwrap();
    commit(&bench.repository);
    check(&bench, json!({}), "project", "bad_project_config").await;
    std::fs::write(&file, "{\"git\": 7}").unwrap();
    commit(&bench.repository);
    check(&bench, json!({}), "project", "bad_project_config").await;
}
