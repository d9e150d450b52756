//! `scripted/<name>`: an upstream that answers from a file of turns, in every protocol, with
//! real streaming. It keeps no conversation: the turn follows from the request alone, so a
//! restarted agent gets the same answer again. Only the count of faults played is remembered, and
//! a log of its own tells what was answered.

mod chat;
mod fault;
mod gemini;
mod ledger;
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

use fault::{Fault, FaultKind};
use ledger::{Given, Ledger, Line};
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
    ledger: Ledger,
}

impl ScriptedUpstream {
    pub(crate) fn new(script: Script, scene: Scene) -> Self {
        let ledger = Ledger::new(script.log());
        Self { script, scene, played: Mutex::default(), ledger }
    }

    pub(crate) fn answer(&self, ask: &Ask) -> Result<Answer, Refusal> {
        if ask.verb == Verb::Count {
            return Ok(answer(ask, play(whole(ask, &count(ask)), Duration::ZERO), ScriptState::Going));
        }
        if let Some((form, usage)) = gemini::form(ask) {
            let line = Line::new(&self.scene, ask, None, usage);
            return Ok(self.gives(ask, whole(ask, &form), Duration::ZERO, line));
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
            return Ok(self.says(ask, &Reply::closing(&self.scene, ask, index), Duration::ZERO));
        }
        let Some(turn) = conversation.turns.get(index) else {
            let said = self.says(ask, &Reply::over(&self.scene, ask, index), Duration::ZERO);
            return Ok(Answer { script: ScriptState::Over, ..said });
        };
        let reply = Reply::of(&self.scene, ask, index, turn);
        if !reply.calls.is_empty() && !offered::any(ask) {
            // A small question on the side (a title, a summary) is no turn.
            return Ok(self.says(ask, &reply.emptied().saying("a scripted answer"), Duration::ZERO));
        }
        let fault = turn.fault.as_ref().filter(|fault| self.plays(index, fault));
        Ok(match fault {
            Some(fault) => self.fails(ask, &reply, fault),
            None => self.says(ask, &reply, Duration::from_millis(turn.delay_ms)),
        })
    }

    fn says(&self, ask: &Ask, reply: &Reply, time: Duration) -> Answer {
        self.gives(ask, frames(ask, reply), time, self.line(ask, reply))
    }

    fn gives(&self, ask: &Ask, frames: Frames, time: Duration, line: Line) -> Answer {
        let body = self.ledger.follow(line, frames.len(), play(frames, time));
        answer(ask, body, ScriptState::Going)
    }

    fn fails(&self, ask: &Ask, reply: &Reply, fault: &Fault) -> Answer {
        let line = |reply: &Reply| self.line(ask, reply).with_fault(fault.kind.name());
        let answer = fault.answer(ask, reply);
        match &fault.kind {
            FaultKind::Empty => {
                let empty = reply.emptied();
                let body = self.ledger.follow(line(&empty), frames(ask, &empty).len(), answer.body);
                return Answer { body, ..answer };
            }
            FaultKind::Status { .. } => self.ledger.write(&line(reply), Given::Refused),
            FaultKind::Cut { .. } | FaultKind::Stall { .. } | FaultKind::Malformed => {
                self.ledger.write(&line(reply), Given::Broken);
            }
        }
        answer
    }

    fn line(&self, ask: &Ask, reply: &Reply) -> Line {
        Line::new(&self.scene, ask, Some(reply.turn), reply.usage)
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
fn whole(ask: &Ask, body: &Value) -> Frames {
    match ask.stream {
        Streamed::No => vec![Bytes::from(body.to_string())],
        Streamed::Yes => vec![Event { name: None, data: body.clone() }.frame()],
        Streamed::Array => vec![Bytes::from(format!("[{body}]"))],
    }
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
