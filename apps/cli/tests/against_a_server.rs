//! The binary against a server that answers from memory: exit codes, problems, digests, and what goes where.
#![expect(clippy::unwrap_used, reason = "what these helpers unwrap is made by the tests themselves")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Output,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::{Path as UrlPath, Query, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};

/// A run that is compared with the fake's own.
const OTHER: &str = "bbbbbb-000000";

/// What the fake was asked, in order.
type Heard = Arc<Mutex<Vec<(String, Value, HeaderMap)>>>;

struct Fake {
    home: tempfile::TempDir,
    heard: Heard,
    url: String,
    _runtime: tokio::runtime::Runtime,
}

#[derive(Clone)]
struct Answers {
    run: Value,
    heard: Heard,
}

impl Fake {
    fn new(run: Value) -> Self {
        let heard = Heard::default();
        let state = Answers { run, heard: heard.clone() };
        let router = Router::new()
            .route("/healthz", get(|| async { "ok" }))
            .route("/api/runs", get(runs).post(start))
            .route("/api/runs/batch", post(several))
            .route("/api/runs/variants", post(several))
            .route("/api/compare", get(compare))
            .route("/api/runs/{id}", get(show))
            .route("/api/runs/{id}/plan", get(plan))
            .route("/api/runs/{id}/events", get(events))
            .route("/api/runs/{id}/diff/files", get(changed_files))
            .route("/api/runs/{id}/why", get(why))
            .route("/api/runs/{id}/{action}", post(act))
            .route("/api/holds", get(holds))
            .route("/api/playbooks", get(playbooks))
            .route("/api/clarifications/{id}/answer", post(answer))
            .with_state(state);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, router).await.unwrap() });
        let fake = Self { home: tempfile::tempdir().unwrap(), heard, url, _runtime: runtime };
        fs::write(fake.path("token"), "secret\n").unwrap();
        fake.say_where(&fake.url);
        fake
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn say_where(&self, url: &str) {
        let info = json!({"url": url, "pid": std::process::id(), "version": "0.1.0"});
        fs::write(self.path("server.json"), info.to_string()).unwrap();
    }

    fn call(&self, arguments: &[&str]) -> Output {
        holdpoint(self.home.path()).args(arguments).output().unwrap()
    }

    fn heard(&self) -> Vec<(String, Value)> {
        self.heard.lock().unwrap().iter().map(|(path, body, _)| (path.clone(), body.clone())).collect()
    }
}

fn holdpoint(home: &Path) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_holdpoint"));
    command.env("HOLDPOINT_HOME", home).env_remove("NO_COLOR").env_remove("ORCHESTRATOR_PORT");
    command
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn run(status: &str) -> Value {
    json!({
        "id": "0193f2c4a1b2c3d4", "project": "/p", "request": "do \u{1b}]0;evil\u{7} it\u{202e}",
        "playbook": "autonomous", "status": status, "stage": "planning", "branch": "autonomous/x", "base": "main",
        "commit": null, "createdAt": "2026-11-15T20:00:00Z", "updatedAt": "2026-11-15T20:00:00Z",
        "completedAt": null, "clarificationCount": 0, "hold": null, "artifacts": [],
        "spend": {"usd": 0.0, "inputTokens": 0, "outputTokens": 0, "calls": 0}, "tier": null, "failure": null,
        "version": 3
    })
}

fn held(kind: &str, allowed: &[&str]) -> Value {
    let mut run = run(if kind == "clarification" { "awaiting_clarification" } else { "awaiting_approval" });
    run["hold"] = json!({
        "id": "0193f2c4a1b2c3d4.3", "run": "0193f2c4a1b2c3d4", "kind": kind, "stage": "planning",
        "since": "2026-11-15T20:00:00Z", "digest": "digest-1", "summary": "planning is done", "allowed": allowed,
        "question": "Which?", "options": ["Red", "Blue"], "responseType": "single_choice", "attemptNumber": 1
    });
    run
}

fn problem(status: u16, code: &str, message: &str) -> Response {
    let body = json!({"code": code, "message": message, "hint": "look again"});
    (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
}

/// Full id or any prefix of it, and only with the token.
fn refuse(answers: &Answers, id: &str, headers: &HeaderMap) -> Option<Response> {
    if headers.get("authorization").is_none_or(|token| token != "Bearer secret") {
        return Some(problem(401, "unauthorized", "the token is wrong"));
    }
    let known = answers.run["id"].as_str().unwrap().starts_with(id) || id == OTHER;
    (!known).then(|| problem(404, "no_such_run", &format!("there is no run `{id}`")))
}

async fn runs(State(answers): State<Answers>) -> Json<Value> {
    Json(json!([answers.run]))
}

async fn holds(State(answers): State<Answers>) -> Json<Value> {
    Json(json!([answers.run["hold"]]))
}

async fn playbooks(Query(asked): Query<std::collections::BTreeMap<String, String>>) -> Json<Value> {
    let problem = json!({"file": ".autonomous/playbooks/bad.toml", "line": 3, "key": "gate", "weight": "error",
        "message": "`x` is not a gate", "hint": "use `auto`"});
    Json(json!([
        {"name": "own", "description": asked["project"], "stages": ["one"], "roles": [], "steps": [],
            "file": ".autonomous/playbooks/own.toml", "diagram": "stateDiagram-v2\n    [*] --> s_one\n"},
        {"name": "bad", "description": "", "stages": [], "roles": [], "problems": [problem],
            "file": ".autonomous/playbooks/bad.toml"},
    ]))
}

async fn start(State(answers): State<Answers>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    answers.heard.lock().unwrap().push(("start".to_owned(), body, headers));
    (StatusCode::CREATED, Json(answers.run)).into_response()
}

/// Starts all but the last.
async fn several(State(answers): State<Answers>, headers: HeaderMap, Json(body): Json<Value>) -> Json<Value> {
    answers.heard.lock().unwrap().push(("several".to_owned(), body, headers));
    let problem = json!({"code": "bad_request", "message": "no", "hint": "look again"});
    Json(json!({"group": answers.run["id"], "items": [
        {"index": 1, "request": "add a", "run": answers.run["id"]}, {"index": 2, "request": "b", "problem": problem},
    ]}))
}

async fn compare(State(answers): State<Answers>) -> Json<Value> {
    let run = |id: &Value, hold: &Value| {
        json!({"id": id, "request": "add a", "status": "awaiting_approval", "tasks": 0, "files": ["a"], "added": 1,
            "deleted": 0, "checksPassed": 1, "checksFailed": 0, "usd": 0.5, "inputTokens": 1, "outputTokens": 1,
            "seconds": 5, "hold": hold})
    };
    let runs = [run(&answers.run["id"], &answers.run["hold"]), run(&json!(OTHER), &Value::Null)];
    Json(json!({"runs": runs, "common": ["a"], "pairs": []}))
}

async fn plan() -> Json<Value> {
    Json(json!({"summary": "s", "tasks": []}))
}

async fn show(State(answers): State<Answers>, UrlPath(id): UrlPath<String>, headers: HeaderMap) -> Response {
    refuse(&answers, &id, &headers).unwrap_or_else(|| Json(answers.run).into_response())
}

async fn events(State(answers): State<Answers>, UrlPath(id): UrlPath<String>, headers: HeaderMap) -> Response {
    let event = |sequence: u64| {
        json!({"run": answers.run["id"], "sequence": sequence, "type": "STAGE_STARTED",
            "timestamp": "2026-11-15T20:00:00Z", "payload": {"stage": "planning", "visit": 1}})
    };
    refuse(&answers, &id, &headers).unwrap_or_else(|| Json(json!([event(1), event(2)])).into_response())
}

/// A queued run waits behind others; any other goes on by itself.
async fn why(State(answers): State<Answers>, UrlPath(id): UrlPath<String>, headers: HeaderMap) -> Response {
    let mut why = json!({"run": answers.run["id"], "status": answers.run["status"], "waitsFor": "the agent",
        "since": "2026-11-15T20:00:00Z", "unblockedBy": ["it goes on by itself"]});
    if answers.run["status"] == "queued" {
        why["waitsFor"] = json!("5 of 5 runs of ada are active; 2 are ahead of it");
        why["queue"] = json!({"ahead": 2, "active": 5, "waiting": 0});
    }
    refuse(&answers, &id, &headers).unwrap_or_else(|| Json(why).into_response())
}

/// Two pages of one file each.
async fn changed_files(Query(query): Query<std::collections::BTreeMap<String, String>>) -> Json<Value> {
    let file = |path: &str, added: u64| json!({"id": "61", "path": path, "status": "M", "added": added, "deleted": 0, "content": "text"});
    let first = query.get("offset").is_none_or(|offset| offset == "0");
    let (files, next) =
        if first { (file("src/app.js", 12), json!(1)) } else { (file("src/auth\u{202e}.ts", 1), Value::Null) };
    let total = json!({"files": 2, "added": 13, "deleted": 0, "binary": 0});
    Json(json!({"base": "b", "head": "h", "total": total, "files": [files], "next": next}))
}

async fn act(
    State(answers): State<Answers>,
    UrlPath((id, action)): UrlPath<(String, String)>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    if let Some(refusal) = refuse(&answers, &id, &headers) {
        return refusal;
    }
    let stale = body.get("digest").is_some_and(|digest| digest != "digest-1");
    answers.heard.lock().unwrap().push((action, body, headers));
    if stale {
        return problem(409, "digest_changed", "what was shown has changed");
    }
    Json(answers.run).into_response()
}

async fn answer(
    State(answers): State<Answers>,
    UrlPath(id): UrlPath<String>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    answers.heard.lock().unwrap().push((format!("answer {id}"), body, headers));
    Json(answers.run).into_response()
}

#[test]
fn watching_ends_with_the_number_of_the_status() {
    for (status, number) in [("completed", 0), ("failed", 1), ("cancelled", 4)] {
        let output = Fake::new(run(status)).call(&["watch", "0193"]);
        assert_eq!(output.status.code(), Some(number), "{status}: {}", said(&output.stderr));
    }
}

#[test]
fn watching_a_held_run_without_a_terminal_says_how_to_decide() {
    let output = Fake::new(held("approval", &["approve", "cancel"])).call(&["watch", "0193"]);
    assert_eq!(output.status.code(), Some(3));
    let told = said(&output.stderr);
    assert!(told.contains("holdpoint approve 0193f2c4") && told.contains("holdpoint cancel 0193f2c4"), "{told}");
    assert!(!told.contains("reject"), "{told}");
}

#[test]
fn a_new_run_is_accepted_with_what_was_said() {
    let fake = Fake::new(run("queued"));
    let output = fake.call(&[
        "run",
        "add",
        "search",
        "--trust",
        "planning=manual,fixes=auto",
        "--budget",
        "2",
        "--priority",
        "low",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["id"], "0193f2c4a1b2c3d4");
    let (_, body) = fake.heard().remove(0);
    assert_eq!(body["request"], "add search");
    assert_eq!(body["trust"], json!({"planning": "manual", "fixes": "auto"}));
    assert_eq!((&body["budgetUsd"], &body["priority"]), (&json!(2.0), &json!("low")));
}

#[test]
fn a_queued_run_is_shown_as_one_and_says_what_it_waits_for() {
    let fake = Fake::new(run("queued"));
    let reason = "5 of 5 runs of ada are active; 2 are ahead of it";
    let output = fake.call(&["why", "0193"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let told = said(&output.stdout);
    assert!(told.starts_with(&format!("{reason} (queued)\nsince ")) && told.contains("→ it goes on"), "{told}");
    assert!(said(&fake.call(&["list"]).stdout).contains("queued"));
    let told = said(&fake.call(&["run", "add", "search"]).stderr);
    assert_eq!(told, format!("queued: {reason}; follow it with `holdpoint watch 0193f2c4`\n"));
    assert_eq!(fake.call(&["run", "add", "search", "--priority", "urgent"]).status.code(), Some(2));
}

#[test]
fn a_yes_is_bound_to_the_digest_that_was_fetched() {
    let fake = Fake::new(held("approval", &["approve"]));
    let output = fake.call(&["approve", "0193", "--notes", "go"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    assert_eq!(fake.heard(), [("approve".to_owned(), json!({"digest": "digest-1", "notes": "go"}))]);
    assert!(said(&output.stderr).contains("planning is done"));
    assert_eq!(fake.heard.lock().unwrap()[0].2["holdpoint-channel"], "cli");
}

#[test]
fn a_yes_for_another_digest_is_refused_by_the_server() {
    let fake = Fake::new(held("approval", &["approve"]));
    let output = fake.call(&["approve", "0193", "--digest", "digest-0"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fake.heard()[0].1["digest"], "digest-0");
    assert!(said(&output.stderr).contains("error: what was shown has changed\nhint: look again\n"));
}

#[test]
fn an_option_is_answered_by_number_to_exactly_this_question() {
    let fake = Fake::new(held("clarification", &["answer", "ignore", "cancel"]));
    let output = fake.call(&["answer", "0193", "2"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let expected = json!({"answer": ["Blue"], "digest": "digest-1"});
    assert_eq!(fake.heard(), [("answer 0193f2c4a1b2c3d4.3".to_owned(), expected)]);
    assert_eq!(fake.call(&["answer", "0193", "Green"]).status.code(), Some(2));
}

#[test]
fn a_decision_the_hold_does_not_take_is_not_sent() {
    let fake = Fake::new(held("approval", &["approve"]));
    let output = fake.call(&["decide", "0193", "extend", "--minutes", "5"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output.stderr).contains("it takes: approve"));
    assert!(fake.heard().is_empty());
}

#[test]
fn a_plan_is_printed_for_editing_and_handed_in_from_a_file() {
    let mut run = held("approval", &["approve", "modify_plan", "ask"]);
    let made = json!({"type": "plan", "stage": "planning", "version": 1, "path": "p", "commit": "c", "digest": "d",
        "title": "t", "files": [], "createdAt": "2026-11-15T20:00:00Z"});
    run["artifacts"] = json!([made]);
    run["hold"]["artifact"] = made;
    let fake = Fake::new(run);
    let printed = fake.call(&["plan", "0193"]);
    assert_eq!(serde_json::from_slice::<Value>(&printed.stdout).unwrap(), json!({"summary": "s", "tasks": []}));
    fs::write(fake.path("plan.json"), &printed.stdout).unwrap();
    let file = fake.path("plan.json").display().to_string();
    let output = fake.call(&["decide", "0193", "modify-plan", "--file", &file]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let (action, body) = fake.heard().remove(0);
    assert_eq!((action.as_str(), &body["decision"]), ("decide", &json!("modify_plan")));
    assert_eq!(body["text"].as_str().unwrap().as_bytes(), printed.stdout);
    let output = fake.call(&["decide", "0193", "modify_plan", "--edit"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output.stderr).contains("no terminal"), "{}", said(&output.stderr));
    assert_eq!(fake.call(&["decide", "0193", "modify_plan", "--file", "/nonexistent"]).status.code(), Some(2));
    assert_eq!(fake.heard().len(), 1);
}

#[test]
fn a_run_is_paused_resumed_and_put_right() {
    let fake = Fake::new(held("paused", &["resume", "cancel"]));
    for arguments in [
        &["pause", "0193", "--reason", "lunch"][..],
        &["resume", "0193"],
        &["overturn", "0193", "2", "use", "blue"],
        &["run", "x", "--agents", "2", "--on-failure", "stop", "--autonomous", "--review", "--pr"],
    ] {
        let output = fake.call(arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", said(&output.stderr));
    }
    let mut heard = fake.heard();
    let (_, started) = heard.pop().unwrap();
    let expected = [
        ("pause".to_owned(), json!({"reason": "lunch"})),
        ("resume".to_owned(), json!({"digest": "digest-1"})),
        ("overturn".to_owned(), json!({"assumption": 2, "answer": ["use blue"]})),
    ];
    assert_eq!(heard, expected);
    assert_eq!((&started["playbook"], &started["agents"]), (&json!("goal"), &json!(2)));
    assert_eq!(
        (&started["onFailure"], &started["review"], &started["createPr"]),
        (&json!("stop"), &json!(true), &json!(true))
    );
    assert_eq!(fake.call(&["run", "x", "--autonomous", "--playbook", "team"]).status.code(), Some(2));
    assert_eq!(fake.call(&["run", "x", "--on-failure", "explode"]).status.code(), Some(2));
}

#[test]
fn a_batch_is_read_from_standard_input_and_tells_what_was_not_started() {
    let fake = Fake::new(run("completed"));
    let list = "# two\n\nadd a\nadd b\n";
    let mut command = holdpoint(fake.home.path());
    let output = command.args(["run", "--batch", "-", "--agents", "2"]).write_stdin(list).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output.stderr));
    let table = said(&output.stdout);
    assert!(table.contains("0193f2c4") && table.contains("not started: no"), "{table}");
    let (_, body) = fake.heard().remove(0);
    let requests: Vec<&Value> = body["runs"].as_array().unwrap().iter().map(|run| &run["request"]).collect();
    assert_eq!((requests, &body["runs"][1]["agents"]), (vec![&json!("add a"), &json!("add b")], &json!(2)));
    let mut command = holdpoint(fake.home.path());
    command.args(["run", "--batch", "-"]).write_stdin("# nothing\n").assert().code(2);
    let mut command = holdpoint(fake.home.path());
    command.args(["run", "--batch", "-"]).write_stdin("[{\"request\": 7}]").assert().code(2);
    assert_eq!(fake.call(&["run", "--batch", "/nonexistent"]).status.code(), Some(2));
    assert_eq!(fake.heard().len(), 1);
}

#[test]
fn variants_carry_the_persons_approaches() {
    let fake = Fake::new(run("completed"));
    let output = fake.call(&["run", "add a", "--variants", "3", "--variant", "with a table", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output.stderr));
    let (_, body) = fake.heard().remove(0);
    assert_eq!((&body["count"], &body["approaches"]), (&json!(3), &json!(["with a table"])));
    assert_eq!(body["run"]["request"], "add a");
}

#[test]
fn adopting_a_run_approves_it_first_and_asks_before() {
    let fake = Fake::new(held("review", &["approve", "create_pr", "cancel"]));
    assert_eq!(fake.call(&["compare", "0193", OTHER]).status.code(), Some(0));
    let output = fake.call(&["compare", "0193", OTHER, "--adopt", "0193"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output.stderr));
    assert!(fake.heard().is_empty(), "nobody said yes");
    assert_eq!(fake.call(&["compare", "0193", OTHER, "--adopt", OTHER, "--yes"]).status.code(), Some(1));
    assert_eq!(fake.call(&["compare", "0193", OTHER, "--adopt", "zzz", "--yes"]).status.code(), Some(2));
    assert!(fake.heard().is_empty(), "only what waits for its review can be adopted");
    let output = fake.call(&["compare", "0193", OTHER, "--adopt", "0193", "--yes"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output.stderr));
    let heard = fake.heard();
    assert_eq!(heard[0], ("approve".to_owned(), json!({"digest": "digest-1"})));
    assert_eq!(heard[1].0, "cancel");
    assert!(heard[1].1["reason"].as_str().unwrap().contains("0193f2c4"), "{heard:?}");
}

#[test]
fn a_yes_that_comes_too_late_cancels_nothing() {
    let mut run = held("review", &["approve", "cancel"]);
    run["hold"]["digest"] = json!("digest-0");
    let fake = Fake::new(run);
    let output = fake.call(&["compare", "0193", OTHER, "--adopt", "0193", "--yes"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output.stderr).contains("what was shown has changed"), "{}", said(&output.stderr));
    assert_eq!(fake.heard().len(), 1, "only the yes was sent");
}

#[test]
fn named_steps_are_printed_one_per_line() {
    let mut run = run("completed");
    let step =
        |step: &str, task: Value| json!({"step": step, "at": "2026-11-15T20:00:00Z", "task": task, "detail": "x"});
    run["checkpoints"] = json!([step("QUEUED", Value::Null), step("SUBTASK_TESTING", json!("api"))]);
    let fake = Fake::new(run);
    let printed = said(&fake.call(&["events", "0193", "--steps"]).stdout);
    assert_eq!(printed, "20:00:00 QUEUED               x\n20:00:00 SUBTASK_TESTING      api: x\n");
    let lines = said(&fake.call(&["events", "0193", "--steps", "--json"]).stdout);
    assert_eq!(lines.lines().count(), 2);
}

#[test]
fn problems_of_the_server_decide_the_exit_code() {
    let fake = Fake::new(run("running"));
    assert_eq!(fake.call(&["show", "ffff"]).status.code(), Some(2));
    fs::write(fake.path("token"), "wrong").unwrap();
    let output = fake.call(&["show", "0193", "--json"]);
    assert_eq!(output.status.code(), Some(5));
    assert!(output.stdout.is_empty());
    let problem: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(problem["code"], "unauthorized");
}

#[test]
fn json_is_the_only_thing_on_standard_output() {
    let fake = Fake::new(held("approval", &["approve"]));
    for (arguments, is_array) in [
        (&["list", "--json"][..], true),
        (&["inbox", "--json"], true),
        (&["show", "0193", "--json"], false),
        (&["watch", "0193", "--json"], false),
        (&["approve", "0193", "--json"], false),
    ] {
        let output = fake.call(arguments);
        let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(printed.is_array(), is_array, "{arguments:?}");
        assert!(!said(&output.stdout).contains(['\u{202e}', '\u{1b}']), "{arguments:?}");
    }
    let output = fake.call(&["events", "0193", "--json"]);
    let lines: Vec<Value> = said(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["sequence"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn hostile_text_never_reaches_the_terminal() {
    let fake = Fake::new(run("running"));
    for arguments in [&["show", "0193"][..], &["list"]] {
        let printed = said(&fake.call(arguments).stdout);
        assert!(printed.contains("do \u{fffd}]0;evil\u{fffd} it\u{fffd}"), "{printed}");
        assert!(!printed.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{printed}");
    }
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [&["frobnicate"][..], &["run"], &["run", "x", "--trust", "planning"], &["answer", "a"]] {
        holdpoint(home.path()).args(arguments).assert().code(2);
    }
    holdpoint(home.path()).args(["run", "  "]).assert().code(2);
    assert!(fs::read_dir(home.path()).unwrap().next().is_none(), "nothing was started");
}

#[test]
fn completions_are_printed_for_a_shell() {
    let output = holdpoint(Path::new("/nonexistent")).args(["completions", "bash"]).output().unwrap();
    assert!(said(&output.stdout).contains("_holdpoint"));
}

#[test]
fn doctor_shows_settings_with_their_source_and_no_secret() {
    let home = tempfile::tempdir().unwrap();
    let output = holdpoint(home.path())
        .args(["doctor", "--json"])
        .env("OPENAI_API_KEY", "sk-very-secret")
        .env("DEFAULT_AUTO_MERGE", "true")
        .output()
        .unwrap();
    let text = said(&output.stdout);
    assert!(!text.contains("sk-very-secret") && text.contains("OPENAI_API_KEY"), "{text}");
    let checkup: Value = serde_json::from_str(&text).unwrap();
    let settings = checkup["settings"].as_array().unwrap();
    let merge = settings.iter().find(|setting| setting["name"] == "DEFAULT_AUTO_MERGE").unwrap();
    assert_eq!((&merge["value"], &merge["source"]), (&json!("true"), &json!("environment")));
}

#[test]
fn a_read_only_data_directory_is_told_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    fs::write(&blocked, "").unwrap();
    fs::set_permissions(&blocked, fs::Permissions::from_mode(0o400)).unwrap();
    let output = holdpoint(&blocked.join("home")).args(["list"]).output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(said(&output.stderr).contains("hint: "), "{}", said(&output.stderr));
}

#[test]
fn a_projects_own_playbooks_come_from_the_server() {
    let fake = Fake::new(run("running"));
    let project = fake.path("project");
    fs::create_dir_all(project.join(".git")).unwrap();
    let repo = project.to_str().unwrap();
    let list = said(&fake.call(&["playbook", "list", "--repo", repo, "--json"]).stdout);
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list[0]["description"], project.canonicalize().unwrap().to_str().unwrap());
    let list = said(&fake.call(&["playbook", "list", "--repo", repo]).stdout);
    assert!(list.contains("own") && list.contains("cannot"), "{list}");
    let drawn = fake.call(&["playbook", "draw", "own", "--repo", repo]);
    assert_eq!(drawn.status.code(), Some(0), "{}", said(&drawn.stderr));
    assert!(said(&drawn.stdout).contains("s_one"));
    let bad = fake.call(&["playbook", "show", "bad", "--repo", repo]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(said(&bad.stderr).contains(".autonomous/playbooks/bad.toml:3: `x` is not a gate"));
}

#[test]
fn a_yes_to_code_lists_every_file_with_true_counts_before_it_is_sent() {
    for words in
        [["merge", "0193"].as_slice(), &["pr", "0193"], &["approve", "0193", "--yes"], &["decide", "0193", "create-pr"]]
    {
        let fake = Fake::new(held("review", &["approve", "create_pr", "cancel"]));
        let output = fake.call(words);
        let told = said(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {told}");
        assert!(told.contains("M src/app.js") && told.contains("+12 −0"), "{words:?}: {told}");
        assert!(told.contains("src/auth\\u{202e}.ts") && told.contains("2 files, +13 −0"), "{words:?}: {told}");
    }
    // A no needs no list.
    let fake = Fake::new(held("review", &["approve", "reject"]));
    assert!(!said(&fake.call(&["reject", "0193", "smaller"]).stderr).contains("src/app.js"));
}
