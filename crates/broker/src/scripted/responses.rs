//! A scripted reply in the OpenAI Responses protocol.

use serde_json::{Value, json};

use super::Event;
use super::chat::CREATED;
use super::reply::{Reply, ToolCall, pieces};

pub(crate) fn body(reply: &Reply) -> Value {
    let mut output = Vec::new();
    output.extend(reply.thought.as_deref().map(|thought| reasoning(reply, thought)));
    output.extend(reply.text.as_deref().map(|text| message(reply, text)));
    let calls = reply.calls.iter().enumerate();
    output.extend(calls.map(|(index, call)| function_call(reply, index, call, &call.arguments())));
    response(reply, "completed", json!(output), usage(reply))
}

pub(crate) fn events(reply: &Reply) -> Vec<Event> {
    let mut stream = Stream::default();
    let start = response(reply, "in_progress", json!([]), Value::Null);
    stream.push("response.created", json!({"response": start}));
    stream.push("response.in_progress", json!({"response": start}));
    if let Some(thought) = &reply.thought {
        stream.reasoning(reply, thought);
    }
    if let Some(text) = &reply.text {
        stream.message(reply, text);
    }
    for (index, call) in reply.calls.iter().enumerate() {
        stream.function_call(reply, index, call);
    }
    stream.push("response.completed", json!({"response": body(reply)}));
    stream.events
}

/// Events in order, each with its number and the place of its item in the output.
#[derive(Default)]
struct Stream {
    events: Vec<Event>,
    item: usize,
}

impl Stream {
    fn push(&mut self, name: &'static str, mut data: Value) {
        data["type"] = json!(name);
        data["sequence_number"] = json!(self.events.len());
        let name = Some(name);
        self.events.push(Event { name, data });
    }

    fn added(&mut self, item: Value) {
        let at = self.item;
        self.push("response.output_item.added", json!({"output_index": at, "item": item}));
    }

    fn done(&mut self, item: Value) {
        let at = self.item;
        self.push("response.output_item.done", json!({"output_index": at, "item": item}));
        self.item += 1;
    }

    fn reasoning(&mut self, reply: &Reply, thought: &str) {
        let (at, id) = (self.item, reply.id("rs"));
        self.added(json!({"id": id, "type": "reasoning", "summary": []}));
        let whole = json!({"type": "summary_text", "text": thought});
        let place =
            |field: &str, value: Value| json!({"item_id": id, "output_index": at, "summary_index": 0, field: value});
        let blank = json!({"type": "summary_text", "text": ""});
        self.push("response.reasoning_summary_part.added", place("part", blank));
        for part in pieces(thought) {
            self.push("response.reasoning_summary_text.delta", place("delta", json!(part)));
        }
        self.push("response.reasoning_summary_text.done", place("text", json!(thought)));
        self.push("response.reasoning_summary_part.done", place("part", whole));
        self.done(reasoning(reply, thought));
    }

    fn message(&mut self, reply: &Reply, text: &str) {
        let (at, id) = (self.item, reply.id("msg"));
        let role = "assistant";
        self.added(json!({"id": id, "type": "message", "status": "in_progress", "role": role, "content": []}));
        let place =
            |field: &str, value: Value| json!({"item_id": id, "output_index": at, "content_index": 0, field: value});
        self.push("response.content_part.added", place("part", output_text("")));
        for part in pieces(text) {
            self.push("response.output_text.delta", place("delta", json!(part)));
        }
        self.push("response.output_text.done", place("text", json!(text)));
        self.push("response.content_part.done", place("part", output_text(text)));
        self.done(message(reply, text));
    }

    fn function_call(&mut self, reply: &Reply, index: usize, call: &ToolCall) {
        let at = self.item;
        let arguments = call.arguments();
        let mut start = function_call(reply, index, call, "");
        start["status"] = json!("in_progress");
        let id = start["id"].clone();
        self.added(start);
        let place = |field: &str, value: &str| json!({"item_id": id, "output_index": at, field: value});
        for part in pieces(&arguments) {
            self.push("response.function_call_arguments.delta", place("delta", part));
        }
        self.push("response.function_call_arguments.done", place("arguments", &arguments));
        self.done(function_call(reply, index, call, &arguments));
    }
}

fn response(reply: &Reply, status: &str, output: Value, usage: Value) -> Value {
    json!({
        "id": reply.id("resp"),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "model": reply.model,
        "error": null,
        "incomplete_details": null,
        "output": output,
        "parallel_tool_calls": true,
        "usage": usage,
    })
}

fn reasoning(reply: &Reply, thought: &str) -> Value {
    json!({
        "id": reply.id("rs"),
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": thought}],
    })
}

fn message(reply: &Reply, text: &str) -> Value {
    json!({
        "id": reply.id("msg"),
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [output_text(text)],
    })
}

fn output_text(text: &str) -> Value {
    json!({"type": "output_text", "text": text, "annotations": []})
}

fn function_call(reply: &Reply, index: usize, call: &ToolCall, arguments: &str) -> Value {
    let mut item = json!({
        "id": reply.call_id("fc", index),
        "type": "function_call",
        "status": "completed",
        "call_id": reply.call_id("call", index),
        "name": call.tool,
        "arguments": arguments,
    });
    if let Some(group) = &call.group {
        item["namespace"] = json!(group);
    }
    item
}

fn usage(reply: &Reply) -> Value {
    let usage = &reply.usage;
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": input + usage.output,
    })
}
