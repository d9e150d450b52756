//! `holdpoint model list` and `test`, as a person types them, against a server with a key.

use std::collections::BTreeMap;
use std::process::Output;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tests::product::{Product, command};
use tests::world::World;

const KEY: &str = "sk-a-key-that-nobody-prints";
const STORY: &str = "[[conversation]]\nrole = \"planner\"\n[[conversation.turn]]\ntext = \"ok\"\n";

async fn complete(headers: HeaderMap) -> Response {
    if headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()) != Some(&format!("Bearer {KEY}")) {
        return (StatusCode::UNAUTHORIZED, json!({"error": {"message": "who are you?"}}).to_string()).into_response();
    }
    let choice = json!({"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 1000, "completion_tokens": 100}});
    let stream = format!("data: {choice}\n\ndata: {usage}\n\ndata: [DONE]\n\n");
    ([(header::CONTENT_TYPE, "text/event-stream")], stream).into_response()
}

async fn start(world: &World, key: &str) -> Product {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/chat/completions", post(complete));
    tokio::spawn(async move { axum::serve(listener, router).await });
    let environment = [
        ("OPENAI_BASE_URL", url.as_str()),
        ("OPENAI_API_KEY", key),
        ("DEFAULT_PLANNER_MODEL", "openai/gpt-4o, scripted/story"),
        ("DEFAULT_IMPLEMENTER_MODEL", "openai/brand-new"),
    ];
    let environment: BTreeMap<_, _> = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Product::start(&world.home(), &environment).await.unwrap()
}

async fn model(world: &World, arguments: &[&str]) -> (Option<i32>, String) {
    let all: Vec<&str> = ["model"].iter().chain(arguments).copied().collect();
    let Output { status, stdout, stderr } = command(&world.repository(), &world.home(), &all).await.unwrap();
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert!(!stdout.contains(KEY) && !stderr.contains(KEY), "{stdout}{stderr}");
    (status.code(), format!("{stdout}{stderr}"))
}

#[tokio::test]
async fn models_are_listed_and_tested_from_the_command_line_and_what_it_cost_is_kept() {
    let world = World::new(STORY).unwrap();
    let product = start(&world, KEY).await;
    let (code, tested) = model(&world, &["test", "--json"]).await;
    let results: Vec<Value> = serde_json::from_str(&tested).unwrap();
    let found: Vec<_> = results.iter().map(|one| (one["model"].as_str().unwrap(), one["ok"] == true)).collect();
    assert_eq!(code, Some(0), "{tested}");
    assert_eq!(found[..3], [("openai/gpt-4o", true), ("scripted/story", true), ("openai/brand-new", true)]);
    assert_eq!(results[0]["usd"].as_f64(), Some(0.0035), "1000 tokens in at $2.50 and 100 out at $10 a million");
    assert_eq!((&results[2]["usd"], &results[2]["priceKnown"]), (&Value::Null, &json!(false)));
    let (code, listed) = model(&world, &["list"]).await;
    assert_eq!(code, Some(0), "{listed}");
    let said =
        ["✓ OPENAI_API_KEY", "openai/gpt-4o → scripted/story", "price unknown", "test calls so far", "XAI_API_KEY"];
    assert!(said.iter().all(|words| listed.contains(words)), "{listed}");
    assert!(listed.lines().all(|line| line.chars().count() <= 80 || line.contains("/home/")), "{listed}");
    let (code, refused) = model(&world, &["test", "openai/gpt-4o", "xai/grok-4"]).await;
    assert_eq!(code, Some(1), "{refused}");
    assert!(refused.contains("✓ ok") && refused.contains("set XAI_API_KEY"), "{refused}");
    product.stop().await.unwrap();
}

#[tokio::test]
async fn a_refused_key_is_told_by_its_name() {
    let world = World::new(STORY).unwrap();
    let product = start(&world, "sk-wrong").await;
    let (code, told) = model(&world, &["test", "openai/gpt-4o"]).await;
    assert_eq!(code, Some(1), "{told}");
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("refused the key from OPENAI_API_KEY (401): who are you?"), "{told}");
    assert!(!told.contains("sk-wrong"), "{told}");
    product.stop().await.unwrap();
}
