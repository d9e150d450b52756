//! OpenAI Chat Completions, and the servers that speak it.

use serde_json::Value;

use super::{Fields, Filter, behind_address, is_inline, items, text, unknown_content};
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

pub(super) fn filter(filter: &mut Filter, fields: Fields) -> Result<Fields, Refusal> {
    let mut fields = filter.keep(fields, FIELDS);
    filter.keep_tools(&mut fields, hosted);
    for message in items(fields.get("messages").unwrap_or(&Value::Null)) {
        items(&message["content"]).iter().try_for_each(part)?;
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
        "text" | "refusal" | "thinking" | "reasoning" | "input_audio" => Ok(()),
        kind @ ("image_url" | "video_url") => {
            // Some servers take the address itself, some an object around it.
            let url = if part[kind].is_object() { &part[kind]["url"] } else { &part[kind] };
            if is_inline(url) { Ok(()) } else { Err(behind_address(&format!("the content of `{kind}`"))) }
        }
        "file" if part["file"].get("file_id").is_none() => inline_file(&part["file"]["file_data"]),
        "file" => Err(behind_address("a stored file")),
        kind => Err(unknown_content(kind)),
    }
}

/// Bytes in base64, with or without the beginning of a data URL; never an address.
fn inline_file(data: &Value) -> Result<(), Refusal> {
    let inline = data.as_str().is_some_and(|data| !data.contains("://") || is_inline(&Value::from(data)));
    if inline { Ok(()) } else { Err(behind_address("the content of `file`")) }
}
