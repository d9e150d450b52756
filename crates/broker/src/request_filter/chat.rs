//! OpenAI Chat Completions, and the servers that speak it.

use serde_json::Value;

use super::{Fields, Filter, behind_address, inline_bytes, is_inline, members, no_address, text, unknown_content};
use crate::refusal::Refusal;

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "functions",
    "function_call",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "max_tokens",
    "max_completion_tokens",
    "n",
    "stream",
    "stream_options",
    "stop",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "repetition_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "response_format",
    "reasoning_effort",
    "reasoning",
    "thinking",
    "enable_thinking",
    "chat_template_kwargs",
    "verbosity",
    "prediction",
    "user",
    "metadata",
    "prompt_cache_key",
    "safety_identifier",
    // Ollama's own.
    "options",
    "keep_alive",
    "think",
];

/// What a message of a conversation has.
const MESSAGE_FIELDS: &[&str] = &[
    "role",
    "content",
    "name",
    "refusal",
    "tool_calls",
    "tool_call_id",
    "function_call",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "reasoning_text",
    "reasoning_opaque",
    "thinking",
    "thinking_blocks",
    "prefix",
    "partial",
    "cache_control",
    // Signatures of thoughts, by Gemini's servers of this protocol.
    "extra_content",
];

pub(super) fn filter(filter: &mut Filter, fields: Fields) -> Result<Fields, Refusal> {
    let mut fields = filter.keep(fields, FIELDS);
    filter.keep_tools(&mut fields, hosted);
    filter.keep_in_each(fields.get_mut("messages"), "messages", MESSAGE_FIELDS);
    for message in members(fields.get("messages").unwrap_or(&Value::Null), "messages")? {
        members(&message["content"], "content")?.iter().try_for_each(part)?;
    }
    Ok(fields)
}

fn hosted(tool: &Value) -> Option<String> {
    match text(tool, "type") {
        "function" | "custom" => None,
        other => Some(other.to_owned()),
    }
}

fn part(part: &Value) -> Result<(), Refusal> {
    match text(part, "type") {
        "text" | "refusal" | "thinking" | "reasoning" => no_address(part),
        "input_audio" => inline_bytes(&part["input_audio"]["data"], "input_audio")
            .and_then(|()| no_address(&part["input_audio"]))
            .and_then(|()| no_address(part)),
        kind @ ("image_url" | "video_url") => {
            // Some servers take the address itself, some an object around it.
            let url = if part[kind].is_object() { &part[kind]["url"] } else { &part[kind] };
            if is_inline(url) { no_address(part) } else { Err(behind_address(&format!("the content of `{kind}`"))) }
        }
        "file" if part["file"].get("file_id").is_none() => inline_bytes(&part["file"]["file_data"], "file")
            .and_then(|()| no_address(&part["file"]))
            .and_then(|()| no_address(part)),
        "file" => Err(behind_address("a stored file")),
        kind => Err(unknown_content(kind)),
    }
}
