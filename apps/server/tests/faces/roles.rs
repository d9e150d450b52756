//! Users and roles: who may do what, on every documented route, and under which name it is written down.

use crate::common::{AGENT_TOKEN, Bench, TOKEN, answer};
use crate::{live, login};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

/// Routes for which nobody has to be known.
const OPEN: &[&str] = &["/healthz", "/api/login"];

async fn add(bench: &Bench, name: &str, role: &str) -> String {
    let (status, user) = bench.post("/api/users", &json!({"name": name, "role": role})).await;
    assert_eq!((status, &user["name"], &user["role"]), (StatusCode::CREATED, &json!(name), &json!(role)), "{user}");
    user["token"].as_str().unwrap().to_owned()
}

async fn told(request: RequestBuilder) -> (u16, String) {
    let (status, body) = answer(request).await;
    (status.as_u16(), body["code"].as_str().unwrap_or_default().to_owned())
}

/// Every documented route with its method.
fn routes() -> Vec<(Method, String)> {
    let api = serde_json::to_value(server::openapi()).unwrap();
    let mut routes = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for method in ["get", "post", "put", "patch", "delete"].into_iter().filter(|method| item[method].is_object()) {
            let path = path.replace("{id}", "abc").replace("{number}", "1").replace("{name}", "bo");
            routes.push((method.to_uppercase().parse().unwrap(), path));
        }
    }
    assert!(routes.len() >= 70, "{}", routes.len());
    routes
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_closed_to_strangers_and_to_other_sites() {
    let bench = Bench::start().await;
    for (method, path) in routes() {
        let bare = || bench.bare(method.clone(), &path);
        let open = OPEN.contains(&path.as_str());
        if !open {
            assert_eq!(told(bare().json(&json!({}))).await, (401, "unauthorized".to_owned()), "{method} {path}");
            let wrong = bare().bearer_auth("0".repeat(64)).json(&json!({}));
            assert_eq!(told(wrong).await, (401, "unauthorized".to_owned()), "{method} {path}");
        }
        let known = || bare().bearer_auth(TOKEN);
        let host = known().header("host", format!("evil.test:{}", bench.port)).json(&json!({}));
        assert_eq!(told(host).await, (421, "foreign_host".to_owned()), "{method} {path}");
        let origin = known().header("origin", "https://evil.test").json(&json!({}));
        assert_eq!(told(origin).await, (403, "foreign_origin".to_owned()), "{method} {path}");
        if method != Method::GET {
            let form = known().header("content-type", "text/plain").body("{}");
            assert_eq!(told(form).await, (415, "not_json".to_owned()), "{method} {path}");
        }
    }
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_changes_nothing_and_a_reviewer_only_decides() {
    let bench = Bench::start().await;
    let (viewer, reviewer) = (add(&bench, "vi", "viewer").await, add(&bench, "re", "reviewer").await);
    let decide = ["approve", "request-changes", "decide", "overturn", "message", "pause", "resume", "answer"];
    let refused = (403, "role_missing".to_owned());
    for (method, path) in routes() {
        let own = [OPEN, &["/api/logout"]].concat().contains(&path.as_str());
        // A role that a client says itself counts for nothing.
        let ask = |token: &str| bench.bare(method.clone(), &path).bearer_auth(token).header("holdpoint-role", "admin");
        if method == Method::GET {
            let expected = ["/api/users", "/api/doctor"].contains(&path.as_str());
            assert_eq!(told(ask(&viewer)).await == refused, expected, "{path}");
            assert_eq!(told(ask(&reviewer)).await == refused, expected, "{path}");
        } else if !own {
            assert_eq!(told(ask(&viewer).json(&json!({}))).await, refused, "{path}");
            let may = decide.iter().any(|verb| path.ends_with(&format!("/{verb}")));
            assert_eq!(told(ask(&reviewer).json(&json!({}))).await == refused, !may, "{path}");
        }
    }
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_is_written_down_under_the_name_of_who_took_it() {
    let bench = Bench::start().await;
    let token = add(&bench, "grace", "reviewer").await;
    let run = bench.run_until("add a page", "awaiting_approval").await;
    let id = run["id"].as_str().unwrap();
    let ask = |path: String, body: Value| answer(bench.bare(Method::POST, &path).bearer_auth(&token).json(&body));
    let before = bench.events_in_all().await;
    assert_eq!(ask("/api/runs".to_owned(), bench.new_run("x")).await.0, StatusCode::FORBIDDEN);
    assert_eq!(ask(format!("/api/workflows/{id}/cancel"), json!({})).await.0, StatusCode::FORBIDDEN);
    assert_eq!(bench.events_in_all().await, before);
    let yes = json!({"digest": run["hold"]["digest"]});
    let (status, body) = ask(format!("/api/workflows/{id}/approve"), yes).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    let (_, events) = bench.get(&format!("/api/runs/{id}/events")).await;
    let granted = events.as_array().unwrap().iter().find(|event| event["type"] == "APPROVAL_GRANTED").unwrap();
    assert_eq!(granted["payload"]["by"]["name"], "grace", "{granted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_starts_runs_and_lets_people_in_but_is_not_the_owner() {
    let bench = Bench::start().await;
    let token = add(&bench, "root", "admin").await;
    let ask = |path: &str, body: Value| answer(bench.bare(Method::POST, path).bearer_auth(&token).json(&body));
    let (status, run) = ask("/api/runs", bench.new_run("add a page")).await;
    assert_eq!(status, StatusCode::CREATED, "{run}");
    let (_, events) = bench.get(&format!("/api/runs/{}/events", run["id"].as_str().unwrap())).await;
    assert_eq!(events[0]["payload"]["by"]["name"], "root");
    assert_eq!(ask("/api/users", json!({"name": "vi", "role": "viewer"})).await.0, StatusCode::CREATED);
    assert_eq!(ask("/api/login-codes", json!({"user": "vi"})).await.0, StatusCode::OK);
    let (status, body) = ask("/api/login-codes", json!({"user": "ada"})).await;
    assert_eq!((status.as_u16(), &body["code"]), (400, &json!("no_such_user")), "the owner is let in by the owner");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_user_is_out_at_once_everywhere() {
    let bench = Bench::start().await;
    let token = add(&bench, "bo", "viewer").await;
    let (_, view) = bench.post("/api/login-codes", &json!({"user": "bo"})).await;
    let (_, unused) = bench.post("/api/login-codes", &json!({"user": "bo"})).await;
    let (cookie, _) = login::log_in(&bench, view["code"].as_str().unwrap()).await;
    let by_cookie =
        || answer(bench.bare(Method::GET, "/api/me").header("cookie", &cookie).header("origin", &bench.url));
    let by_token = || answer(bench.bare(Method::GET, "/api/me").bearer_auth(&token));
    let bo = json!({"name": "bo", "role": "viewer"});
    assert_eq!((by_cookie().await.1, by_token().await.1), (bo.clone(), bo));
    let (_, users) = bench.get("/api/users").await;
    assert_eq!((&users[0]["name"], &users[0]["browsers"]), (&json!("bo"), &json!(1)), "{users}");
    let mut socket = live::open(&bench, "", &[("authorization", format!("Bearer {token}"))]).await.unwrap();
    live::next(&mut socket).await.unwrap();
    let (status, gone) = bench.post("/api/users/bo/revoke", &json!({})).await;
    assert_eq!((status, &gone["name"]), (StatusCode::OK, &json!("bo")));
    assert_eq!(by_cookie().await.0, StatusCode::UNAUTHORIZED);
    assert_eq!(by_token().await.0, StatusCode::UNAUTHORIZED);
    let late = bench.bare(Method::POST, "/api/login").json(&json!({"code": unused["code"]}));
    assert_eq!(told(late).await, (401, "bad_code".to_owned()));
    assert_eq!(bench.post("/api/runs", &bench.new_run("linger")).await.0, StatusCode::CREATED);
    assert_eq!(live::next(&mut socket).await, None, "the open socket ends with its next message");
    assert_eq!(bench.post("/api/users/bo/revoke", &json!({})).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_plain_and_nobody_takes_anothers() {
    let bench = Bench::start().await;
    for name in ["", "Bo", "-bo", "bo bo", "bö", "../x", "bo\u{202e}", &"b".repeat(33)] {
        let (status, body) = bench.post("/api/users", &json!({"name": name, "role": "viewer"})).await;
        assert_eq!((status.as_u16(), &body["code"]), (400, &json!("bad_name")), "{name}");
    }
    add(&bench, "bo", "viewer").await;
    for name in ["bo", "ada"] {
        let (status, body) = bench.post("/api/users", &json!({"name": name, "role": "admin"})).await;
        assert_eq!((status.as_u16(), &body["code"]), (409, &json!("name_taken")), "{name}");
    }
    let (status, _) = bench.post("/api/users", &json!({"name": "cy", "role": "owner"})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let agent = bench.bare(Method::GET, "/api/users").bearer_auth(AGENT_TOKEN);
    assert_eq!(told(agent).await, (403, "scope_missing".to_owned()));
}
