//! Pull requests, against an API on loopback that plays a list of answers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

#[expect(dead_code, reason = "each test file uses its own part of it")]
mod git_support;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use git_support::{World, branch, commit_all, write};
use runner::forge::{Forge, ForgeError, NewPull, Origin, Pull, pull_request_template};
use serde_json::{Value, json};

const TOKEN: &str = "ghp_s3cret";
const MARKER: &str = "<!-- holdpoint: r1/9 -->";

struct Play {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

fn play(status: u16, body: &Value) -> Play {
    Play { status, headers: Vec::new(), body: body.to_string() }
}

#[derive(Clone)]
struct Seen {
    method: String,
    uri: String,
    headers: HeaderMap,
    body: Value,
}

#[derive(Clone)]
struct Fake {
    url: String,
    plays: Arc<Mutex<VecDeque<Play>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Fake {
    async fn start(plays: Vec<Play>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api/v3/", listener.local_addr().unwrap());
        let fake = Self { url, plays: Arc::new(Mutex::new(plays.into())), seen: Arc::default() };
        let app = Router::new().fallback(serve).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        fake
    }

    fn forge(&self) -> Forge {
        Forge::for_remote("git@github.com:o/r.git", Some(TOKEN.to_owned()), Some(self.url.clone())).unwrap()
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    fn methods(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.method).collect()
    }
}

async fn serve(State(fake): State<Fake>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    fake.seen.lock().unwrap().push(Seen {
        method: parts.method.to_string(),
        uri: parts.uri.to_string(),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    });
    let play = fake.plays.lock().unwrap().pop_front().expect("a request too many");
    let mut response = Response::builder().status(play.status);
    for (name, value) in play.headers {
        response = response.header(name, value);
    }
    response.body(Body::from(play.body)).unwrap()
}

fn new() -> NewPull {
    NewPull {
        head: "autonomous/1f-login".to_owned(),
        base: "main".to_owned(),
        title: "Add login".to_owned(),
        body: format!("{MARKER}\n\nWhat it does."),
        marker: MARKER.to_owned(),
        draft: true,
    }
}

fn listed(number: u64, body: &str) -> Value {
    json!({
        "number": number,
        "html_url": format!("https://github.com/o/r/pull/{number}"),
        "state": "open",
        "body": body,
        "head": {"ref": "autonomous/1f-login", "repo": {"full_name": "O/r"}},
        "base": {"ref": "main", "repo": {"full_name": "O/r"}},
    })
}

/// The same with one field set: `state`, `head.ref`, …
fn with(mut pull: Value, pointer: &str, value: Value) -> Value {
    *pull.pointer_mut(pointer).unwrap() = value;
    pull
}

fn pull(number: u64, origin: Origin) -> Pull {
    Pull { number, url: format!("https://github.com/o/r/pull/{number}"), origin }
}

#[tokio::test]
async fn a_pull_request_is_opened_where_there_is_none() {
    let fake = Fake::start(vec![play(200, &json!([])), play(201, &listed(7, ""))]).await;
    let opened = fake.forge().open_pull_request(&new()).await.unwrap();
    assert_eq!(opened, pull(7, Origin::Opened));
    let seen = fake.seen();
    assert_eq!(fake.methods(), ["GET", "POST"]);
    assert_eq!(seen[0].uri, "/api/v3/repos/o/r/pulls?head=o%3Aautonomous%2F1f-login&state=all&per_page=100");
    assert_eq!(seen[1].uri, "/api/v3/repos/o/r/pulls");
    assert_eq!(
        seen[1].body,
        json!({"title": "Add login", "head": "autonomous/1f-login", "base": "main", "body": new().body, "draft": true})
    );
    for request in seen {
        assert_eq!(request.headers["authorization"], format!("Bearer {TOKEN}"));
        assert_eq!(request.headers["accept"], "application/vnd.github+json");
        assert_eq!(request.headers["x-github-api-version"], "2022-11-28");
        assert!(request.headers["user-agent"].to_str().unwrap().starts_with("holdpoint/"));
    }
}

#[tokio::test]
async fn the_marker_is_put_into_a_body_without_it_and_a_title_into_one_line() {
    let fake = Fake::start(vec![play(200, &json!([])), play(201, &listed(7, ""))]).await;
    let title = format!("Add\nlogin {}", "x".repeat(300));
    let request = NewPull { title, body: "What it does.".to_owned(), draft: false, ..new() };
    fake.forge().open_pull_request(&request).await.unwrap();
    let sent = &fake.seen()[1].body;
    assert_eq!(sent["body"], format!("{MARKER}\n\nWhat it does."));
    let title = sent["title"].as_str().unwrap();
    assert!(title.starts_with("Add login x") && title.chars().count() == 256, "{title}");
}

#[track_caller]
fn found(existing: &[Value]) -> Option<Pull> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let fake = Fake::start(vec![play(200, &json!(existing)), play(201, &listed(99, ""))]).await;
        let answer = fake.forge().open_pull_request(&new()).await.unwrap();
        (fake.methods() == ["GET"]).then_some(answer)
    })
}

#[test]
fn a_pull_request_that_is_there_is_found_again() {
    let ours = listed(3, &format!("{MARKER}\n\nedited by a person"));
    let theirs = listed(4, "by hand");
    assert_eq!(found(&[theirs.clone(), ours.clone()]), Some(pull(3, Origin::OpenedBefore)));
    assert_eq!(found(std::slice::from_ref(&theirs)), Some(pull(4, Origin::Adopted)));
    assert_eq!(found(&[with(theirs.clone(), "/body", Value::Null)]), Some(pull(4, Origin::Adopted)));
    let closed = with(ours.clone(), "/state", json!("closed"));
    assert_eq!(found(&[closed]), Some(pull(3, Origin::OpenedBefore)));
    let retargeted = with(ours, "/base/ref", json!("develop"));
    assert_eq!(found(&[retargeted]), Some(pull(3, Origin::OpenedBefore)));
}

#[test]
fn pull_requests_of_others_are_not_taken_for_this_one() {
    let ours = listed(3, MARKER);
    let theirs = listed(4, "by hand");
    for other in [
        with(theirs.clone(), "/state", json!("closed")),
        with(theirs, "/base/ref", json!("develop")),
        with(ours.clone(), "/head/ref", json!("another")),
        with(ours.clone(), "/head/repo/full_name", json!("fork/r")),
        with(ours, "/head/repo", Value::Null),
    ] {
        assert_eq!(found(std::slice::from_ref(&other)), None, "{other}");
    }
}

#[test]
fn an_empty_marker_makes_no_pull_request_ours() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let fake = Fake::start(vec![play(200, &json!([listed(4, "by hand")]))]).await;
        let request = NewPull { marker: String::new(), ..new() };
        let answer = fake.forge().open_pull_request(&request).await.unwrap();
        assert_eq!(answer, pull(4, Origin::Adopted));
    });
}

fn refused(message: &str) -> Play {
    let error = json!({"resource": "PullRequest", "code": "custom", "message": message});
    play(422, &json!({"message": "Validation Failed", "errors": [error, {"field": "base", "code": "invalid"}, "x"]}))
}

#[tokio::test]
async fn a_pull_request_that_somebody_opened_just_now_is_adopted() {
    let exists = refused("A pull request already exists for o:autonomous/1f-login.");
    let fake = Fake::start(vec![play(200, &json!([])), exists, play(200, &json!([listed(5, MARKER)]))]).await;
    let answer = fake.forge().open_pull_request(&new()).await.unwrap();
    assert_eq!(answer, pull(5, Origin::OpenedBefore));
    assert_eq!(fake.methods(), ["GET", "POST", "GET"]);
}

#[tokio::test]
async fn a_refusal_is_told_with_its_reasons() {
    let no_commits = refused("No commits between main and x");
    let fake = Fake::start(vec![play(200, &json!([])), no_commits, play(200, &json!([]))]).await;
    let error = fake.forge().open_pull_request(&new()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`github.com` refused the pull request: Validation Failed; No commits between main and x; `base` is invalid; x"
    );
}

async fn answered(status: u16, headers: &[(&'static str, &str)], body: &str) -> (ForgeError, Fake) {
    let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    let fake = Fake::start(vec![Play { status, headers, body: body.to_owned() }]).await;
    let error = fake.forge().open_pull_request(&new()).await.unwrap_err();
    (error, fake)
}

#[tokio::test]
async fn every_refusal_says_what_to_do() {
    let said = r#"{"message": "Bad credentials"}"#;
    let (error, _) = answered(401, &[], said).await;
    assert!(matches!(&error, ForgeError::Unauthorized { reason, .. } if reason == "Bad credentials"));
    assert!(error.hint().unwrap().contains("`Pull requests: read and write`"));
    let (error, _) = answered(403, &[("x-ratelimit-remaining", "9")], "<html>").await;
    assert!(matches!(&error, ForgeError::Unauthorized { reason, .. } if reason == "it answered 403 Forbidden"));
    let (error, _) = answered(403, &[("retry-after", "30")], said).await;
    assert!(matches!(error, ForgeError::RateLimited { .. }));
    let (error, _) = answered(429, &[], "").await;
    assert!(matches!(error, ForgeError::RateLimited { .. }));
    let (error, _) = answered(404, &[], said).await;
    assert!(matches!(&error, ForgeError::NotFound { repository, .. } if repository == "o/r"));
    let (error, _) = answered(502, &[], "<html>").await;
    assert!(matches!(error, ForgeError::Unreachable { .. }));
    let (error, _) = answered(200, &[], "<html>hello</html>").await;
    assert!(matches!(error, ForgeError::Strange { .. }));
    let (error, _) = answered(200, &[], "{}").await;
    assert!(matches!(error, ForgeError::Strange { .. }));
}

#[tokio::test]
async fn the_token_is_not_carried_to_another_address() {
    let stranger = Fake::start(Vec::new()).await;
    let (error, _) = answered(307, &[("location", &stranger.url)], "").await;
    assert!(matches!(error, ForgeError::Moved { .. }), "{error:?}");
    assert!(stranger.seen().is_empty());
}

#[tokio::test]
async fn the_token_is_in_no_message() {
    let fake = Fake::start(Vec::new()).await;
    assert!(!format!("{:?}", fake.forge()).contains(TOKEN));
    for status in [200, 401, 403, 422, 500] {
        let echo = json!({"message": format!("token {TOKEN}\u{1b}[31m is odd"), "number": TOKEN});
        let plays = vec![play(status, &echo), play(status, &echo)];
        let fake = Fake::start(plays).await;
        let error = fake.forge().open_pull_request(&new()).await.unwrap_err();
        let told = format!("{error} {error:?} {:?}", error.hint());
        assert!(!told.contains(TOKEN) && !told.contains('\u{1b}'), "{told}");
    }
}

#[tokio::test]
async fn a_host_that_is_not_there_cannot_be_reached() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let api = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let forge = Forge::for_remote("https://github.com/o/r", Some(TOKEN.to_owned()), Some(api)).unwrap();
    let error = forge.open_pull_request(&new()).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unreachable { .. }), "{error:?}");
}

#[test]
fn a_forge_needs_a_token_a_remote_and_a_safe_api() {
    let make = |remote: &str, token: Option<&str>, api: Option<&str>| {
        Forge::for_remote(remote, token.map(str::to_owned), api.map(str::to_owned)).map(|forge| forge.repository())
    };
    let remote = "ssh://git@github.example.com/team/app.git";
    assert_eq!(make(remote, Some(TOKEN), None).unwrap(), "team/app");
    assert!(matches!(make(remote, None, None), Err(ForgeError::NoToken { host }) if host == "github.example.com"));
    assert!(matches!(make(remote, Some(" \n"), None), Err(ForgeError::NoToken { .. })));
    assert!(matches!(make(remote, Some("a\r\nX-Y: z"), None), Err(ForgeError::BadToken { .. })));
    assert!(matches!(make("/srv/r.git", Some(TOKEN), None), Err(ForgeError::BadRemote { .. })));
    assert!(matches!(make(remote, Some(TOKEN), Some("http://example.com")), Err(ForgeError::BadApi { .. })));
    assert_eq!(make("git@work:team/app.git", Some(TOKEN), Some("https://ghe.test/api/v3")).unwrap(), "team/app");
}

#[test]
fn the_template_of_the_base_is_read_from_its_commit() {
    let world = World::new();
    assert_eq!(pull_request_template(&world.private, &world.base).unwrap(), None);
    write(&world.top(), "docs/pull_request_template.md", "docs\n");
    write(&world.top(), ".github/PULL_REQUEST_TEMPLATE.md", "## Why\n");
    commit_all(&world.top(), "templates");
    let commit = world.private.import_base(&world.user, &branch("main")).unwrap();
    assert_eq!(pull_request_template(&world.private, &commit).unwrap().unwrap(), "## Why\n");
    assert_eq!(pull_request_template(&world.private, &world.base).unwrap(), None);
}

#[tokio::test]
async fn the_scopes_of_a_classic_token_are_learned_from_any_answer_and_a_fine_grained_one_has_none() {
    let excess_of = async |scopes: Option<&str>, private: Option<bool>| {
        let with_scopes = |status: u16, body: &Value| Play {
            headers: scopes.map(|scopes| ("x-oauth-scopes", scopes.to_owned())).into_iter().collect(),
            ..play(status, body)
        };
        let mut created = listed(1, "");
        if let Some(private) = private {
            created["base"]["repo"]["private"] = json!(private);
        }
        let fake = Fake::start(vec![with_scopes(200, &json!([])), with_scopes(201, &created)]).await;
        let forge = fake.forge();
        forge.open_pull_request(&new()).await.unwrap();
        forge.scopes().map(|(scopes, visibility)| runner::forge::excess(&scopes, visibility))
    };
    assert_eq!(excess_of(None, Some(true)).await, None);
    assert_eq!(excess_of(Some("repo"), Some(true)).await.unwrap(), [""; 0]);
    assert_eq!(excess_of(Some("repo"), None).await.unwrap(), [""; 0]);
    assert_eq!(excess_of(Some("repo"), Some(false)).await.unwrap(), ["repo"]);
    let much = Some("admin:org, delete_repo, repo, workflow");
    assert_eq!(excess_of(much, Some(true)).await.unwrap(), ["admin:org", "delete_repo", "workflow"]);

    let refused = Play {
        headers: vec![("x-oauth-scopes", "gist".to_owned())],
        ..play(403, &json!({"message": "Resource not accessible by personal access token"}))
    };
    let forge = Fake::start(vec![refused]).await.forge();
    assert!(forge.open_pull_request(&new()).await.is_err());
    assert_eq!(forge.scopes().unwrap().0, ["gist"]);
}
