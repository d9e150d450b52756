//! Records of a conversation as a request of the model library. Pure.

use drivers::RoleSettings;
use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatRequest, ContentPart, CustomPart, MessageContent, Tool as ModelTool, ToolCall,
    ToolResponse,
};
use serde_json::{Value, json};

use crate::mcp::RemoteTool;
use crate::tools::{Offer, Tool};
use crate::turns::{Answer, CallResult, Record, Thought};

/// `model` is the one that is asked; what others thought is not shown to it.
pub(crate) fn build(
    records: &[Record],
    offer: Offer,
    settings: &RoleSettings,
    more: &[RemoteTool],
    adapter: AdapterKind,
    model: &str,
) -> ChatRequest {
    let mut messages = Vec::new();
    let mut results: Vec<&CallResult> = Vec::new();
    for record in records {
        if !matches!(record, Record::Results(_)) {
            messages.extend(settled(&mut results));
        }
        match record {
            Record::Opening { system, user } => {
                messages.push(ChatMessage::system(system.as_str()));
                messages.push(ChatMessage::user(user.as_str()));
            }
            Record::Assistant(answer) => messages.push(spoken(answer, model)),
            Record::Results(more) => results.extend(more),
            Record::Nudge { text } => messages.push(ChatMessage::user(text.as_str())),
            // Never in a context: `context::of` puts words in their place.
            Record::Begun { .. } | Record::Guidance(_) | Record::Compacted(_) => {}
        }
    }
    messages.extend(settled(&mut results));
    if adapter == AdapterKind::Anthropic {
        mark_for_cache(&mut messages);
    }
    // A model is not offered what would be refused; what hands in and asks always stays.
    let left = |tool: &Tool| match tool {
        Tool::Work(_) => settings.leaves(tool.definition().name),
        Tool::Goal(_) | Tool::Block(_) => true,
    };
    let tools = Tool::of(offer).into_iter().filter(left).map(described).chain(more.iter().map(remote));
    ChatRequest::new(messages).with_tools(tools.collect::<Vec<_>>())
}

/// The prefix up to the last message will be sent again with the next turn, and with it the system prompt.
fn mark_for_cache(messages: &mut [ChatMessage]) {
    let last = messages.len().saturating_sub(1);
    for (at, message) in messages.iter_mut().enumerate() {
        if at == 0 || at == last {
            message.options = Some(CacheControl::Ephemeral.into());
        }
    }
}

/// All results of one answer go back in one message, however many records they took.
fn settled(results: &mut Vec<&CallResult>) -> Option<ChatMessage> {
    if results.is_empty() {
        return None;
    }
    let words = |result: &CallResult| match result.ok {
        true => result.output.clone(),
        false => format!("Error: {}", result.output),
    };
    let responses =
        results.drain(..).map(|result| ToolResponse::new(&result.id, words(result)).with_fn_name(&result.tool));
    Some(ChatMessage::from(responses.collect::<Vec<_>>()))
}

fn spoken(answer: &Answer, model: &str) -> ChatMessage {
    let mut parts = Vec::new();
    // Thoughts and signatures are good only for the model that made them.
    let own = answer.model.as_deref().is_none_or(|by| by == model);
    for thought in answer.thoughts.iter().filter(|_| own) {
        match thought {
            Thought::Plain(text) => parts.push(ContentPart::ReasoningContent(text.clone())),
            Thought::Signed { text, signature } => {
                parts.push(ContentPart::ThoughtSignature(signature.clone()));
                parts.push(ContentPart::ReasoningContent(text.clone()));
            }
            Thought::Sealed(data) => {
                parts.push(ContentPart::Custom(CustomPart { model_iden: None, data: data.clone() }));
            }
        }
    }
    // APIs refuse empty text, and an answer with nothing in it at all.
    if !answer.text.trim().is_empty() {
        parts.push(ContentPart::from_text(&answer.text));
    } else if answer.calls.is_empty() {
        parts.push(ContentPart::from_text("(no answer)"));
    }
    parts.extend(answer.calls.iter().map(|call| {
        ContentPart::ToolCall(ToolCall {
            call_id: call.id.clone(),
            fn_name: call.tool.clone(),
            fn_arguments: object(&call.input),
            thought_signatures: (own && !call.signatures.is_empty()).then(|| call.signatures.clone()),
        })
    }));
    ChatMessage::assistant(MessageContent::from_parts(parts))
}

/// APIs take only objects back, also for a call whose input was none.
fn object(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        other => json!({"unreadable_input": other}),
    }
}

fn described(tool: Tool) -> ModelTool {
    let definition = tool.definition();
    ModelTool::new(definition.name).with_description(definition.description).with_schema(definition.schema)
}

fn remote(tool: &RemoteTool) -> ModelTool {
    ModelTool::new(tool.name.as_str()).with_description(&tool.description).with_schema(tool.schema.clone())
}
