//! The doors to MCP servers as an agent meets them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{any, post};
use broker::calls::{CallRecord, ReadSource};
use broker::{Grant, McpGrant, McpReach, Secret};
use serde_json::{Value, json};

use crate::kit::{Door, grant};

type Seen = Arc<Mutex<Vec<String>>>;

/// A server on loopback, and what it was asked: method, path and the headers that matter.
async fn service(routes: Router<Seen>) -> (String, Seen) {
    let seen = Seen::default();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let router = routes.with_state(Arc::clone(&seen));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, seen)
}

async fn answer(State(seen): State<Seen>, request: Request) -> Response {
    let said = ["authorization", "mcp-session-id", "cookie"]
        .map(|name| request.headers().get(name).map_or("-", |value| value.to_str().unwrap()).to_owned());
    seen.lock().unwrap().push(format!("{} {}", request.method(), said.join(" ")));
    let headers = [("mcp-session-id", "s1"), ("set-cookie", "a=b"), ("content-type", "application/json")];
    (headers, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).into_response()
}

fn http(name: &str, url: &str) -> McpGrant {
    let headers = BTreeMap::from([("Authorization".to_owned(), Secret::new("s3cret"))]);
    McpGrant { name: name.into(), reach: McpReach::Http { url: url.into(), headers, seconds: 5 } }
}

fn granted(mcp: Vec<McpGrant>) -> Grant {
    Grant { mcp, ..grant(Vec::new()) }
}

fn message() -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"})
}

#[tokio::test]
async fn messages_go_to_the_granted_server_with_the_users_header_and_nothing_else_of_the_agents() {
    let (address, seen) = service(Router::new().route("/mcp", any(answer))).await;
    let door = Door::open(granted(vec![http("docs", &format!("{address}/mcp"))]));
    let sent = door.post("/mcp/docs", &message()).header("mcp-session-id", "s0").header("cookie", "c=d");
    let response = sent.header(header::AUTHORIZATION, "Bearer mine").send().await.unwrap();
    assert_eq!(response.headers()["mcp-session-id"], "s1");
    assert!(!response.headers().contains_key("set-cookie"));
    assert_eq!(response.json::<Value>().await.unwrap()["id"], 1);
    door.client.delete("http://broker/mcp/docs").send().await.unwrap();
    let listens = door.client.get("http://broker/mcp/docs").send().await.unwrap();
    assert_eq!(listens.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(*seen.lock().unwrap(), ["POST Bearer s3cret s0 -", "DELETE Bearer s3cret - -"]);
    let (status, said) = door.json("/mcp/other", &message()).await;
    assert_eq!((status, &said["id"]), (404, &json!(7)), "{said}");
}

#[tokio::test]
async fn redirects_errors_and_endless_answers_are_told_to_who_asked() {
    let (other, seen_by_other) = service(Router::new().route("/there", any(answer))).await;
    let there = format!("{other}/there");
    let routes = Router::new()
        .route("/away", post(move || async move { Redirect::temporary(&there) }))
        .route("/broken", post(|| async { (StatusCode::INTERNAL_SERVER_ERROR, "it\nfell over") }))
        .route("/own", post(|| async { (StatusCode::BAD_REQUEST, r#"{"id":7,"error":{"code":1,"message":"mine"}}"#) }))
        .route("/huge", post(|| async { "x".repeat(20 << 20) }));
    let (address, _) = service(routes).await;
    let names = ["away", "broken", "own", "huge"];
    let door = Door::open(granted(names.iter().map(|name| http(name, &format!("{address}/{name}"))).collect()));
    let told = async |name: &str| {
        let (status, said) = door.json(&format!("/mcp/{name}"), &message()).await;
        assert_eq!((status, &said["id"]), (502, &json!(7)), "{said}");
        said["error"]["message"].as_str().unwrap().to_owned()
    };
    assert!(told("away").await.contains("redirects are not followed"));
    assert_eq!(*seen_by_other.lock().unwrap(), Vec::<String>::new(), "the secret went nowhere else");
    assert_eq!(told("broken").await, "MCP server `broken` answered 500: it fell over");
    assert_eq!(told("own").await, "mine");
    let huge = door.post("/mcp/huge", &message()).send().await.unwrap();
    assert!(huge.bytes().await.is_err(), "it is cut");
    let nobody = Door::open(granted(vec![http("gone", "http://127.0.0.1:1/")]));
    let (status, said) = nobody.json("/mcp/gone", &message()).await;
    assert_eq!(status, 502, "{said}");
}

#[tokio::test]
async fn variables_are_handed_over_once_and_only_for_a_process() {
    let variables = BTreeMap::from([("TOKEN".to_owned(), Secret::new("t0ken"))]);
    let process = McpGrant { name: "local".into(), reach: McpReach::Process { variables } };
    assert!(!format!("{process:?}").contains("t0ken"));
    let door = Door::open(granted(vec![process, http("docs", "http://127.0.0.1:1/")]));
    let ask = async |name: &str| door.json(&format!("/mcp/{name}/variables"), &json!({})).await;
    assert_eq!(ask("local").await, (200, json!({"variables": {"TOKEN": "t0ken"}})));
    assert_eq!(ask("local").await.0, 409);
    assert_eq!(ask("docs").await.0, 404);
    assert_eq!(door.json("/mcp/local", &message()).await.0, 404, "a process is not reached from outside");
}

#[test]
fn a_setting_that_would_leak_or_confuse_is_refused() {
    for name in ["", "Docs", "a__b", "a_", "-a", "a/b", &"x".repeat(25)] {
        assert!(http(name, "https://x.example/").check().is_err(), "{name}");
    }
    http("a_b-2", "https://x.example/mcp").check().unwrap();
    http("a", "http://localhost:1/mcp").check().unwrap();
    for url in ["http://x.example/", "ftp://x.example/", "x"] {
        assert!(http("a", url).check().is_err(), "{url}");
    }
    let headers = BTreeMap::from([("X-Key".to_owned(), Secret::new("a\nb"))]);
    let url = "https://x.example/".to_owned();
    assert!(McpGrant { name: "a".into(), reach: McpReach::Http { url, headers, seconds: 1 } }.check().is_err());
}

#[tokio::test]
async fn what_a_server_is_asked_for_is_recorded_before_once_and_how_it_is_met_is_not() {
    let (address, _) = service(Router::new().route("/mcp", any(answer))).await;
    let door = Door::open(granted(vec![http("docs", &format!("{address}/mcp"))]));
    let read = |door: &Door| {
        let source = |record| match record {
            CallRecord::Read(read) => Some(read.source),
            _other => None,
        };
        door.records().into_iter().filter_map(source).collect::<Vec<_>>()
    };
    for method in ["initialize", "notifications/initialized", "tools/list"] {
        door.json("/mcp/docs", &json!({"jsonrpc": "2.0", "id": 1, "method": method})).await;
    }
    door.client.delete("http://broker/mcp/docs").send().await.unwrap();
    assert_eq!(read(&door), []);
    for method in ["tools/call", "resources/read", "something/new"] {
        door.json("/mcp/docs", &json!({"jsonrpc": "2.0", "id": 1, "method": method})).await;
        assert_eq!(read(&door), [ReadSource::Mcp("docs".into())], "{method}");
    }
    door.json("/mcp/other", &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})).await;
    assert_eq!(read(&door).len(), 1);
}
