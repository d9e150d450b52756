//! Test calls to models, against upstreams that speak each protocol and fail in each way.
#![expect(clippy::unwrap_used, reason = "what these helpers unwrap is made by the tests themselves")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use broker::calls::Outcome;
use broker::{HostedFeatures, Limits, Protocol, Secret, UpstreamKind};
use runner::{ModelError, ModelTry, Models, TriesSpend, TryError, UpstreamSettings, tries_so_far, try_model};
use serde_json::{Value, json};

const SCRIPT: &str = "[[conversation]]\nrole = 'planner'\nvisit = 2\nwhen = ['never said']\n[[conversation.turn]]\n\
                      text = 'no'\n[[conversation]]\nrole = 'coder'\n[[conversation.turn]]\ntext = 'ok'\n\
                      usage = { input = 1000, output = 100 }\n";

/// What an upstream was asked, and what it says instead of an answer.
#[derive(Clone, Default)]
struct Fake {
    refusal: Option<(u16, Value)>,
    seen: Arc<Mutex<Vec<(String, HeaderMap, Value)>>>,
}

async fn serve(State(fake): State<Fake>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body: Value = serde_json::from_slice(&to_bytes(body, usize::MAX).await.unwrap()).unwrap();
    let path = parts.uri.path().to_owned();
    fake.seen.lock().unwrap().push((path.clone(), parts.headers, body));
    if let Some((status, body)) = fake.refusal {
        return (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response();
    }
    let events = match path.as_str() {
        "/v1/messages" => vec![
            json!({"type": "message_start", "message": {"usage": {"input_tokens": 12, "output_tokens": 1}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}}),
            json!({"type": "message_stop"}),
        ],
        "/v1/chat/completions" => vec![
            json!({"choices": [{"index": 0, "delta": {"content": "ok"}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 4}}),
        ],
        "/v1/responses" => vec![
            json!({"type": "response.output_text.delta", "delta": "ok"}),
            json!({"type": "response.completed", "response": {"status": "completed",
                "output": [{"type": "message"}], "usage": {"input_tokens": 12, "output_tokens": 4}}}),
        ],
        _ => vec![json!({
            "candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 12, "candidatesTokenCount": 4},
        })],
    };
    let done = if path.ends_with("completions") { "data: [DONE]\n\n" } else { "" };
    let stream = events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>() + done;
    ([(header::CONTENT_TYPE, "text/event-stream")], stream).into_response()
}

impl Fake {
    async fn start(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(serve).with_state(self.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        url
    }
}

fn models(home: &Path, provider: &str, kind: UpstreamKind, base_url: String) -> Models {
    let script = home.join("story.toml");
    std::fs::write(&script, SCRIPT).unwrap();
    let settings = UpstreamSettings {
        kind,
        base_url,
        key: Secret::new("sk-secret"),
        limits: Limits::default(),
        hosted: HostedFeatures::default(),
    };
    Models {
        upstreams: BTreeMap::from([(provider.to_owned(), settings)]),
        scripts: BTreeMap::from([("story".to_owned(), script)]),
        prices: broker::prices::table(),
        search: None,
        embeddings: None,
        shared: runner::SharedLimits::default(),
        keys: runner::KeyCommands::default(),
    }
}

async fn ask(home: &Path, models: &Models, model: &str, protocol: Option<Protocol>) -> ModelTry {
    try_model(models, home, &model.parse().unwrap(), protocol).await.unwrap()
}

#[track_caller]
fn assert_answered(tried: &ModelTry, protocol: Protocol, cost: Option<u64>) {
    let settled = tried.settled.as_ref().unwrap();
    assert_eq!((tried.status, settled.outcome), (Some(200), Outcome::Ok), "{tried:?}");
    assert_eq!((settled.input_tokens, settled.output_tokens, settled.usage_known), (12, 4, true));
    assert_eq!((tried.protocol, settled.micro_usd.map(|cost| cost.0)), (protocol, cost));
    let first_byte = tried.first_byte.unwrap();
    assert!(!first_byte.is_zero() && first_byte <= tried.total, "{tried:?}");
}

#[tokio::test]
async fn every_protocol_is_tried_with_few_tokens_and_the_key_and_leaves_a_record() {
    let home = tempfile::tempdir().unwrap();
    let cases = [
        ("anthropic/claude-sonnet-4-5", UpstreamKind::Anthropic, None, Protocol::Messages, Some(96), "x-api-key"),
        ("openai/gpt-4o", UpstreamKind::OpenAi, None, Protocol::Chat, Some(70), "authorization"),
        (
            "openai/gpt-4o",
            UpstreamKind::OpenAi,
            Some(Protocol::Responses),
            Protocol::Responses,
            Some(70),
            "authorization",
        ),
        ("gemini/gemini-2.5-pro", UpstreamKind::Gemini, None, Protocol::Gemini, Some(55), "x-goog-api-key"),
        ("house/of-cards", UpstreamKind::OpenAi, None, Protocol::Chat, None, "authorization"),
    ];
    for (model, kind, said, protocol, cost, header) in cases {
        let fake = Fake::default();
        let provider = model.split('/').next().unwrap();
        let models = models(home.path(), provider, kind, fake.start().await);
        assert_answered(&ask(home.path(), &models, model, said).await, protocol, cost);
        let seen = fake.seen.lock().unwrap().clone();
        assert_eq!(seen.len(), 1, "one call");
        let (_, headers, body) = &seen[0];
        assert!(headers[header].to_str().unwrap().ends_with("sk-secret"));
        assert!(body.to_string().contains(":16"), "{body}");
    }
    let spend = tries_so_far(home.path()).unwrap();
    assert_eq!(spend, TriesSpend { calls: 5, cost: domain::Micros(96 + 70 + 70 + 55), unpriced: 1 });
    let sockets = std::fs::read_dir(runner::tries_folder(home.path())).unwrap();
    assert_eq!(sockets.filter(|entry| entry.as_ref().unwrap().path().extension().unwrap() == "sock").count(), 0);
}

#[tokio::test]
async fn a_model_for_embeddings_is_tried_with_one_text() {
    let home = tempfile::tempdir().unwrap();
    let body = json!({"data": [{"index": 0, "embedding": [0.1]}], "usage": {"prompt_tokens": 50, "total_tokens": 50}});
    let fake = Fake { refusal: Some((200, body)), ..Fake::default() };
    let models = models(home.path(), "openai", UpstreamKind::OpenAi, fake.start().await);
    let embeddings = Some(Protocol::Embeddings);
    let tried = ask(home.path(), &models, "openai/text-embedding-3-small", embeddings).await;
    let settled = tried.settled.as_ref().unwrap();
    assert_eq!((tried.status, settled.outcome, settled.input_tokens), (Some(200), Outcome::Ok, 50), "{tried:?}");
    assert_eq!(settled.micro_usd.map(|cost| cost.0), Some(1), "two cents a million");
    let (path, _, body) = fake.seen.lock().unwrap().remove(0);
    assert_eq!((path.as_str(), &body["model"]), ("/v1/embeddings", &json!("text-embedding-3-small")));
    let other = "gemini/gemini-2.5-pro".parse().unwrap();
    let models = self::models(home.path(), "gemini", UpstreamKind::Gemini, "http://127.0.0.1:9".to_owned());
    let refused = try_model(&models, home.path(), &other, embeddings).await.unwrap_err();
    assert!(refused.to_string().contains("`gemini` has no embeddings"), "{refused}");
}

#[tokio::test]
async fn a_script_is_tried_in_a_part_it_knows() {
    let home = tempfile::tempdir().unwrap();
    let models = models(home.path(), "house", UpstreamKind::OpenAi, "http://127.0.0.1:9".to_owned());
    let tried = ask(home.path(), &models, "scripted/story", None).await;
    let settled = tried.settled.unwrap();
    assert_eq!((settled.outcome, settled.micro_usd.unwrap().0), (Outcome::Ok, 1_500));
}

#[tokio::test]
async fn a_refusal_is_told_once_with_its_words_and_costs_nothing() {
    let cases = [
        (401, json!({"error": {"message": "bad key", "code": "invalid_api_key"}}), "invalid_api_key", Outcome::Error),
        (404, json!({"error": {"message": "no such model"}}), "", Outcome::Error),
        (
            529,
            json!({"error": {"message": "overloaded", "type": "overloaded_error"}}),
            "overloaded_error",
            Outcome::Error,
        ),
        (429, json!({"error": {"message": "spent", "code": "insufficient_quota"}}), "holdpoint_quota", Outcome::Quota),
    ];
    for (status, body, code, outcome) in cases {
        let home = tempfile::tempdir().unwrap();
        let fake = Fake { refusal: Some((status, body)), ..Fake::default() };
        let models = models(home.path(), "house", UpstreamKind::OpenAi, fake.start().await);
        let tried = ask(home.path(), &models, "house/m", None).await;
        let settled = tried.settled.as_ref().unwrap();
        assert_eq!((tried.status, tried.code.as_str(), settled.outcome), (Some(status), code, outcome), "{tried:?}");
        assert!(!tried.said.is_empty() && tried.first_byte.is_none(), "{tried:?}");
        assert_eq!((settled.input_tokens, fake.seen.lock().unwrap().len()), (0, 1), "{status} is not tried again");
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_at_once() {
    let home = tempfile::tempdir().unwrap();
    let models = models(home.path(), "house", UpstreamKind::OpenAi, "http://127.0.0.1:9".to_owned());
    let tried = ask(home.path(), &models, "house/m", None).await;
    assert_eq!((tried.status, tried.code.as_str()), (Some(502), "holdpoint_unreachable"));
    assert!(tried.said.contains("refused"), "{}", tried.said);
}

#[tokio::test]
async fn a_model_nobody_offers_is_an_error_and_leaves_no_record() {
    let home = tempfile::tempdir().unwrap();
    let models = models(home.path(), "house", UpstreamKind::OpenAi, "http://127.0.0.1:9".to_owned());
    let error = try_model(&models, home.path(), &"xai/grok-4".parse().unwrap(), None).await.unwrap_err();
    assert!(matches!(error, TryError::Model(ModelError::UnknownProvider { .. })), "{error}");
    assert_eq!(tries_so_far(home.path()).unwrap(), TriesSpend::default());
}
