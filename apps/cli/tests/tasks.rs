//! `holdpoint task` against a server that answers from memory: what is sent, what is printed, how it ends.
#![expect(clippy::unwrap_used, reason = "what these helpers unwrap is made by the tests themselves")]

use std::fs;
use std::process::Output;
use std::sync::{Arc, Mutex};

use axum::extract::{Path as UrlPath, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};

/// What was asked, in order.
type Heard = Arc<Mutex<Vec<(String, Value)>>>;

const ID: &str = "0193f2-c4a1b2";

struct Fake {
    home: tempfile::TempDir,
    heard: Heard,
    _runtime: tokio::runtime::Runtime,
}

fn task(status: &str) -> Value {
    json!({"id": ID, "name": "add-login", "summary": "Implement login", "status": status, "mayBecome": ["cancelled"],
        "session": "active", "crashCount": 0, "reviewRound": 0, "project": "/p", "branch": "autonomous/x",
        "commit": "c".repeat(40), "createdAt": "2026-11-15T20:00:00Z", "updatedAt": "2026-11-15T20:00:00Z"})
}

fn problem(status: u16, code: &str) -> Response {
    let body = json!({"code": code, "message": "a task does not go from `reviewing` to `working`", "hint": "look"});
    (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
}

async fn act(State(heard): State<Heard>, UrlPath((id, action)): UrlPath<(String, String)>, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap_or(Value::Null);
    heard.lock().unwrap().push((format!("{id}/{action}"), body.clone()));
    match (action.as_str(), &body["force"], &body["status"]) {
        ("merge", Value::Bool(false), _) => problem(409, "not_reviewed"),
        ("update", _, Value::String(status)) if status == "working" => problem(400, "transition_refused"),
        _ => Json(task("working")).into_response(),
    }
}

async fn start(State(heard): State<Heard>, Json(body): Json<Value>) -> Response {
    heard.lock().unwrap().push(("start".to_owned(), body));
    let run = json!({"id": ID, "project": "/p", "request": "x", "playbook": "task", "status": "running", "stage": null,
        "branch": "b", "base": "main", "commit": null, "createdAt": "2026-11-15T20:00:00Z",
        "updatedAt": "2026-11-15T20:00:00Z", "completedAt": null, "clarificationCount": 0, "hold": null,
        "artifacts": [], "spend": {"usd": 0.0, "inputTokens": 0, "outputTokens": 0, "calls": 0}, "tier": null,
        "failure": null, "version": 3});
    (StatusCode::CREATED, Json(run)).into_response()
}

impl Fake {
    fn new() -> Self {
        let heard = Heard::default();
        let router = Router::new()
            .route("/healthz", get(|| async { "ok" }))
            .route("/api/runs", post(start))
            .route("/api/tasks", get(|| async { Json(json!([task("working"), task("stuck")])) }))
            .route("/api/tasks/{id}", get(|| async { Json(task("working")) }))
            .route("/api/tasks/{id}/{action}", post(act))
            .with_state(heard.clone());
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("token"), "secret\n").unwrap();
        let info = json!({"url": url, "pid": std::process::id(), "version": "0.1.0"});
        fs::write(home.path().join("server.json"), info.to_string()).unwrap();
        Self { home, heard, _runtime: runtime }
    }

    fn call(&self, arguments: &[&str]) -> Output {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_holdpoint"));
        command.env("HOLDPOINT_HOME", self.home.path()).env_remove("ORCHESTRATOR_PORT");
        command.arg("task").args(arguments).write_stdin("## Plan\n1. read\n").output().unwrap()
    }

    fn heard(&self) -> Vec<(String, Value)> {
        self.heard.lock().unwrap().clone()
    }
}

#[test]
fn a_task_is_created_with_its_name_and_its_context_from_standard_input() {
    let fake = Fake::new();
    let output = fake.call(&["create", "add-login", "Implement login form", "--context-file", "-", "--check", "true"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), format!("{ID}\n").as_bytes()));
    let (_, body) = fake.heard().remove(0);
    assert_eq!((&body["request"], &body["playbook"]), (&json!("Implement login form"), &json!("task")));
    assert_eq!(body["task"], json!({"name": "add-login", "context": "## Plan\n1. read\n"}));
    assert_eq!(body["checks"][0]["command"], "true");
    assert_eq!(fake.call(&["create"]).status.code(), Some(0), "a task may begin with nothing");
    assert_eq!(fake.heard()[1].1["task"], json!({}));
}

#[test]
fn a_refused_transition_ends_with_two_and_says_why() {
    let fake = Fake::new();
    let output = fake.call(&["update", "0193", "--status", "working", "--notes", "n"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("a task does not go from `reviewing` to `working`"), "{said}");
    assert_eq!(fake.heard(), [("0193/update".to_owned(), json!({"status": "working", "notes": "n"}))]);
}

#[test]
fn an_unreviewed_merge_without_a_terminal_needs_to_be_forced() {
    let fake = Fake::new();
    let output = fake.call(&["merge", "0193"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fake.call(&["merge", "0193", "--force", "--reason", "late"]).status.code(), Some(0));
    let (path, body) = fake.heard().remove(1);
    assert_eq!(path, format!("{ID}/merge"));
    assert_eq!(body, json!({"force": true, "reason": "late", "commit": "c".repeat(40)}), "bound to what was shown");
}

#[test]
fn every_command_prints_json_for_programs() {
    let fake = Fake::new();
    for arguments in [
        &["list", "--json"][..],
        &["show", "0193", "--json"],
        &["update", "0193", "--notes", "n", "--json"],
        &["complete", "0193", "--json"],
        &["create-pr", "0193", "--json"],
        &["respawn", "0193", "--json"],
        &["create", "do this now", "--json"],
    ] {
        let output = fake.call(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?} {}", String::from_utf8_lossy(&output.stderr));
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        let one = printed.as_array().map_or(&printed, |all| &all[0]);
        assert_eq!(one["session"], "active", "{arguments:?}");
    }
    let list = String::from_utf8(fake.call(&["list"]).stdout).unwrap();
    assert!(list.starts_with("● 0193f2") && list.contains("add-login: Implement login"), "{list}");
}
