//! Pull requests: a branch in a bare repository, and an API on loopback that keeps what was opened.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::extract::{Path as Route, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tests::product::Product;
use tests::world::{World, git};
use tokio::sync::Notify;

use crate::upstream::everything_below;

const TOKEN: &str = "ghp_a-secret-that-must-not-be-kept";
/// Of a classic token that can do much.
const SCOPES: (&str, &str) = ("x-oauth-scopes", "delete_repo, repo, workflow");
const REMOTE: &str = "https://github.com/o/r.git";

const STORY: &str = r##"
[[conversation]]
role = "planner"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "submit_plan"
input = { title = "A warm note", body = "# A warm note\n\n```mermaid\nflowchart TD\n  A[Ask] --> B[Note]\n```\n" }

[[conversation]]
role = "implementer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "note.txt", content = "hello\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_pulse"
input = { summary = "A note is there" }

[[conversation]]
role = "validator"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "complete_review"
input = { verdict = "pass", summary = "It is warm" }
"##;

/// How the API meets the next request to open one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mood {
    Opens,
    Refuses,
    /// Opens it, but the answer never comes.
    OpensInSilence,
}

/// The API of one repository on a host.
#[derive(Clone)]
struct Host {
    url: String,
    mood: Arc<Mutex<Mood>>,
    pulls: Arc<Mutex<Vec<Value>>>,
    strangers: Arc<Mutex<u32>>,
    opened: Arc<Notify>,
}

impl Host {
    async fn start(mood: Mood) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mood = Arc::new(Mutex::new(mood));
        let host = Self { url, mood, pulls: Arc::default(), strangers: Arc::default(), opened: Arc::default() };
        let routes = Router::new().route("/repos/{owner}/{name}/pulls", get(list).post(open)).with_state(host.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await });
        host
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let set = [("GITHUB_API_URL", self.url.as_str()), ("GITHUB_TOKEN", TOKEN), ("HOLDPOINT_LOG", "trace")];
        set.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    fn pulls(&self) -> Vec<Value> {
        self.pulls.lock().unwrap().clone()
    }

    fn turn(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn check(&self, route: &(String, String), headers: &HeaderMap) {
        let key = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        if key != Some(&format!("Bearer {TOKEN}")) || *route != ("o".to_owned(), "r".to_owned()) {
            *self.strangers.lock().unwrap() += 1;
        }
    }
}

async fn list(
    State(host): State<Host>,
    Route(route): Route<(String, String)>,
    headers: HeaderMap,
) -> ([(&'static str, &'static str); 1], Json<Value>) {
    host.check(&route, &headers);
    ([SCOPES], Json(Value::Array(host.pulls())))
}

async fn open(
    State(host): State<Host>,
    Route(route): Route<(String, String)>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> (StatusCode, Json<Value>) {
    host.check(&route, &headers);
    let mood = *host.mood.lock().unwrap();
    if mood == Mood::Refuses {
        let message = "Resource not accessible by personal access token";
        return (StatusCode::FORBIDDEN, Json(json!({"message": message})));
    }
    let pull = {
        let mut pulls = host.pulls.lock().unwrap();
        let repository = json!({"full_name": "o/r"});
        let number = pulls.len() + 1;
        pulls.push(json!({
            "number": number, "html_url": format!("https://github.com/o/r/pull/{number}"), "state": "open",
            "title": body["title"], "body": body["body"],
            "head": {"ref": body["head"], "repo": repository}, "base": {"ref": body["base"], "repo": repository},
        }));
        pulls[number - 1].clone()
    };
    host.opened.notify_one();
    if mood == Mood::OpensInSilence {
        std::future::pending::<()>().await;
    }
    (StatusCode::CREATED, Json(pull))
}

/// A project whose remote is on the host, and in truth a bare repository beside it.
fn project() -> (World, PathBuf) {
    project_with(STORY)
}

fn project_with(story: &str) -> (World, PathBuf) {
    let world = World::new(story).unwrap();
    let bare = world.outside().join("remote.git");
    git(world.outside(), &["init", "--quiet", "--bare", "remote.git"]).unwrap();
    world.git(&["remote", "add", "origin", REMOTE]).unwrap();
    world.git(&["config", &format!("url.{}.insteadOf", bare.display()), REMOTE]).unwrap();
    (world, bare)
}

fn body(world: &World) -> Value {
    json!({
        "project": world.repository(), "request": "Leave a note",
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"},
        "models": {"*": "scripted/story"}, "checks": [{"name": "there", "command": "test -s note.txt"}],
    })
}

fn settled(view: &Value) -> bool {
    view["completedAt"].is_string() || view["hold"].is_object()
}

fn log_of(world: &World) -> PathBuf {
    world.outside().join("server.log")
}

/// A server that logs all it can into a file beside its data directory.
async fn start(world: &World, host: &Host) -> Product {
    let log = std::fs::OpenOptions::new().create(true).append(true).open(log_of(world)).unwrap();
    Product::start_logging_to(Stdio::from(log), &world.home(), &host.environment()).await.unwrap()
}

/// The run ended with its one pull request, which says what was done; nobody but its API has seen the token.
async fn one_pull_request(world: &World, bare: &Path, host: &Host, product: Product, id: &str) {
    let view = product.until(id, settled).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    let (_, view) = product.get(&format!("/api/runs/{id}")).await.unwrap();
    assert_eq!(view["pullRequest"], "https://github.com/o/r/pull/1", "{view}");
    let (_, events) = product.get(&format!("/api/runs/{id}/events")).await.unwrap();
    let opened = events.as_array().unwrap().iter().filter(|event| event["type"] == "PR_OPENED").count();
    assert_eq!(opened, 1, "{events}");

    let pulls = host.pulls();
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    let (pull, branch) = (&pulls[0], view["branch"].as_str().unwrap());
    assert_eq!((&pull["head"]["ref"], &pull["base"]["ref"]), (&json!(branch), &json!("main")));
    assert_eq!(pull["title"], "A warm note");
    let text = pull["body"].as_str().unwrap();
    for words in ["> Leave a note", "It is warm", "there", id] {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
    assert_eq!(*host.strangers.lock().unwrap(), 0, "requests without the token, or to another repository");
    assert_eq!(git(bare, &["show", &format!("{branch}:note.txt")]).unwrap(), "hello");
    assert_eq!(git(bare, &["for-each-ref", "--format=%(refname)"]).unwrap(), format!("refs/heads/{branch}"));
    assert_eq!(world.git(&["rev-list", "--count", "main"]).unwrap(), "1", "it is not merged as well");

    product.stop().await.unwrap();
    let logged = std::fs::read_to_string(log_of(world)).unwrap();
    let warned = logged.lines().filter(|line| line.contains("GITHUB_TOKEN can do more than pull requests need"));
    let warned: Vec<&str> = warned.collect();
    assert!(warned.len() == 1 && warned[0].contains("delete_repo, workflow"), "{warned:?}");
    let told = server::Told::read(&world.home(), &host.environment()).unwrap();
    let findings = server::findings(&world.home(), &told);
    let finding = findings.iter().find(|finding| finding.name == "github").unwrap();
    assert!(finding.value.contains("github.com") && finding.value.contains("delete_repo, workflow"), "{finding:?}");
    assert!(finding.fix.as_ref().unwrap().contains("fine-grained"));
    assert!(logged.contains("TRACE") && logged.contains("push --porcelain"), "the log says what git is told: {logged}");
    let kept = everything_below(world.outside());
    assert!(kept.contains("PR_OPENED") && !kept.contains(TOKEN), "the token lies on the disk");
    let committed = git(bare, &["log", "--patch", "--format=raw", "--all"]).unwrap();
    assert!(committed.contains("It is warm") && !committed.contains(TOKEN), "the token is committed");
}

#[tokio::test]
async fn a_run_that_shall_be_a_pull_request_pushes_its_branch_and_opens_one() {
    let ((world, bare), host) = (project(), Host::start(Mood::Opens).await);
    let product = start(&world, &host).await;
    let mut body = body(&world);
    body["createPr"] = json!(true);
    let run = product.run(None, &body).await.unwrap();
    let id = run["id"].as_str().unwrap();
    one_pull_request(&world, &bare, &host, product, id).await;
}

#[tokio::test]
async fn a_server_killed_while_the_pull_request_is_opened_finds_it_and_opens_no_second() {
    let ((world, bare), host) = (project(), Host::start(Mood::OpensInSilence).await);
    let product = start(&world, &host).await;
    let mut body = body(&world);
    body["createPr"] = json!(true);
    let run = product.run(None, &body).await.unwrap();
    host.opened.notified().await;
    product.kill().await.unwrap();
    host.turn(Mood::Opens);
    let product = start(&world, &host).await;
    one_pull_request(&world, &bare, &host, product, run["id"].as_str().unwrap()).await;
}

#[tokio::test]
async fn a_refused_pull_request_waits_with_the_reason_and_a_retry_opens_it() {
    let ((world, bare), host) = (project(), Host::start(Mood::Refuses).await);
    let product = start(&world, &host).await;
    let mut body = body(&world);
    body["review"] = json!(true);
    let run = product.run(None, &body).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let view = product.until(id, settled).await.unwrap();
    assert_eq!(view["hold"]["kind"], "review", "{view}");
    let (status, answer) = product.decide(&view, &json!({"decision": "create_pr"})).await.unwrap();
    assert_eq!(status, 200, "{answer}");

    let view = product.until(id, |view| settled(view) && view["hold"]["kind"] != "review").await.unwrap();
    assert_eq!((&view["hold"]["kind"], &view["status"]), (&json!("credentials"), &json!("stuck")), "{view}");
    let summary = view["hold"]["summary"].as_str().unwrap();
    for words in ["the pull request could not be opened", "o/r", "github.com", "Resource not accessible"] {
        assert!(summary.contains(words), "`{words}` is not in {summary}");
    }
    host.turn(Mood::Opens);
    let (status, answer) = product.decide(&view, &json!({"decision": "retry"})).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    product.until(id, |view| view["completedAt"].is_string()).await.unwrap();
    one_pull_request(&world, &bare, &host, product, id).await;
}

#[tokio::test]
async fn a_pull_request_holds_no_secret_and_no_path_of_this_machine() {
    // Looks like a key of AWS and is none; put together here, so that no scanner takes this file for a leak.
    let vendors = ["AK", "IA", "Q7ZT2LW4XC3VB5NM"].concat();
    // `GITHUB_TOKEN` as it stands in base64.
    let wrapped = "Z2hwX2Etc2VjcmV0LXRoYXQtbXVzdC1ub3QtYmUta2VwdA==";
    let story = STORY
        .replace("title = \"A warm note\"", &format!("title = \"A note for {TOKEN}\""))
        .replace("A note is there", &format!("A note is there, with {vendors}"))
        .replace("It is warm", &format!("It is warm, see PATH/src and {wrapped}"));
    let (world, _bare) = project_with(&story);
    let path = world.repository().display().to_string();
    let script = world.home().join("scripts/story.toml");
    std::fs::write(&script, story.replace("PATH", &path)).unwrap();
    let host = Host::start(Mood::Opens).await;
    let product = start(&world, &host).await;
    let mut body = body(&world);
    body["createPr"] = json!(true);
    body["request"] = json!(format!("{vendors} goes into the note\nas {path}/note.txt says"));
    let run = product.run(None, &body).await.unwrap();
    let view = product.until(run["id"].as_str().unwrap(), settled).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    let sent = host.pulls()[0].to_string();
    for marked in ["A note for [redacted: GITHUB_TOKEN]", "[redacted: AWS", "<project>/src", "<project>/note.txt"] {
        assert!(sent.contains(marked), "`{marked}` is not in {sent}");
    }
    for secret in [vendors.as_str(), TOKEN, wrapped, &path, &world.outside().display().to_string()] {
        assert!(!sent.to_lowercase().contains(&secret.to_lowercase()), "`{secret}` is in {sent}");
    }
    product.stop().await.unwrap();
}
