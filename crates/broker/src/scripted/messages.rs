//! A scripted reply in the Anthropic Messages protocol.

use serde_json::{Value, json};

use super::Event;
use super::reply::{Reply, pieces};

pub(crate) fn body(reply: &Reply) -> Value {
    let mut content = Vec::new();
    if let Some(thought) = &reply.thought {
        content.push(json!({
            "type": "thinking", "thinking": thought, "signature": reply.id("sig"),
        }));
    }
    if let Some(text) = &reply.text {
        content.push(json!({"type": "text", "text": text}));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        let id = reply.call_id("toolu", index);
        let input = if call.input.is_null() { json!({}) } else { call.input.clone() };
        content.push(json!({"type": "tool_use", "id": id, "name": call.tool, "input": input}));
    }
    message(reply, &content, json!(stop_reason(reply)), reply.usage.output)
}

pub(crate) fn events(reply: &Reply) -> Vec<Event> {
    let start = message(reply, &[], Value::Null, 1);
    let mut events = vec![
        event("message_start", json!({"type": "message_start", "message": start})),
        event("ping", json!({"type": "ping"})),
    ];
    let mut index = 0;
    let mut block = |start: Value, deltas: Vec<Value>| {
        let kind = "content_block_start";
        events.push(event(kind, json!({"type": kind, "index": index, "content_block": start})));
        for delta in deltas {
            let kind = "content_block_delta";
            events.push(event(kind, json!({"type": kind, "index": index, "delta": delta})));
        }
        let kind = "content_block_stop";
        events.push(event(kind, json!({"type": kind, "index": index})));
        index += 1;
    };
    if let Some(thought) = &reply.thought {
        let parts = pieces(thought).into_iter();
        let mut deltas: Vec<Value> = parts.map(|part| json!({"type": "thinking_delta", "thinking": part})).collect();
        deltas.push(json!({"type": "signature_delta", "signature": reply.id("sig")}));
        block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
    }
    if let Some(text) = &reply.text {
        let parts = pieces(text).into_iter();
        let deltas = parts.map(|part| json!({"type": "text_delta", "text": part}));
        block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    for (number, call) in reply.calls.iter().enumerate() {
        let id = reply.call_id("toolu", number);
        let arguments = call.arguments();
        let parts = pieces(&arguments).into_iter();
        let deltas = parts.map(|part| json!({"type": "input_json_delta", "partial_json": part}));
        block(json!({"type": "tool_use", "id": id, "name": call.tool, "input": {}}), deltas.collect());
    }
    events.push(event(
        "message_delta",
        json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
            "usage": {"output_tokens": reply.usage.output},
        }),
    ));
    events.push(event("message_stop", json!({"type": "message_stop"})));
    events
}

fn message(reply: &Reply, content: &[Value], stop_reason: Value, output: u64) -> Value {
    json!({
        "id": reply.id("msg"),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {
            "input_tokens": reply.usage.input,
            "cache_creation_input_tokens": reply.usage.cache_write,
            "cache_read_input_tokens": reply.usage.cache_read,
            "output_tokens": output,
        },
    })
}

fn stop_reason(reply: &Reply) -> &'static str {
    if reply.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn event(name: &'static str, data: Value) -> Event {
    let name = Some(name);
    Event { name, data }
}
