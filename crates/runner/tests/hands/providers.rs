//! Real HTTP to a provider: a spent usage window, a list of models, and the protocols our own agent speaks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use broker::{HostedFeatures, Limits, Secret, UpstreamKind};
use domain::{Ending, HoldKind, Phase, Run};
use jiff::{SignedDuration, Timestamp};
use runner::UpstreamSettings;
use serde_json::{Value, json};

use crate::world::{World, yes};

/// The end of a conversation that another model may have begun.
const SCRIPT: &str = r##"
[[conversation]]
role = "pursuer"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "plan_tasks"
input = { tasks = [{ id = "1", description = "make it", status = "completed" }] }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "write_file"
input = { path = "a.txt", content = "a\n" }
[[conversation.turn]]
[[conversation.turn.call]]
tool = "observe"
[[conversation.turn]]
[[conversation.turn.call]]
tool = "reflect"
input = { goal_achieved = true, progress = 1, content = "all is there" }
"##;

/// A provider that refuses some requests, and then plans, writes a file and is done.
#[derive(Clone)]
struct Provider {
    refusals: Arc<Mutex<Vec<(u16, Value)>>>,
    seen: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Provider {
    async fn start(kind: UpstreamKind, refusals: Vec<(u16, Value)>) -> (Self, BTreeMap<String, UpstreamSettings>) {
        let provider = Self { refusals: Arc::new(Mutex::new(refusals)), seen: Arc::default() };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(provider.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let key = Secret::new("the-key");
        let settings =
            UpstreamSettings { kind, base_url, key, limits: Limits::default(), hosted: HostedFeatures::default() };
        (provider, BTreeMap::from([("house".to_owned(), settings)]))
    }

    fn calls(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

async fn answer(State(provider): State<Provider>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let body = to_bytes(request.into_body(), usize::MAX).await.unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    provider.seen.lock().unwrap().push((path.clone(), body.clone()));
    let mut refusals = provider.refusals.lock().unwrap();
    if !refusals.is_empty() {
        let (status, body) = refusals.remove(0);
        return (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response();
    }
    let items = body["messages"].as_array().or_else(|| body["contents"].as_array()).unwrap();
    let spoken = items.iter().filter(|item| item["role"] == "assistant" || item["role"] == "model").count();
    let (tool, input) = match spoken {
        0 => ("plan_tasks", json!({"tasks": [{"id": "1", "description": "make it", "status": "completed"}]})),
        1 => ("write_file", json!({"path": "a.txt", "content": "a\n"})),
        2 => ("observe", json!({})),
        _ => ("reflect", json!({"goal_achieved": true, "progress": 1, "content": "all is there"})),
    };
    let stream = if path.ends_with("GenerateContent") {
        let part = json!({"functionCall": {"name": tool, "args": input}, "thoughtSignature": format!("sig-{spoken}")});
        let usage = json!({"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110});
        let candidate = json!({"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"});
        format!("data: {}\r\n\r\n", json!({"candidates": [candidate], "usageMetadata": usage}))
    } else {
        chat(spoken, tool, &input)
    };
    ([(header::CONTENT_TYPE, "text/event-stream")], Bytes::from(stream)).into_response()
}

fn chat(spoken: usize, tool: &str, input: &Value) -> String {
    let function = json!({"name": tool, "arguments": input.to_string()});
    let call = json!({"index": 0, "id": format!("call_{spoken}"), "type": "function", "function": function});
    let chunks = [
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": null}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}),
    ];
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>() + "data: [DONE]\n\n"
}

#[track_caller]
fn assert_done(run: &Run) {
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
}

#[tokio::test]
async fn a_spent_usage_window_holds_the_run_until_it_opens_and_nobody_has_to_do_anything() {
    let error = json!({"type": "usage_limit_reached", "message": "your week is used up", "resets_in_seconds": 2});
    let (provider, upstreams) = Provider::start(UpstreamKind::OpenAi, vec![(429, json!({"error": error}))]).await;
    let world = World::with(SCRIPT, upstreams);
    let begun = Timestamp::now();
    let run = world.work_with("goal", "true", &["house/m"], |_, hold| panic!("{hold:?}")).await;
    assert_done(&run);
    let passed = world.passed.lock().unwrap();
    assert_eq!(passed.len(), 1);
    let hold = &passed[0];
    assert_eq!(hold.kind, HoldKind::Quota);
    assert!(hold.summary.contains("your week is used up"), "{}", hold.summary);
    let deadline = hold.deadline.unwrap();
    assert!(deadline.duration_since(begun) >= SignedDuration::from_secs(2), "the provider's own time: {deadline}");
    assert!(deadline.duration_since(begun) < SignedDuration::from_mins(5), "the provider's own time: {deadline}");
    assert_eq!(provider.calls(), 5, "one refusal, and four turns when the window was open");
}

#[tokio::test]
async fn what_a_role_says_about_its_model_reaches_the_provider() {
    for kind in [UpstreamKind::OpenAi, UpstreamKind::Gemini] {
        let (provider, upstreams) = Provider::start(kind, Vec::new()).await;
        let world = World::with(SCRIPT, upstreams);
        let roles = world.repo().parent().unwrap().join("home/roles");
        std::fs::create_dir_all(&roles).unwrap();
        std::fs::write(roles.join("pursuer.toml"), "temperature = 0.25\nmax_tokens = 3000\n").unwrap();
        let run = world.work_with("goal", "true", &["house/m"], |_, hold| panic!("{hold:?}")).await;
        assert_done(&run);
        let seen = provider.seen.lock().unwrap();
        let body = &seen[0].1;
        let body = body.get("generationConfig").unwrap_or(body);
        let most = ["max_tokens", "max_completion_tokens", "maxOutputTokens"].iter().find_map(|key| body.get(key));
        assert_eq!((&body["temperature"], most), (&json!(0.25), Some(&json!(3000))), "{body}");
    }
}

#[tokio::test]
async fn the_next_model_of_the_list_takes_over_and_is_remembered() {
    let gone = || (404, json!({"error": {"message": "no such model"}}));
    let (provider, upstreams) = Provider::start(UpstreamKind::OpenAi, vec![gone()]).await;
    let world = World::with(SCRIPT, upstreams);
    let run = world.work_with("goal", "true", &["house/m", "scripted/story"], |_, _| yes()).await;
    assert_done(&run);
    assert_eq!(provider.calls(), 1, "the second turn goes to the model that answered the first");
    let turns = world.turn_lines(&run.id, "pursuer", 1);
    let models: Vec<&Value> = turns.iter().filter_map(|turn| turn["assistant"].get("model")).collect();
    assert_eq!(models, ["scripted/story"; 4]);
    assert_eq!(run.spend.calls, 5, "the refused call is on record too");
}

#[tokio::test]
async fn a_spent_window_of_the_first_model_does_not_stop_a_run_that_has_a_second() {
    let error = json!({"code": "insufficient_quota", "message": "pay first"});
    let (provider, upstreams) = Provider::start(UpstreamKind::OpenAi, vec![(429, json!({"error": error}))]).await;
    let world = World::with(SCRIPT, upstreams);
    let run = world.work_with("goal", "true", &["house/m", "scripted/story"], |_, _| yes()).await;
    assert_done(&run);
    assert_eq!((provider.calls(), world.passed.lock().unwrap().len()), (1, 0));
}

#[tokio::test]
async fn our_agent_works_with_a_gemini_provider_and_gives_signatures_back() {
    let (provider, upstreams) = Provider::start(UpstreamKind::Gemini, Vec::new()).await;
    let world = World::with(SCRIPT, upstreams);
    let run = world.work_with("goal", "true", &["house/gemini-3-pro"], |_, _| yes()).await;
    assert_done(&run);
    assert_eq!(world.file(&run.opened().branch, "a.txt"), "a\n");
    let seen = provider.seen.lock().unwrap();
    assert_eq!(seen.len(), 4);
    assert_eq!(seen[0].0, "/v1beta/models/gemini-3-pro:streamGenerateContent");
    let call = &seen[1].1["contents"][1]["parts"][0];
    assert_eq!((&call["functionCall"]["name"], &call["thoughtSignature"]), (&json!("plan_tasks"), &json!("sig-0")));
}
