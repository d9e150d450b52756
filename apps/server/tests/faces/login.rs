//! Logging a browser in and out, and what its cookie is good for.

use crate::common::{AGENT_TOKEN, Bench, TOKEN, answer};
use crate::live;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

async fn code(bench: &Bench) -> String {
    let (status, view) = bench.post("/api/login-codes", &json!({})).await;
    assert_eq!(status, StatusCode::OK, "{view}");
    let code = view["code"].as_str().unwrap().to_owned();
    assert_eq!(view["url"], format!("{}/login#{code}", bench.url));
    assert_eq!((&view["user"], &view["expiresInSeconds"]), (&json!("ada"), &json!(60)));
    code
}

/// Logs in as a browser does; the cookie as it is sent back, and all that was said of it.
pub(crate) async fn log_in(bench: &Bench, code: &str) -> (String, String) {
    let request = bench.bare(Method::POST, "/api/login").header("origin", &bench.url);
    let response = request.json(&json!({"code": code})).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let line = response.headers()["set-cookie"].to_str().unwrap().to_owned();
    (line.split(';').next().unwrap().to_owned(), line)
}

fn with(bench: &Bench, method: Method, path: &str, cookie: &str) -> RequestBuilder {
    bench.bare(method, path).header("cookie", cookie)
}

async fn status(request: RequestBuilder) -> u16 {
    answer(request).await.0.as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_logs_one_browser_in_and_its_cookie_is_strict() {
    let bench = Bench::start().await;
    let code = code(&bench).await;
    let (cookie, line) = log_in(&bench, &code).await;
    assert!(line.ends_with("; HttpOnly; SameSite=Strict; Path=/; Max-Age=2592000"), "{line}");
    let me = with(&bench, Method::GET, "/api/me", &cookie).header("sec-fetch-site", "same-origin");
    assert_eq!(answer(me).await, (StatusCode::OK, json!({"name": "ada", "role": "admin"})));
    let again = bench.bare(Method::POST, "/api/login").json(&json!({"code": code}));
    let (status, body) = answer(again).await;
    assert_eq!((status.as_u16(), &body["code"]), (401, &json!("bad_code")));
    let kept = std::fs::read_to_string(bench.folder.path().join("people.json")).unwrap();
    assert!(!kept.contains(cookie.split_once('=').unwrap().1), "only a digest is kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_counts_only_for_our_own_pages() {
    let bench = Bench::start().await;
    let (cookie, _) = log_in(&bench, &code(&bench).await).await;
    let secret = cookie.split_once('=').unwrap().1;
    let post = |name: &'static str, value: &str| {
        let request = with(&bench, Method::POST, "/api/runs", &cookie).header(name, value);
        status(request.json(&bench.new_run("add a page")))
    };
    for (name, value, refused) in [
        ("sec-fetch-site", "cross-site", 401),
        ("sec-fetch-site", "same-site", 401),
        ("sec-fetch-site", "none", 401),
        ("accept", "*/*", 401),
        ("origin", "http://evil.test", 403),
        ("origin", "null", 403),
        ("origin", "http://127.0.0.1:1", 403),
        ("content-type", "text/plain", 401),
    ] {
        assert_eq!(post(name, value).await, refused, "{name}: {value}");
    }
    assert_eq!(status(bench.bare(Method::GET, "/api/runs").bearer_auth(secret)).await, 401, "a session is no token");
    let token = with(&bench, Method::GET, "/api/runs", &format!("holdpoint={TOKEN}")).header("origin", &bench.url);
    assert_eq!(status(token).await, 401, "a token is no session");
    let two = with(&bench, Method::GET, "/api/runs", &format!("{cookie}; holdpoint=0")).header("origin", &bench.url);
    assert_eq!(status(two).await, 401, "one of two cookies was set by somebody else");
    let form = with(&bench, Method::POST, "/api/runs", &cookie).header("origin", &bench.url);
    assert_eq!(status(form.header("content-type", "text/plain").body("{}")).await, 415);
    assert_eq!(bench.events_in_all().await, 0);
    assert_eq!(post("origin", &bench.url).await, 201);
    let others = format!("theme=dark; {cookie}; x=y");
    assert_eq!(status(with(&bench, Method::GET, "/api/runs", &others).header("origin", &bench.url)).await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_in_a_browser_is_written_down_with_its_name_and_face() {
    let bench = Bench::start().await;
    let (cookie, _) = log_in(&bench, &code(&bench).await).await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let path = format!("/api/runs/{}/approve", run["id"].as_str().unwrap());
    let yes =
        with(&bench, Method::POST, &path, &cookie).header("origin", &bench.url).header("holdpoint-channel", "cli");
    assert_eq!(status(yes.json(&json!({"digest": run["hold"]["digest"]}))).await, 200);
    let (_, events) = bench.get(&format!("/api/runs/{}/events", run["id"].as_str().unwrap())).await;
    let granted = events.as_array().unwrap().iter().find(|event| event["type"] == "APPROVAL_GRANTED").unwrap();
    assert_eq!(granted["payload"]["by"], json!({"name": "ada", "channel": "web"}), "{granted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_watches_live_with_its_cookie_and_no_foreign_page_does() {
    let bench = Bench::start().await;
    let (cookie, _) = log_in(&bench, &code(&bench).await).await;
    let open = async |origin: Option<&str>| {
        let mut headers = vec![("cookie", cookie.clone())];
        headers.extend(origin.map(|origin| ("origin", origin.to_owned())));
        live::open(&bench, "", &headers).await
    };
    assert_eq!(open(Some("http://evil.test")).await.err(), Some(403));
    assert_eq!(open(None).await.err(), Some(401));
    let mut socket = open(Some(&bench.url)).await.unwrap();
    assert_eq!(live::next(&mut socket).await.unwrap()["message"], "snapshot");
    let out = with(&bench, Method::POST, "/api/logout", &cookie).header("origin", &bench.url);
    assert_eq!(answer(out.json(&json!({}))).await, (StatusCode::OK, json!({"ended": 1})));
    let (created, _) = bench.post("/api/runs", &bench.new_run("linger")).await;
    assert_eq!(created, StatusCode::CREATED);
    assert_eq!(live::next(&mut socket).await, None, "who logged out sees nothing more");
}

#[tokio::test(flavor = "multi_thread")]
async fn logging_out_ends_this_browser_or_all_and_a_replaced_token_ends_them_too() {
    let bench = Bench::start().await;
    let browsers = async || {
        let mut cookies = Vec::new();
        for _ in 0..3 {
            cookies.push(log_in(&bench, &code(&bench).await).await.0);
        }
        cookies
    };
    let me =
        |cookie: &str| status(with(&bench, Method::GET, "/api/me", cookie).header("sec-fetch-site", "same-origin"));
    let out = |cookie: &str, body: Value| {
        answer(with(&bench, Method::POST, "/api/logout", cookie).header("origin", &bench.url).json(&body))
    };
    let cookies = browsers().await;
    assert_eq!(out(&cookies[0], json!({})).await.1, json!({"ended": 1}));
    assert_eq!([me(&cookies[0]).await, me(&cookies[1]).await, me(&cookies[2]).await], [401, 200, 200]);
    assert_eq!(out(&cookies[1], json!({"everywhere": true})).await.1, json!({"ended": 2}));
    assert_eq!([me(&cookies[1]).await, me(&cookies[2]).await], [401, 401]);
    let cookies = browsers().await;
    assert_eq!(me(&cookies[0]).await, 200);
    std::fs::write(bench.folder.path().join("token"), "f".repeat(64)).unwrap();
    assert_eq!(me(&cookies[0]).await, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_codes_is_stopped() {
    let bench = Bench::start().await;
    let code = code(&bench).await;
    let guess = |code: &str| answer(bench.bare(Method::POST, "/api/login").json(&json!({"code": code})));
    for _ in 0..10 {
        assert_eq!(guess("00000000000000000000000000000000").await.0, StatusCode::UNAUTHORIZED);
    }
    let (status, body) = guess(&code).await;
    assert_eq!((status.as_u16(), &body["code"]), (429, &json!("too_many_tries")), "{body}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_comes_from_our_own_page_and_a_code_from_who_may_give_it() {
    let bench = Bench::start().await;
    let code = code(&bench).await;
    let body = json!({"code": code});
    let login = || bench.bare(Method::POST, "/api/login");
    assert_eq!(status(login().header("origin", "http://evil.test").json(&body)).await, 403);
    assert_eq!(status(login().header("host", "evil.test").json(&body)).await, 421);
    assert_eq!(status(login().header("content-type", "text/plain").body(body.to_string())).await, 415);
    assert_eq!(status(bench.bare(Method::GET, "/api/login")).await, 401);
    let asked = bench.bare(Method::POST, "/api/login-codes");
    assert_eq!(status(asked.json(&json!({}))).await, 401);
    let asked = bench.bare(Method::POST, "/api/login-codes").bearer_auth(AGENT_TOKEN);
    assert_eq!(status(asked.json(&json!({}))).await, 403);
    let (status, body) = bench.post("/api/login-codes", &json!({"user": "nobody"})).await;
    assert_eq!((status.as_u16(), &body["code"]), (400, &json!("no_such_user")));
    log_in(&bench, &code).await;
}
