//! Who may come in: token, Host, Origin, JSON, size.

use crate::common::{Bench, TOKEN, answer};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

async fn check(request: reqwest::RequestBuilder, status: u16, code: &str) {
    let (got, body) = answer(request).await;
    assert_eq!((got.as_u16(), &body["code"]), (status, &Value::from(code)), "{body}");
    assert!(!body["message"].as_str().unwrap().is_empty() && !body["hint"].as_str().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_route_wants_a_token() {
    let bench = Bench::start().await;
    let api = serde_json::to_value(server::openapi()).unwrap();
    let paths = api["paths"].as_object().unwrap();
    assert!(paths.len() >= 27, "{}", paths.len());
    let mut routes = 0;
    for (path, item) in paths.iter().filter(|(path, _)| !["/healthz", "/api/login"].contains(&path.as_str())) {
        for method in item.as_object().unwrap().keys().filter(|key| ["get", "post"].contains(&key.as_str())) {
            let path = path.replace("{id}", "abc").replace("{number}", "1");
            let method: Method = method.to_uppercase().parse().unwrap();
            check(bench.bare(method.clone(), &path), 401, "unauthorized").await;
            check(bench.bare(method, &path).bearer_auth("0000"), 401, "unauthorized").await;
            routes += 1;
        }
    }
    assert!(routes >= 29, "{routes}");
    check(bench.bare(Method::GET, "/api/openapi.json"), 401, "unauthorized").await;
    check(bench.bare(Method::GET, "/api/unknown"), 401, "unauthorized").await;
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_names_every_route_of_the_contract() {
    let api = serde_json::to_value(server::openapi()).unwrap();
    let has = |method: &str, path: &str| assert!(api["paths"][path][method].is_object(), "{method} {path}");
    for base in ["/api/runs", "/api/workflows"] {
        has("get", base);
        has("post", base);
        has("get", &format!("{base}/{{id}}"));
        for verb in ["approve", "request-changes", "decide", "cancel"] {
            has("post", &format!("{base}/{{id}}/{verb}"));
        }
        for noun in ["events", "artifacts", "artifacts/{number}", "diff", "why", "spend"] {
            has("get", &format!("{base}/{{id}}/{noun}"));
        }
    }
    has("get", "/api/holds");
    has("post", "/api/clarifications/{id}/answer");
    has("get", "/api/playbooks");
    has("get", "/api/live");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_host_is_misdirected_even_with_the_token() {
    let bench = Bench::start().await;
    let port = bench.port;
    let foreign = ["evil.test", "localhost.evil.test", "127.0.0.1.nip.io", "localhost", "127.0.0.1", "0.0.0.0", ""];
    for host in foreign.iter().map(|host| (*host).to_owned()).chain([
        format!("evil.test:{port}"),
        format!("127.0.0.1.nip.io:{port}"),
        format!("0.0.0.0:{port}"),
        format!("127.0.0.1:{}", port ^ 1),
        format!("127.0.0.1:{port}@evil.test"),
    ]) {
        for path in ["/api/runs", "/healthz"] {
            let request = bench.bare(Method::GET, path).bearer_auth(TOKEN).header("host", &host);
            check(request, 421, "foreign_host").await;
        }
    }
    for host in [format!("localhost:{port}"), format!("LocalHost:{port}"), format!("[::1]:{port}")] {
        let request = bench.bare(Method::GET, "/api/runs").bearer_auth(TOKEN).header("host", host);
        assert_eq!(answer(request).await.0, StatusCode::OK);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_host_is_misdirected() {
    let bench = Bench::start().await;
    for head in [
        "GET /api/runs HTTP/1.0\r\n\r\n".to_owned(),
        format!(
            "GET /api/runs HTTP/1.1\r\nHost: 127.0.0.1:{0}\r\nHost: evil.test\r\nConnection: close\r\n\r\n",
            bench.port
        ),
        format!(
            "GET http://evil.test/api/runs HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
            bench.port
        ),
    ] {
        let mut socket = tokio::net::TcpStream::connect(("127.0.0.1", bench.port)).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut said = String::new();
        socket.read_to_string(&mut said).await.unwrap();
        let status = said.split(' ').nth(1).unwrap_or_default();
        assert!(["421", "400"].contains(&status), "{head} -> {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_origin_is_refused_and_our_own_is_not() {
    let bench = Bench::start().await;
    for origin in ["https://evil.test", "null", "http://127.0.0.1", "http://127.0.0.1.nip.io", "file://"] {
        let request = bench.bare(Method::POST, "/api/runs").bearer_auth(TOKEN).header("origin", origin);
        check(request.json(&json!({})), 403, "foreign_origin").await;
    }
    let request = bench.bare(Method::GET, "/api/runs").bearer_auth(TOKEN).header("origin", &bench.url);
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.headers().keys().all(|name| !name.as_str().starts_with("access-control")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_the_address_is_refused() {
    let bench = Bench::start().await;
    for name in ["token", "access_token", "Authorization"] {
        let path = format!("/api/runs?{name}={TOKEN}");
        check(bench.bare(Method::GET, &path), 400, "token_in_query").await;
        check(bench.bare(Method::GET, &path).bearer_auth(TOKEN), 400, "token_in_query").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_are_not_json_are_refused() {
    let bench = Bench::start().await;
    let body = bench.new_run("add a page").to_string();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"] {
        let request = bench.bare(Method::POST, "/api/runs").bearer_auth(TOKEN).header("content-type", kind);
        check(request.body(body.clone()), 415, "not_json").await;
    }
    check(bench.bare(Method::POST, "/api/runs").bearer_auth(TOKEN).body(body), 415, "not_json").await;
    assert_eq!(bench.events_in_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_over_one_mebibyte_is_refused() {
    let bench = Bench::start().await;
    let body = bench.new_run(&"x".repeat(1024 * 1024));
    check(bench.bare(Method::POST, "/api/runs").bearer_auth(TOKEN).json(&body), 413, "too_large").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_token_stops_working_at_once() {
    let bench = Bench::start().await;
    assert_eq!(bench.get("/api/runs").await.0, StatusCode::OK);
    std::fs::write(bench.folder.path().join("token"), "f".repeat(64)).unwrap();
    assert_eq!(bench.get("/api/runs").await.0, StatusCode::UNAUTHORIZED);
    std::fs::write(bench.folder.path().join("token"), "").unwrap();
    let request = bench.bare(Method::GET, "/api/runs").header("authorization", "Bearer ");
    assert_eq!(answer(request).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_file_that_cannot_be_read_is_an_outage_and_lets_no_caller_in() {
    let bench = Bench::start().await;
    let get = |token: &str| bench.bare(Method::GET, "/api/runs").bearer_auth(token);
    let path = bench.folder.path().join("token");
    std::fs::remove_file(&path).unwrap();
    check(get(TOKEN), 503, "token_unreadable").await;
    check(get("0000"), 503, "token_unreadable").await;
    // Unreadable for root too, who runs tests in containers.
    std::fs::create_dir(&path).unwrap();
    let (status, body) = answer(get(TOKEN)).await;
    assert_eq!((status.as_u16(), &body["code"]), (503, &Value::from("token_unreadable")));
    assert!(body["message"].as_str().unwrap().contains("token") && body["hint"].as_str().unwrap().contains("server"));
    assert!(!body.to_string().contains(TOKEN));
    check(bench.bare(Method::GET, "/api/runs"), 401, "unauthorized").await;
    assert_eq!(bench.events_in_all().await, 0);
    std::fs::remove_dir(&path).unwrap();
    std::fs::write(&path, TOKEN).unwrap();
    assert_eq!(answer(get(TOKEN)).await.0, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_open_and_says_only_ok_and_the_version() {
    let bench = Bench::start().await;
    let (status, body) = answer(bench.bare(Method::GET, "/healthz")).await;
    assert_eq!((status, body), (StatusCode::OK, json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")})));
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_not_ok_once_nothing_can_be_written() {
    let bench = Bench::start().await;
    bench.engine.stop().await;
    let mut writer = bench.engine.writer();
    writer.wait_for(|state| *state != engine::Writer::Running).await.unwrap();
    check(bench.bare(Method::GET, "/healthz"), 503, "server_stopping").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unknown_routes_and_methods_are_problems_too() {
    let bench = Bench::start().await;
    check(bench.bare(Method::GET, "/api/nothing").bearer_auth(TOKEN), 404, "no_such_route").await;
    check(bench.bare(Method::DELETE, "/api/runs").bearer_auth(TOKEN).json(&json!({})), 405, "method_not_allowed").await;
    check(bench.bare(Method::GET, "/api/live").bearer_auth(TOKEN), 400, "not_a_websocket").await;
    check(bench.bare(Method::GET, "/api/runs/%ff").bearer_auth(TOKEN), 400, "bad_path").await;
}
