//! `scripted/<name>`: an upstream that answers from a file of turns, in every protocol, with
//! real streaming. It keeps no conversation: the turn follows from the request alone, so a
//! restarted agent gets the same answer again. Only the count of faults played is remembered.

mod chat;
mod fault;
mod gemini;
mod messages;
mod offered;
mod opening;
mod reply;
mod responses;
mod script;
mod turn;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

use crate::http::{Answer, AnswerBody, ScriptState};
use crate::protocol::Protocol;
use crate::refusal::Refusal;
use crate::request::{Ask, Streamed, Verb};

use fault::Fault;
use reply::Reply;
pub(crate) use reply::Scene;
pub(crate) use script::line_of;
pub use script::{Script, ScriptError};

/// The parts of an answer in the order they are sent.
type Frames = Vec<Bytes>;

pub(crate) struct ScriptedUpstream {
    script: Script,
    scene: Scene,
    /// Faults played so far, by turn.
    played: Mutex<HashMap<usize, u32>>,
}

impl ScriptedUpstream {
    pub(crate) fn new(script: Script, scene: Scene) -> Self {
        let played = Mutex::default();
        Self { script, scene, played }
    }

    pub(crate) fn answer(&self, ask: &Ask) -> Result<Answer, Refusal> {
        if ask.verb == Verb::Count {
            return Ok(whole(ask, &count(ask)));
        }
        if let Some(form) = gemini::form(ask) {
            return Ok(whole(ask, &form));
        }
        let Scene { role, visit, .. } = &self.scene;
        let conversation = self.script.conversation(role, *visit, &opening::of(ask));
        let conversation = conversation.ok_or_else(|| Refusal::NoConversation {
            script: self.script.name().to_owned(),
            role: role.clone(),
            visit: *visit,
        })?;
        let index = turn::index(ask, &self.scene, &conversation.turns);
        if offered::handed_in(ask) {
            return Ok(answer(
                ask,
                play(frames(ask, &Reply::closing(&self.scene, ask, index)), Duration::ZERO),
                ScriptState::Going,
            ));
        }
        let Some(turn) = conversation.turns.get(index) else {
            let reply = Reply::over(&self.scene, ask, index);
            let frames = frames(ask, &reply);
            let body = play(frames, Duration::ZERO);
            return Ok(answer(ask, body, ScriptState::Over));
        };
        let reply = Reply::of(&self.scene, ask, index, turn);
        if !reply.calls.is_empty() && !offered::any(ask) {
            // A small question on the side (a title, a summary) is no turn.
            let aside = reply.emptied().saying("a scripted answer");
            return Ok(answer(ask, play(frames(ask, &aside), Duration::ZERO), ScriptState::Going));
        }
        let fault = turn.fault.as_ref();
        if let Some(fault) = fault.filter(|fault| self.plays(index, fault)) {
            return Ok(fault.answer(ask, &reply));
        }
        let body = play(frames(ask, &reply), Duration::from_millis(turn.delay_ms));
        Ok(answer(ask, body, ScriptState::Going))
    }

    fn plays(&self, turn: usize, fault: &Fault) -> bool {
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let count = played.entry(turn).or_insert(0);
        let plays = *count < fault.times;
        *count = count.saturating_add(1);
        plays
    }
}

fn count(ask: &Ask) -> Value {
    let tokens = ask.input_estimate();
    match ask.protocol {
        Protocol::Gemini => json!({"totalTokens": tokens}),
        Protocol::Messages | Protocol::Chat | Protocol::Responses | Protocol::Embeddings => {
            json!({"input_tokens": tokens})
        }
    }
}

/// An answer beside the turns of the script.
fn whole(ask: &Ask, body: &Value) -> Answer {
    let frames = match ask.stream {
        Streamed::No => vec![Bytes::from(body.to_string())],
        Streamed::Yes => vec![Event { name: None, data: body.clone() }.frame()],
        Streamed::Array => vec![Bytes::from(format!("[{body}]"))],
    };
    answer(ask, play(frames, Duration::ZERO), ScriptState::Going)
}

/// One event of a stream.
struct Event {
    name: Option<&'static str>,
    data: Value,
}

fn frames(ask: &Ask, reply: &Reply) -> Frames {
    match ask.stream {
        Streamed::No => {
            let body = match ask.protocol {
                Protocol::Messages => messages::body(reply),
                // A script is never granted for embeddings.
                Protocol::Chat | Protocol::Embeddings => chat::body(reply),
                Protocol::Responses => responses::body(reply),
                Protocol::Gemini => gemini::body(reply),
            };
            vec![Bytes::from(body.to_string())]
        }
        Streamed::Array => gemini::array(reply),
        Streamed::Yes => {
            let events = match ask.protocol {
                Protocol::Messages => messages::events(reply),
                Protocol::Chat | Protocol::Embeddings => chat::events(reply),
                Protocol::Responses => responses::events(reply),
                Protocol::Gemini => gemini::events(reply),
            };
            let mut frames: Frames = events.iter().map(Event::frame).collect();
            if ask.protocol == Protocol::Chat {
                frames.push(Bytes::from_static(b"data: [DONE]\n\n"));
            }
            frames
        }
    }
}

impl Event {
    fn frame(&self) -> Bytes {
        let data = &self.data;
        Bytes::from(match self.name {
            Some(name) => format!("event: {name}\ndata: {data}\n\n"),
            None => format!("data: {data}\n\n"),
        })
    }
}

/// Sends the frames one by one, spread over `time`: a model that thinks for a while.
fn play(frames: Frames, time: Duration) -> AnswerBody {
    let pause = time / u32::try_from(frames.len().max(1)).unwrap_or(u32::MAX);
    let timed = stream::iter(frames).then(move |frame| async move {
        if pause.is_zero() {
            // Lets the frame before leave on its own, as it would from a real model.
            tokio::task::yield_now().await;
        } else {
            tokio::time::sleep(pause).await;
        }
        Ok(frame)
    });
    timed.boxed()
}

fn answer(ask: &Ask, body: AnswerBody, script: ScriptState) -> Answer {
    let content_type = match ask.stream {
        Streamed::Yes => "text/event-stream; charset=utf-8",
        Streamed::Array | Streamed::No => "application/json",
    };
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Answer { status: 200, headers, body, script, pass: None }
}
