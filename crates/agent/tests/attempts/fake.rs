//! A broker for tests: answers on a unix socket from a list of turns, in both APIs, streamed.

use std::convert::Infallible;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use drivers::{AgentEvent, Guidance, HandIn, Job, JobKind, Observation, PastAnswer};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// What the model does at one call.
#[derive(Clone)]
pub(crate) enum Turn {
    /// Text and calls (`tool`, input), and a proper end.
    Says(&'static str, Vec<(&'static str, Value)>),
    /// Thoughts, then a call.
    Thinks(&'static str, (&'static str, Value)),
    /// The stream ends in the middle.
    Cut,
    /// The stream says this and then nothing more, for ever.
    Stalls(&'static str),
    /// The request is taken and never answered.
    Hangs,
    /// An HTTP error.
    Fails(u16, Value),
}

const NONCE: &str = "known to the host alone";

struct Model {
    turns: Vec<Turn>,
    /// What sub-agents say.
    errands: Vec<Turn>,
    /// Answers to requests for a summary, one after the other; with these the turns, too, are played one after the
    /// other, because the requests no longer show how many there were.
    summaries: Option<Vec<Turn>>,
    requests: Vec<Value>,
    /// Told when a request will get no (more) answer.
    waiting: Arc<Notify>,
    handed_in: Option<HandIn>,
}

impl Turn {
    /// Faults are played once each.
    fn is_fault(&self) -> bool {
        matches!(self, Self::Cut | Self::Fails(..) | Self::Stalls(_) | Self::Hangs)
    }
}

pub(crate) struct Fake {
    pub(crate) folder: tempfile::TempDir,
    model: Arc<Mutex<Model>>,
    events: Vec<AgentEvent>,
}

impl Fake {
    pub(crate) async fn new(turns: Vec<Turn>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["session", "door", "work"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let model = Arc::new(Mutex::new(Model {
            turns,
            errands: Vec::new(),
            summaries: None,
            requests: Vec::new(),
            waiting: Arc::default(),
            handed_in: None,
        }));
        let router = Router::new()
            .route("/openai/v1/chat/completions", post(chat))
            .route("/anthropic/v1/messages", post(messages))
            .route("/handed-in", post(handed_in))
            .with_state(Arc::clone(&model));
        let listener = tokio::net::UnixListener::bind(folder.path().join("door/broker.sock")).unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { folder, model, events: Vec::new() }
    }

    /// What the model will do, where it follows from the folder.
    pub(crate) fn play(&self, turns: Vec<Turn>) {
        self.model.lock().unwrap().turns = turns;
    }

    /// What sub-agents will say, each from its beginning.
    pub(crate) fn errands(&self, turns: Vec<Turn>) {
        self.model.lock().unwrap().errands = turns;
    }

    /// A fake for conversations that are condensed.
    pub(crate) async fn condensing(turns: Vec<Turn>, summaries: Vec<Turn>) -> Self {
        let fake = Self::new(turns).await;
        fake.model.lock().unwrap().summaries = Some(summaries);
        fake
    }

    pub(crate) fn work(&self, path: &str) -> PathBuf {
        self.folder.path().join("work").join(path)
    }

    pub(crate) fn session(&self, path: &str) -> PathBuf {
        self.folder.path().join("session").join(path)
    }

    pub(crate) fn job(&self, kind: JobKind) -> Job {
        let value = json!({
            "run": "r1", "role": "worker", "kind": kind, "model": "scripted/story-high",
            "workspace": self.folder.path().join("work"),
            "request": "Make it so", "notes": [], "answers": [], "maxTurns": 20,
        });
        serde_json::from_value(value).unwrap()
    }

    pub(crate) fn put_job(&self, job: &Job) {
        std::fs::write(self.session("job.json"), serde_json::to_vec(job).unwrap()).unwrap();
        self.model.lock().unwrap().handed_in = None;
    }

    /// What a process is started with.
    pub(crate) fn options(&self) -> agent::Options {
        options(self.folder.path())
    }

    /// Runs one attempt as Holdpoint would.
    pub(crate) async fn attempt(&mut self, job: &Job) -> HandIn {
        self.put_job(job);
        let mut out = Vec::new();
        let hand_in = agent::run_to(self.options(), &mut out).await.unwrap();
        let lines = String::from_utf8(out).unwrap();
        self.events = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let result = self.model.lock().unwrap().handed_in.clone();
        assert_eq!(result.as_ref(), Some(&hand_in), "what is returned is what was handed in");
        assert!(matches!(self.events.last(), Some(AgentEvent::Ended { .. })), "{:?}", self.events);
        hand_in
    }

    pub(crate) fn events(&self) -> &[AgentEvent] {
        &self.events
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.model.lock().unwrap().requests.clone()
    }

    /// Waits until a request hangs.
    pub(crate) async fn hangs(&self) {
        let waiting = Arc::clone(&self.model.lock().unwrap().waiting);
        waiting.notified().await;
    }

    /// What a person says to the working agent, as Holdpoint writes it down.
    pub(crate) fn tell(&self, number: u32, text: &str) {
        let at = "2026-01-01T00:00:00Z".parse().unwrap();
        let said = Guidance { number: number.into(), by: "ada".into(), text: text.into(), at };
        let line = serde_json::to_string(&said).unwrap() + "\n";
        let mut file =
            std::fs::OpenOptions::new().create(true).append(true).open(self.session("guidance.jsonl")).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }

    pub(crate) fn observations(&self) -> Vec<Observation> {
        let text = std::fs::read_to_string(self.session("observations.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn calls(&self) -> usize {
        self.model.lock().unwrap().requests.len()
    }

    /// Complete lines of the conversation.
    pub(crate) fn records(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.session("turns.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub(crate) fn answer(question: &str, answer: Option<&str>) -> PastAnswer {
    PastAnswer { question: question.into(), answer: answer.map(|answer| vec![answer.to_owned()]) }
}

pub(crate) fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

/// The turn follows from the number of answers in the request, so that a repeated call gets the same answer,
/// except that faults are played once each. A call that was interrupted is made again, as a model would.
fn next(model: &Mutex<Model>, body: &Bytes) -> Turn {
    let mut model = model.lock().unwrap();
    let request: Value = serde_json::from_slice(body).unwrap();
    let messages = request["messages"].as_array().unwrap().clone();
    model.requests.push(request);
    if model.summaries.is_some() {
        let Model { turns, summaries: Some(summaries), .. } = &mut *model else { unreachable!() };
        return if is_summary(&messages) { summaries.remove(0) } else { turns.remove(0) };
    }
    if messages[0]["content"].as_str().is_some_and(|system| system.starts_with("You are a sub-agent")) {
        let spoken = messages.iter().filter(|message| message["role"] == "assistant").count();
        let over = Turn::Fails(400, json!({"error": {"message": "the errand is over"}}));
        return match model.errands.iter().position(Turn::is_fault) {
            Some(at) if at == spoken => model.errands.remove(at),
            _ => model.errands.get(spoken).cloned().unwrap_or(over),
        };
    }
    let (mut spoken, mut again) = (0, Vec::new());
    for message in &messages {
        if message["role"] == "assistant" {
            spoken += usize::from(again.is_empty());
            again.clear();
        }
        if message["content"].as_str().is_some_and(|text| text.starts_with("Error: interrupted:")) {
            again.push(message["tool_call_id"].clone());
        }
    }
    if !again.is_empty() {
        let calls = messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
        let redone = calls.filter(|call| again.contains(&call["id"])).map(|call| {
            let tool = call["function"]["name"].as_str().unwrap().to_owned();
            let input = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
            (&*tool.leak(), input)
        });
        return Turn::Says("", redone.collect());
    }
    match model.turns.iter().position(Turn::is_fault) {
        Some(at) if at == spoken => model.turns.remove(at),
        _ => model
            .turns
            .get(spoken)
            .cloned()
            .unwrap_or(Turn::Fails(400, json!({"error": {"message": "script is over"}}))),
    }
}

pub(crate) fn is_summary(messages: &[Value]) -> bool {
    messages[0]["content"].as_str().is_some_and(|system| system.starts_with("You condense the record"))
}

/// An answer that never comes to its end.
fn endless(model: &Mutex<Model>, begin: String) -> Response {
    model.lock().unwrap().waiting.notify_one();
    let pieces = stream::once(async { Ok::<_, Infallible>(begin) }).chain(stream::pending());
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(pieces)).into_response()
}

async fn hang(model: &Mutex<Model>) -> Response {
    model.lock().unwrap().waiting.notify_one();
    std::future::pending().await
}

fn whole(text: String) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream")], text).into_response()
}

/// What a process is started with that works in this folder.
pub(crate) fn options(folder: &Path) -> agent::Options {
    agent::Options { session: folder.join("session"), door: folder.join("door"), nonce: agent::Nonce::new(NONCE) }
}

async fn handed_in(State(model): State<Arc<Mutex<Model>>>, headers: HeaderMap, body: Bytes) -> Response {
    assert_eq!(headers["x-holdpoint-nonce"], NONCE);
    model.lock().unwrap().handed_in = Some(serde_json::from_slice(&body).unwrap());
    axum::Json(json!({})).into_response()
}

async fn chat(State(model): State<Arc<Mutex<Model>>>, body: Bytes) -> Response {
    let chunk = |delta: Value, finish: Value| {
        format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
    };
    let turn = next(&model, &body);
    let number = model.lock().unwrap().requests.len();
    let mut out = chunk(json!({"role": "assistant", "content": ""}), Value::Null);
    let (thoughts, text, calls) = match turn {
        Turn::Fails(status, body) => return (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response(),
        Turn::Cut => return whole(out + &chunk(json!({"content": "I was about to"}), Value::Null)),
        Turn::Stalls(text) => return endless(&model, out + &chunk(json!({"content": text}), Value::Null)),
        Turn::Hangs => return hang(&model).await,
        Turn::Says(text, calls) => ("", text, calls),
        Turn::Thinks(thoughts, call) => (thoughts, "", vec![call]),
    };
    if !thoughts.is_empty() {
        out += &chunk(json!({"reasoning_content": thoughts}), Value::Null);
    }
    for word in text.split_inclusive(' ') {
        out += &chunk(json!({"content": word}), Value::Null);
    }
    for (index, (tool, input)) in calls.iter().enumerate() {
        let input = input.as_str().map_or_else(|| input.to_string(), str::to_owned);
        let (head, tail) = input.split_at(input.len() / 2);
        let first = json!({"index": index, "id": format!("call_{number}_{index}"), "type": "function",
            "function": {"name": tool, "arguments": head}});
        out += &chunk(json!({"tool_calls": [first]}), Value::Null);
        out += &chunk(json!({"tool_calls": [{"index": index, "function": {"arguments": tail}}]}), Value::Null);
    }
    out += &chunk(json!({}), json!(if calls.is_empty() { "stop" } else { "tool_calls" }));
    let sent = if model.lock().unwrap().summaries.is_some() { body.len() / 4 } else { 11 };
    out += &format!("data: {}\n\n", json!({"choices": [], "usage": {"prompt_tokens": sent, "completion_tokens": 7}}));
    whole(out + "data: [DONE]\n\n")
}

async fn messages(State(model): State<Arc<Mutex<Model>>>, body: Bytes) -> Response {
    let event = |value: Value| format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap());
    let turn = next(&model, &body);
    let number = model.lock().unwrap().requests.len();
    let mut out = event(json!({"type": "message_start", "message": {"role": "assistant", "content": [],
        "usage": {"input_tokens": 11, "output_tokens": 1}}}));
    let mut blocks = Vec::new();
    match turn {
        Turn::Fails(status, body) => return (StatusCode::from_u16(status).unwrap(), body.to_string()).into_response(),
        Turn::Cut => return whole(out),
        Turn::Stalls(_) => return endless(&model, out),
        Turn::Hangs => return hang(&model).await,
        Turn::Says(text, calls) => {
            if !text.is_empty() {
                blocks.push((json!({"type": "text", "text": ""}), vec![json!({"type": "text_delta", "text": text})]));
            }
            blocks.extend(calls.into_iter().enumerate().map(|(index, call)| tool_block(number, index, call)));
        }
        Turn::Thinks(thoughts, call) => {
            let deltas = vec![
                json!({"type": "thinking_delta", "thinking": thoughts}),
                json!({"type": "signature_delta", "signature": "c2lnbmVk"}),
            ];
            blocks.push((json!({"type": "thinking", "thinking": "", "signature": ""}), deltas));
            blocks.push(tool_block(number, 0, call));
        }
    }
    for (index, (start, deltas)) in blocks.into_iter().enumerate() {
        out += &event(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            out += &event(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        out += &event(json!({"type": "content_block_stop", "index": index}));
    }
    out +=
        &event(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}}));
    whole(out + &event(json!({"type": "message_stop"})))
}

fn tool_block(number: usize, index: usize, (tool, input): (&str, Value)) -> (Value, Vec<Value>) {
    let start = json!({"type": "tool_use", "id": format!("toolu_{number}_{index}"), "name": tool, "input": {}});
    (start, vec![json!({"type": "input_json_delta", "partial_json": input.to_string()})])
}
