//! One model call through the broker's socket: request out, streamed answer in.
//! Never retries, and never takes an answer for whole that did not say its end.

use std::path::Path;
use std::time::Duration;

use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStreamEvent, ContentPart, StreamEnd};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::{Value, json};

use crate::call_error::CallError;
use crate::conversation::Conversation;
use crate::events::Events;
use crate::request;
use crate::tools::Offer;
use crate::turns::{Answer, Call, Thought, Usage};

/// The broker's socket in the door folder.
pub(crate) const SOCKET: &str = "broker.sock";
/// Output tokens asked for where the API wants a number: some 60 KB of text.
const OUTPUT_TOKENS: u32 = 16_384;
/// Longest silence within an answer; reasoning models may be quiet for minutes.
const SILENCE: Duration = Duration::from_secs(600);

/// The model of a job, behind the broker.
pub(crate) struct Model {
    client: Client,
    target: ServiceTarget,
    options: ChatOptions,
    offer: Offer,
}

/// Why no client could be made.
#[derive(Debug, thiserror::Error)]
#[error("no client for the broker could be made: {0}")]
pub struct ClientError(String);

impl Model {
    pub(crate) fn new(door: &Path, name: &str, offer: Offer) -> Result<Self, ClientError> {
        // No proxy and no certificates: the socket is the only way, and a sandbox may have no trust store to load.
        let web = reqwest::Client::builder()
            .unix_socket(door.join(SOCKET))
            .no_proxy()
            .tls_certs_only([])
            .build()
            .map_err(|error| ClientError(error.to_string()))?;
        let client = Client::builder().with_reqwest(web).build().map_err(|error| ClientError(error.to_string()))?;
        let (adapter, endpoint) = match name.split_once('/') {
            Some(("anthropic", _)) => (AdapterKind::Anthropic, "http://broker/anthropic/v1/"),
            Some(_) | None => (AdapterKind::OpenAI, "http://broker/openai/v1/"),
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
        let target = ServiceTarget {
            endpoint: Endpoint::from_static(endpoint),
            auth: AuthData::from_single("broker"),
            model: ModelIden::new(adapter, "broker"),
        };
        Ok(Self { client, target, options, offer })
    }

    /// Asks for the next answer; pieces of it are said as they come.
    pub(crate) async fn answer(
        &self,
        conversation: &Conversation,
        turn: u32,
        events: &mut Events<'_>,
    ) -> Result<Answer, CallError> {
        let request = request::build(&conversation.context(), self.offer, self.target.model.adapter_kind);
        let response = self.client.exec_chat_stream(self.target.clone(), request, Some(&self.options)).await?;
        let mut stream = response.stream;
        while let Some(event) = stream.next().await {
            match event? {
                ChatStreamEvent::Chunk(chunk) => events.message(turn, &chunk.content)?,
                ChatStreamEvent::ReasoningChunk(chunk) => events.thought(turn, &chunk.content)?,
                ChatStreamEvent::End(end) => {
                    events.flush()?;
                    return Ok(whole(end));
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
                let call = Call { id: call.call_id, tool: call.fn_name, input: input(call.fn_arguments) };
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
