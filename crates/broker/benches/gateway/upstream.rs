//! A fake upstream that answers at once: Anthropic Messages and OpenAI Chat, plain and streaming.

use std::net::Ipv4Addr;

use axum::Router;
use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::Result;

const PIECES: usize = 12;
const PIECE: &str = "some words of an answer that goes on for a while, ";

pub(super) fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        println!("{}", listener.local_addr()?.port());
        let (messages, chat) = (Answer::messages(), Answer::chat());
        let router = Router::new()
            .route("/v1/messages", post(move |body: Bytes| async move { messages.to(&body) }))
            .route("/v1/chat/completions", post(move |body: Bytes| async move { chat.to(&body) }));
        let listener = listener.tap_io(|stream| {
            // Without it a small event may wait for the one before to be acknowledged.
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, router).await?;
        Ok(())
    })
}

/// Both forms of one answer, ready to be sent.
#[derive(Clone)]
struct Answer {
    whole: Bytes,
    events: Vec<Bytes>,
}

impl Answer {
    fn to(&self, request: &[u8]) -> Response {
        let streams = request.windows(13).any(|window| window == b"\"stream\":true" || window == b"\"stream\": tru");
        if !streams {
            return ([(header::CONTENT_TYPE, "application/json")], self.whole.clone()).into_response();
        }
        let events = stream::iter(self.events.clone()).then(|event| async {
            // Lets the event before leave on its own, as it would from a model.
            tokio::task::yield_now().await;
            Ok::<_, std::io::Error>(event)
        });
        ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(events)).into_response()
    }

    fn messages() -> Self {
        let usage = json!({"input_tokens": 900, "output_tokens": 150, "cache_read_input_tokens": 0});
        let whole = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": PIECE.repeat(PIECES)}], "usage": usage});
        let start = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": null, "usage": {"input_tokens": 900, "output_tokens": 1}});
        let delta = json!({"type": "text_delta", "text": PIECE});
        let mut events = vec![
            json!({"type": "message_start", "message": start}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ];
        events.extend((0..PIECES).map(|_| json!({"type": "content_block_delta", "index": 0, "delta": delta})));
        events.extend([
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 150}}),
            json!({"type": "message_stop"}),
        ]);
        let frame = |event: &Value| {
            let name = event["type"].as_str().unwrap_or_default();
            Bytes::from(format!("event: {name}\ndata: {event}\n\n"))
        };
        Self { whole: whole.to_string().into(), events: events.iter().map(frame).collect() }
    }

    fn chat() -> Self {
        let usage = json!({"prompt_tokens": 900, "completion_tokens": 150, "total_tokens": 1050});
        let message = json!({"role": "assistant", "content": PIECE.repeat(PIECES)});
        let whole = json!({"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
        let chunk = |choices: Value, usage: Value| {
            json!({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices,
                "usage": usage})
        };
        let choice = |delta: Value, finish: Value| json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        let piece = |_| chunk(choice(json!({"role": "assistant", "content": PIECE}), Value::Null), Value::Null);
        let mut events: Vec<Value> = (0..PIECES).map(piece).collect();
        events.push(chunk(choice(json!({}), json!("stop")), Value::Null));
        events.push(chunk(json!([]), usage));
        let frames = events.iter().map(|event| Bytes::from(format!("data: {event}\n\n")));
        let events = frames.chain([Bytes::from_static(b"data: [DONE]\n\n")]).collect();
        Self { whole: whole.to_string().into(), events }
    }
}
