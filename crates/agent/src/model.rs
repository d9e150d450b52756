//! One model call through the broker's socket: request out, streamed answer in.
//! Never retries, and never takes an answer for whole that did not say its end.

use std::path::Path;
use std::time::Duration;

use drivers::{Job, ModelDoor, RoleSettings};
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStreamEvent, ContentPart, StreamEnd};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::{Value, json};

use crate::call_error::CallError;
use crate::conversation::Conversation;
use crate::events::Events;
use crate::mcp::RemoteTool;
use crate::request;
use crate::tools::Offer;
use crate::turns::{Answer, Call, Thought, Usage};

/// The broker's socket in the door folder.
pub(crate) const SOCKET: &str = "broker.sock";
/// Output tokens asked for where the API wants a number: some 60 KB of text.
const OUTPUT_TOKENS: u32 = 16_384;
/// Longest silence within an answer; reasoning models may be quiet for minutes.
const SILENCE: Duration = Duration::from_secs(600);

/// The models of a job, behind the broker: the first that works is used.
pub(crate) struct Model {
    client: Client,
    choices: Vec<Choice>,
    current: usize,
    offer: Offer,
    /// Tools of the offer that were taken from the role.
    settings: RoleSettings,
}

/// One of them, and how it is spoken to.
struct Choice {
    name: String,
    target: ServiceTarget,
    options: ChatOptions,
}

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
#[error("no client for the broker could be made: {0}")]
pub struct ClientError(String);

impl Model {
    /// `last` is the model that answered last in this conversation: it goes on, if it is still one of them.
    pub(crate) fn new(door: &Path, job: &Job, last: Option<&str>) -> Result<Self, ClientError> {
        // No proxy and no certificates: the socket is the only way, and a sandbox may have no trust store to load.
        let web = reqwest::Client::builder()
            .unix_socket(door.join(SOCKET))
            .no_proxy()
            .tls_certs_only([])
            .build()
            .map_err(|error| ClientError(error.to_string()))?;
        let client = Client::builder().with_reqwest(web).build().map_err(|error| ClientError(error.to_string()))?;
        let names = [&job.model].into_iter().chain(&job.fallbacks);
        let choices: Vec<Choice> = names.map(|name| Choice::new(name, job)).collect();
        let current = last.and_then(|last| choices.iter().position(|choice| choice.name == last)).unwrap_or(0);
        Ok(Self { client, choices, current, offer: job.into(), settings: job.settings.clone() })
    }

    /// Goes to the next model, if there is one; tells which.
    pub(crate) fn fall_back(&mut self) -> Option<&str> {
        let next = self.choices.get(self.current + 1)?;
        self.current += 1;
        Some(&next.name)
    }

    /// Asks for the next answer; pieces of it are said as they come. `more` are tools besides those of the offer.
    pub(crate) async fn answer(
        &self,
        conversation: &Conversation,
        more: &[RemoteTool],
        turn: u32,
        events: &mut Events<'_>,
    ) -> Result<Answer, CallError> {
        let Choice { name, target, options } = &self.choices[self.current];
        let adapter = target.model.adapter_kind;
        let context = conversation.context();
        let request = request::build(&context, self.offer, &self.settings, more, adapter, name);
        let response = self.client.exec_chat_stream(target.clone(), request, Some(options)).await?;
        let mut stream = response.stream;
        while let Some(event) = stream.next().await {
            match event? {
                ChatStreamEvent::Chunk(chunk) => events.message(turn, &chunk.content)?,
                ChatStreamEvent::ReasoningChunk(chunk) => events.thought(turn, &chunk.content)?,
                ChatStreamEvent::End(end) => {
                    events.flush()?;
                    // The library ends a Gemini answer that broke off as if it were whole.
                    if adapter == AdapterKind::Gemini && end.captured_stop_reason.is_none() {
                        break;
                    }
                    return Ok(Answer { model: Some(name.clone()), ..whole(end) });
                }
                // Calls are taken whole from the end; what streams before is the same text again and again.
                ChatStreamEvent::ToolCallChunk(_)
                | ChatStreamEvent::ThoughtSignatureChunk(_)
                | ChatStreamEvent::Start
                | ChatStreamEvent::Heartbeat => {}
            }
        }
        events.flush()?;
        Err(CallError::Passing("the answer broke off before its end".to_owned()))
    }
}

impl Choice {
    fn new(name: &str, job: &Job) -> Self {
        let provider = name.split_once('/').map_or("", |(provider, _)| provider);
        let door = job.doors.get(provider).copied().unwrap_or(match provider {
            "anthropic" => ModelDoor::Messages,
            "gemini" => ModelDoor::Gemini,
            _ => ModelDoor::Chat,
        });
        let (adapter, endpoint) = match door {
            ModelDoor::Messages => (AdapterKind::Anthropic, "http://broker/anthropic/v1/"),
            ModelDoor::Chat => (AdapterKind::OpenAI, "http://broker/openai/v1/"),
            ModelDoor::Gemini => (AdapterKind::Gemini, "http://broker/gemini/v1beta/"),
        };
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_reasoning_content(true)
            .with_capture_tool_calls(true)
            .with_stream_read_timeout(SILENCE)
            // The library reads meanings into model names (`::`, `-high`, `-max`) and changes them. It gets a name
            // without meaning, and the real one is put over it, as the broker must see it.
            .with_extra_body(json!({"model": name}));
        if adapter == AdapterKind::Anthropic {
            options = options.with_max_tokens(OUTPUT_TOKENS);
        }
        if let Some(most) = job.settings.max_tokens {
            options = options.with_max_tokens(most);
        }
        if let Some(temperature) = job.settings.temperature {
            options = options.with_temperature(temperature);
        }
        // Of Gemini's models it must know the generation: the newer ones want each call signed.
        let shown = if adapter == AdapterKind::Gemini { name } else { "broker" };
        let target = ServiceTarget {
            endpoint: Endpoint::from_static(endpoint),
            auth: AuthData::from_single("broker"),
            model: ModelIden::new(adapter, shown),
        };
        Self { name: name.to_owned(), target, options }
    }
}

fn whole(end: StreamEnd) -> Answer {
    let mut answer = Answer::default();
    let mut signature = None;
    for part in end.captured_content.into_iter().flat_map(|content| content.into_parts()) {
        match part {
            ContentPart::Text(text) => answer.text.push_str(&text),
            ContentPart::ThoughtSignature(sign) => {
                answer.thoughts.extend(signature.replace(sign).map(|sign| signed(String::new(), sign)));
            }
            ContentPart::ReasoningContent(text) => answer.thoughts.push(match signature.take() {
                Some(sign) => signed(text, sign),
                None => Thought::Plain(text),
            }),
            ContentPart::Custom(part) => answer.thoughts.push(Thought::Sealed(part.data)),
            ContentPart::ToolCall(call) => {
                let call = Call {
                    id: call.call_id,
                    tool: call.fn_name,
                    input: input(call.fn_arguments),
                    signatures: call.thought_signatures.unwrap_or_default(),
                };
                push_call(&mut answer.calls, call);
            }
            ContentPart::Binary(_) | ContentPart::ToolResponse(_) => {}
        }
    }
    answer.thoughts.extend(signature.map(|sign| signed(String::new(), sign)));
    if answer.thoughts.is_empty() {
        answer.thoughts.extend(end.captured_reasoning_content.map(Thought::Plain));
    }
    let tokens = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default();
    let usage = end.captured_usage.unwrap_or_default();
    answer.usage = Usage { input: tokens(usage.prompt_tokens), output: tokens(usage.completion_tokens) };
    answer
}

fn signed(text: String, signature: String) -> Thought {
    Thought::Signed { text, signature }
}

/// A call without parameters may come as nothing at all.
fn input(arguments: Value) -> Value {
    match arguments {
        Value::Null => json!({}),
        Value::String(text) if text.trim().is_empty() => json!({}),
        other => other,
    }
}

/// Results are matched to calls by id, so two calls of one answer must not share one.
fn push_call(calls: &mut Vec<Call>, mut call: Call) {
    if call.id.is_empty() || calls.iter().any(|other| other.id == call.id) {
        call.id = format!("{}_{}", call.id, calls.len());
    }
    calls.push(call);
}
