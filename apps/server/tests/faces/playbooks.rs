//! A project's own playbooks: read from its base commit, listed with their problems, and run.

use crate::common::{Bench, commit};
use reqwest::StatusCode;
use serde_json::{Value, json};

const SECURITY: &str = include_str!("../../../../docs/playbooks/security.toml");

fn write(bench: &Bench, file: &str, text: &str) {
    let path = bench.repository.join(".autonomous").join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn security(bench: &Bench) -> Value {
    let mut body = bench.new_run("add a page");
    body["playbook"] = json!("security");
    body["models"] = json!({"*": "scripted/demo"});
    body
}

async fn approve(bench: &Bench, run: &Value) {
    let path = format!("/api/runs/{}/approve", run["id"].as_str().unwrap());
    let (status, answer) = bench.post(&path, &json!({"digest": run["hold"]["digest"]})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_through_the_extra_stage_of_a_projects_own_playbook() {
    let bench = Bench::start().await;
    write(&bench, "playbooks/security.toml", SECURITY);
    commit(&bench.repository);
    let (status, run) = bench.post("/api/runs", &security(&bench)).await;
    assert_eq!(status, StatusCode::CREATED, "{run}");
    let id = run["id"].as_str().unwrap();
    let held = bench.wait(id, "awaiting_approval").await;
    assert_eq!(held["stage"], "planning");
    // What happens to the file now is nothing to this run.
    write(&bench, "playbooks/security.toml", "nonsense");
    commit(&bench.repository);
    approve(&bench, &held).await;
    let held = bench.wait(id, "awaiting_approval").await;
    assert_eq!((&held["stage"], &held["hold"]["kind"]), (&json!("security-review"), &json!("approval")));
    approve(&bench, &held).await;
    let done = bench.wait(id, "completed").await;
    let stages: Vec<_> = done["stages"].as_array().unwrap().iter().map(|stage| stage["name"].clone()).collect();
    assert_eq!(stages, ["planning", "implementation", "security-review", "validation"]);
    assert_eq!(done["spend"]["calls"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_committed_counts() {
    let bench = Bench::start().await;
    write(&bench, "playbooks/security.toml", SECURITY);
    let (status, problem) = bench.post("/api/runs", &security(&bench)).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("unknown_playbook")), "{problem}");
    let path = format!("/api/playbooks?project={}", bench.repository.display());
    assert_eq!(bench.get(&path).await.1.as_array().unwrap().len(), 6);
    commit(&bench.repository);
    let (_, all) = bench.get(&path).await;
    let own = &all[6];
    assert_eq!((&own["name"], &own["file"]), (&json!("security"), &json!(".autonomous/playbooks/security.toml")));
    assert_eq!((&own["steps"][2]["gate"], &own["problems"]), (&json!("manual"), &Value::Null));
    assert!(own["diagram"].as_str().unwrap().starts_with("stateDiagram-v2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_playbook_is_shown_with_its_line_and_stops_nobody_else() {
    let bench = Bench::start().await;
    write(&bench, "playbooks/security.toml", &SECURITY.replace("rounds = 2\n", "").replace("10\n", "0\n"));
    write(&bench, "playbooks/team.toml", &SECURITY.replace("\"security\"", "\"team\""));
    commit(&bench.repository);
    let (status, problem) = bench.post("/api/runs", &security(&bench)).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_playbook")), "{problem}");
    assert!(problem["message"].as_str().unwrap().starts_with(".autonomous/playbooks/security.toml:11:"), "{problem}");
    let (_, all) = bench.get(&format!("/api/playbooks?project={}", bench.repository.display())).await;
    let lines: Vec<_> = all[6]["problems"].as_array().unwrap().iter().map(|one| one["line"].clone()).collect();
    assert_eq!(lines, [json!(11), json!(24), json!(27)], "{}", all[6]);
    assert_eq!(all[7]["problems"][0]["message"], "`team` is the name of a built-in playbook");
    assert_eq!(bench.post("/api/runs", &bench.new_run("linger")).await.0, StatusCode::CREATED);
    assert_eq!(bench.get("/api/playbooks?project=relative").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_can_close_gates_of_any_stage_and_open_none() {
    let bench = Bench::start().await;
    let open = SECURITY.replace("gate = \"trust.planning\"\n", "").replace("gate = \"manual\"\n", "");
    write(&bench, "playbooks/security.toml", &open);
    write(&bench, "config.json", &json!({"git": {"requireApprovalFor": ["security-review"]}}).to_string());
    commit(&bench.repository);
    let (status, run) = bench.post("/api/runs", &security(&bench)).await;
    assert_eq!(status, StatusCode::CREATED, "{run}");
    let id = run["id"].as_str().unwrap();
    let held = bench.wait(id, "awaiting_approval").await;
    assert_eq!(held["stage"], "planning");
    approve(&bench, &held).await;
    assert_eq!(bench.wait(id, "awaiting_approval").await["stage"], "security-review");

    write(&bench, "config.json", &json!({"git": {"requireApprovalFor": ["security-revue"]}}).to_string());
    commit(&bench.repository);
    let (status, problem) = bench.post("/api/runs", &security(&bench)).await;
    assert_eq!((status, &problem["code"]), (StatusCode::BAD_REQUEST, &json!("bad_project_config")), "{problem}");
    assert!(problem["message"].as_str().unwrap().contains("`security-revue`"), "{problem}");
}
