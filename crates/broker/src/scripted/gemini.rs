//! A scripted reply in the Gemini protocol, and the small forms that clients have filled in on the side.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::protocol::Protocol;
use crate::request::Ask;
use crate::usage::Usage;

use super::reply::{Reply, ToolCall, pieces};
use super::{Event, Frames};

pub(crate) fn body(reply: &Reply) -> Value {
    let mut parts = Vec::new();
    parts.extend(reply.thought.as_deref().map(thought));
    parts.extend(reply.text.as_deref().map(|text| json!({"text": text})));
    parts.extend(calls(reply));
    let mut body = chunk(reply, &parts);
    finish(reply, &mut body);
    body
}

pub(crate) fn events(reply: &Reply) -> Vec<Event> {
    let chunks = chunks(reply).into_iter();
    chunks.map(|data| Event { name: None, data }).collect()
}

/// The stream as one JSON array, for clients that do not ask for events.
pub(crate) fn array(reply: &Reply) -> Frames {
    let chunks = chunks(reply);
    let last = chunks.len().saturating_sub(1);
    let framed = chunks.into_iter().enumerate().map(|(at, chunk)| {
        let before = if at == 0 { "[" } else { "," };
        let after = if at == last { "]" } else { "\r\n" };
        Bytes::from(format!("{before}{chunk}{after}"))
    });
    framed.collect()
}

fn chunks(reply: &Reply) -> Vec<Value> {
    let thoughts = pieces(reply.thought.as_deref().unwrap_or("")).into_iter().map(thought);
    let texts = pieces(reply.text.as_deref().unwrap_or("")).into_iter().map(|text| json!({"text": text}));
    let mut chunks: Vec<Value> = thoughts.chain(texts).map(|part| chunk(reply, &[part])).collect();
    // All calls of an answer come in one piece.
    let calls: Vec<Value> = calls(reply).collect();
    if !calls.is_empty() || chunks.is_empty() {
        chunks.push(chunk(reply, &calls));
    }
    if let Some(last) = chunks.last_mut() {
        finish(reply, last);
    }
    chunks
}

fn thought(text: &str) -> Value {
    json!({"text": text, "thought": true})
}

fn calls(reply: &Reply) -> impl Iterator<Item = Value> {
    reply.calls.iter().enumerate().map(|(index, ToolCall { tool, input, .. })| {
        let args = if input.is_null() { json!({}) } else { input.clone() };
        json!({"functionCall": {"id": reply.call_id("call", index), "name": tool, "args": args}})
    })
}

fn chunk(reply: &Reply, parts: &[Value]) -> Value {
    let prompt = reply.usage.input + reply.usage.cache_read + reply.usage.cache_write;
    json!({
        "candidates": [{"content": {"parts": parts, "role": "model"}, "index": 0}],
        "usageMetadata": {"promptTokenCount": prompt},
        "modelVersion": reply.model,
        "responseId": reply.id("resp"),
    })
}

fn finish(reply: &Reply, chunk: &mut Value) {
    let usage = &reply.usage;
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    let reasoning = usage.reasoning.min(usage.output);
    chunk["candidates"][0]["finishReason"] = json!("STOP");
    chunk["usageMetadata"] = json!({
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output - reasoning,
        "thoughtsTokenCount": reasoning,
        "totalTokenCount": prompt + usage.output,
    });
}

/// The answer to a request for JSON of a given shape. Gemini CLI asks a small model which model to use; it is no
/// turn of the conversation, and prose in its place costs the client minutes of retries.
pub(crate) fn form(ask: &Ask) -> Option<(Value, Usage)> {
    let json_wanted = ask.protocol == Protocol::Gemini && ask.gemini_config("responseMimeType") == "application/json";
    if !json_wanted {
        return None;
    }
    let schemas = ["responseJsonSchema", "responseSchema"].map(|name| ask.gemini_config(name));
    let schema = schemas.into_iter().find(|schema| schema.is_object()).unwrap_or(&Value::Null);
    let text = filled(schema, 0).to_string();
    let (prompt, output) = (ask.input_estimate(), (text.len() as u64).div_ceil(4));
    let form = json!({
        "candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": prompt, "candidatesTokenCount": output, "totalTokenCount": prompt + output,
        },
        "modelVersion": ask.model,
    });
    Some((form, Usage { input: prompt, output, ..Usage::default() }))
}

/// The simplest value that fits a schema.
fn filled(schema: &Value, depth: u32) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let kind = schema["type"].as_str().unwrap_or("object").to_lowercase();
    match kind.as_str() {
        "string" => json!("scripted"),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(1)),
        "boolean" => json!(false),
        "array" => json!([]),
        "object" if depth < 8 => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            let fields = properties.map(|(name, schema)| (name.clone(), filled(schema, depth + 1)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_filled_in_as_its_schema_wants_it() {
        let schema = json!({"type": "OBJECT", "required": ["reasoning"], "properties": {
            "reasoning": {"type": "STRING"},
            "model_choice": {"type": "STRING", "enum": ["flash", "pro"]},
            "score": {"type": "integer", "minimum": 3},
            "sure": {"type": "boolean"},
            "more": {"type": "array"},
        }});
        let expected = json!({"reasoning": "scripted", "model_choice": "flash", "score": 3, "sure": false, "more": []});
        assert_eq!(filled(&schema, 0), expected);
        assert_eq!(filled(&Value::Null, 0), json!({}));
    }
}
