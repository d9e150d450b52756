//! A run against an OpenAI-compatible server with a key: the key reaches the server and never the agent.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tests::product::Product;
use tests::world::World;

const KEY: &str = "sk-a-secret-that-must-stay-outside";

/// The key and the model of each call.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Asked>>>);

type Asked = (Option<String>, String);

/// Answers with the role's one tool call, streamed as chat completion chunks.
async fn complete(State(seen): State<Seen>, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    let key = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    seen.0.lock().unwrap().push((key, body["model"].as_str().unwrap_or_default().to_owned()));
    let tools = body["tools"].to_string();
    let turns = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant").count();
    let (tool, input) = if tools.contains("submit_plan") {
        ("submit_plan", json!({"title": "Plan", "body": "# Plan\n\n```mermaid\nflowchart TD\n  A --> B\n```\n"}))
    } else if tools.contains("complete_review") {
        ("complete_review", json!({"verdict": "pass", "summary": "fine"}))
    } else if turns == 0 {
        (
            "shell",
            json!({"command": "env > env.txt; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' >> env.txt; true"}),
        )
    } else {
        ("complete_pulse", json!({"summary": "done"}))
    };
    let call = json!({"index": 0, "id": "call_1", "type": "function", "function": {"name": tool, "arguments": input.to_string()}});
    let chunk = |delta: Value, finish: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        format!(
            "data: {}\n\n",
            json!({"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})
        )
    };
    let usage = json!({"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}});
    let stream = [
        chunk(json!({"role": "assistant", "tool_calls": [call]}), Value::Null),
        chunk(json!({}), json!("tool_calls")),
        format!("data: {usage}\n\n"),
        "data: [DONE]\n\n".to_owned(),
    ];
    ([(header::CONTENT_TYPE, "text/event-stream")], stream.concat()).into_response()
}

async fn upstream(seen: Seen) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let router = Router::new().route("/v1/chat/completions", post(complete)).with_state(seen);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn body(world: &World, model: &str) -> Value {
    json!({
        "project": world.repository(), "request": "Look around",
        "trust": {"planning": "auto", "implementation": "auto", "fixes": "auto"},
        "models": {"planner": model, "implementer": model, "validator": model},
        "autoMerge": true,
    })
}

#[tokio::test]
async fn an_openai_compatible_server_works_and_its_key_stays_outside_the_sandbox() {
    let seen = Seen::default();
    let url = upstream(seen.clone()).await;
    let world = World::new("").unwrap();
    let environment =
        BTreeMap::from([("OPENAI_BASE_URL".to_owned(), url), ("OPENAI_API_KEY".to_owned(), KEY.to_owned())]);
    let product = Product::start(&world.home(), &environment).await.unwrap();
    let run = product.run(None, &body(&world, "openai/some-model")).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let ended = |view: &Value| view["completedAt"].is_string() || view["hold"].is_object();
    let view = product.until(id, ended).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    assert_eq!((&view["spend"]["calls"], &view["spend"]["inputTokens"]), (&json!(4), &json!(4000)));
    let calls = seen.0.lock().unwrap().clone();
    assert!(
        calls.iter().all(|(key, model)| *key == Some(format!("Bearer {KEY}")) && model == "some-model"),
        "{calls:?}"
    );
    let environment = world.git(&["show", "main:env.txt"]).unwrap();
    assert!(environment.contains("HOLDPOINT_ATTEMPT=") && !environment.contains(KEY), "{environment}");
    product.stop().await.unwrap();
    assert!(!everything_below(&world.home()).contains(KEY), "the key lies on the disk");
}

/// The text of every file below a folder.
pub(crate) fn everything_below(folder: &std::path::Path) -> String {
    let mut text = String::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                text.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
    }
    text
}

/// The same server for one key at a time: any other gets 401.
async fn strict_upstream(seen: Seen, good: Arc<Mutex<&'static str>>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let answer = async move |headers: HeaderMap, body: Json<Value>| {
        let key = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if key != format!("Bearer {}", good.lock().unwrap()) {
            let error = json!({"error": {"message": "the key is wrong", "code": "invalid_api_key"}});
            return (StatusCode::UNAUTHORIZED, Json(error)).into_response();
        }
        complete(State(seen), headers, body).await
    };
    let router = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

#[tokio::test]
async fn a_key_that_a_command_prints_is_used_renewed_and_kept_nowhere() {
    const NEXT: &str = "sk-another-secret-that-must-stay-outside";
    let (seen, good) = (Seen::default(), Arc::new(Mutex::new(KEY)));
    let url = strict_upstream(seen.clone(), Arc::clone(&good)).await;
    let world = World::new("").unwrap();
    let (store, log) = (world.outside().join("store"), world.outside().join("server.log"));
    let command = format!("cat '{}' 2>/dev/null || {{ echo '{KEY}' >&2; exit 1; }}", store.display());
    let config = format!(
        "[providers.house]\nbase_url = \"{url}\"\nkey_command = [\"/bin/sh\", \"-c\", {}]\n",
        json!(command.replace(KEY, &["sk-a-secret", "-that-must-stay-outside"].join("''")))
    );
    std::fs::write(world.home().join("config.toml"), config).unwrap();
    let logging = BTreeMap::from([("HOLDPOINT_LOG".to_owned(), "trace".to_owned())]);
    let file = Stdio::from(std::fs::File::create(&log).unwrap());
    let product = Product::start_logging_to(file, &world.home(), &logging).await.unwrap();
    let ended = |view: &Value| view["completedAt"].is_string() || view["hold"].is_object();

    // The store is locked: the run waits and says what to do.
    let run = product.run(None, &body(&world, "house/some-model")).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let view = product.until(id, ended).await.unwrap();
    let hold = view["hold"].to_string();
    for words in ["there is no key for `house`", "`sh` ended with exit status: 1", "run the command in a terminal"] {
        assert!(hold.contains(words), "`{words}` is not in {hold}");
    }
    assert!(seen.0.lock().unwrap().is_empty());

    std::fs::write(&store, format!("{KEY}\n")).unwrap();
    let (status, answer) = product.decide(&view, &json!({"decision": "retry"})).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    let again = |view: &Value| view["completedAt"].is_string() || view["hold"]["id"] != hold_id(&hold);
    let view = product.until(id, |view| ended(view) && again(view)).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    let calls = seen.0.lock().unwrap().len();
    assert!(calls > 0);
    let environment = world.git(&["show", "main:env.txt"]).unwrap();
    assert!(environment.contains("HOLDPOINT_ATTEMPT=") && !environment.contains(KEY), "{environment}");

    // The key is replaced: the next attempt after the refusal asks for the new one.
    *good.lock().unwrap() = NEXT;
    std::fs::write(&store, format!("{NEXT}\n")).unwrap();
    let run = product.run(None, &body(&world, "house/some-model")).await.unwrap();
    let id = run["id"].as_str().unwrap();
    let view = product.until(id, ended).await.unwrap();
    assert_eq!(view["hold"]["kind"], "model", "{view}");
    let hold = view["hold"].to_string();
    let (status, answer) = product.decide(&view, &json!({"decision": "retry"})).await.unwrap();
    assert_eq!(status, 200, "{answer}");
    let again = |view: &Value| view["completedAt"].is_string() || view["hold"]["id"] != hold_id(&hold);
    let view = product.until(id, |view| ended(view) && again(view)).await.unwrap();
    assert_eq!(view["status"], "completed", "{view}");
    product.stop().await.unwrap();
    std::fs::remove_file(&store).unwrap();
    let everywhere = everything_below(world.outside());
    assert!(everywhere.contains("a key_command gave no key"), "the log says so");
    for key in [KEY, NEXT] {
        assert!(!everywhere.contains(key), "the key lies on the disk");
    }
}

fn hold_id(hold: &str) -> Value {
    serde_json::from_str::<Value>(hold).unwrap()["id"].clone()
}

#[tokio::test]
async fn a_budget_with_a_model_of_unknown_price_is_refused_and_nothing_starts() {
    let world = World::new("").unwrap();
    let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), KEY.to_owned())]);
    let product = Product::start(&world.home(), &environment).await.unwrap();
    let mut body = body(&world, "openai/some-model");
    body["budgetUsd"] = json!(1.0);
    let (status, problem) = product.post("/api/runs", None, &body).await.unwrap();
    assert_eq!((status, problem["code"].as_str()), (400, Some("unknown_price")), "{problem}");
    let (_, runs) = product.get("/api/runs").await.unwrap();
    assert_eq!(runs, json!([]));
    product.stop().await.unwrap();
}
