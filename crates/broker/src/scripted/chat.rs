//! A scripted reply in the OpenAI Chat Completions protocol.

use serde_json::{Value, json};

use super::Event;
use super::reply::{Reply, pieces};

/// Answers are the same every time, and so is their date.
pub(super) const CREATED: u64 = 1_767_225_600;

pub(crate) fn body(reply: &Reply) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text});
    if let Some(thought) = &reply.thought {
        message["reasoning_content"] = json!(thought);
    }
    let calls = reply.calls.iter().enumerate().map(|(index, call)| {
        json!({
            "id": reply.call_id("call", index),
            "type": "function",
            "function": {"name": call.tool, "arguments": call.arguments()},
        })
    });
    if !reply.calls.is_empty() {
        message["tool_calls"] = calls.collect();
    }
    json!({
        "id": reply.id("chatcmpl"),
        "object": "chat.completion",
        "created": CREATED,
        "model": reply.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(reply)}],
        "usage": usage(reply),
    })
}

pub(crate) fn events(reply: &Reply) -> Vec<Event> {
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    let thought = reply.thought.as_deref().unwrap_or("");
    deltas.extend(pieces(thought).into_iter().map(|part| json!({"reasoning_content": part})));
    let text = reply.text.as_deref().unwrap_or("");
    deltas.extend(pieces(text).into_iter().map(|part| json!({"content": part})));
    for (index, call) in reply.calls.iter().enumerate() {
        deltas.push(json!({"tool_calls": [{
            "index": index,
            "id": reply.call_id("call", index),
            "type": "function",
            "function": {"name": call.tool, "arguments": ""},
        }]}));
        for part in pieces(&call.arguments()) {
            let function = json!({"arguments": part});
            deltas.push(json!({"tool_calls": [{"index": index, "function": function}]}));
        }
    }
    let mut events: Vec<Event> = deltas
        .into_iter()
        .map(|delta| chunk(reply, json!([{"index": 0, "delta": delta, "finish_reason": null}])))
        .collect();
    let reason = finish_reason(reply);
    let last = json!([{"index": 0, "delta": {}, "finish_reason": reason}]);
    events.push(chunk(reply, last));
    let mut total = chunk(reply, json!([]));
    total.data["usage"] = usage(reply);
    events.push(total);
    events
}

fn chunk(reply: &Reply, choices: Value) -> Event {
    let data = json!({
        "id": reply.id("chatcmpl"),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": reply.model,
        "choices": choices,
        "usage": null,
    });
    Event { name: None, data }
}

fn usage(reply: &Reply) -> Value {
    let usage = &reply.usage;
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}

fn finish_reason(reply: &Reply) -> &'static str {
    if reply.calls.is_empty() { "stop" } else { "tool_calls" }
}
