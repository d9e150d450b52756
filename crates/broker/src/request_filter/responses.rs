//! OpenAI Responses.

use serde_json::{Value, json};

use super::{
    Fields, Filter, behind_address, inline_bytes, is_inline, items, members, no_address, text, unknown_content,
};
use crate::refusal::Refusal;

const FIELDS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_output_tokens",
    "max_tool_calls",
    "temperature",
    "top_p",
    "top_logprobs",
    "stream",
    "stream_options",
    "include",
    "reasoning",
    "text",
    "truncation",
    "metadata",
    "client_metadata",
    "user",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
];
/// What lies with the provider and would be read from there.
const STORED: &[&str] = &["previous_response_id", "conversation", "prompt"];
const INCLUDED: &[&str] = &["reasoning.encrypted_content", "message.output_text.logprobs"];
const CLIENT_TOOLS: &[&str] = &["function", "custom", "local_shell", "apply_patch"];

pub(super) fn filter(filter: &mut Filter, mut fields: Fields) -> Result<Fields, Refusal> {
    if let Some(name) = STORED.iter().find(|name| fields.get(**name).is_some_and(|value| !value.is_null())) {
        return Err(Refusal::OutsideContent(format!("`{name}` is stored with the provider")));
    }
    match fields.get_mut("include") {
        Some(Value::Array(include)) => {
            include.retain(|name| name.as_str().is_some_and(|name| INCLUDED.contains(&name)) || filter.allows_any());
        }
        Some(Value::Null) | None => {}
        Some(_) => {
            fields.shift_remove("include");
            filter.note("include".to_owned());
        }
    }
    // Said for it below.
    fields.shift_remove("store");
    let mut fields = filter.keep(fields, FIELDS);
    chosen(filter, &fields)?;
    filter.keep_tools(&mut fields, hosted);
    let input = members(fields.get("input").unwrap_or(&Value::Null), "input")?;
    input.iter().try_for_each(|item| self::item(filter, item))?;
    fields.insert("store".to_owned(), json!(false));
    Ok(fields)
}

fn hosted(tool: &Value) -> Option<String> {
    match text(tool, "type") {
        kind if CLIENT_TOOLS.contains(&kind) => None,
        // Functions under one name.
        "namespace" => items(&tool["tools"]).iter().find_map(hosted),
        "shell" if text(&tool["environment"], "type") == "local" => None,
        "tool_search" if text(tool, "execution") == "client" => None,
        // The dated names of a preview are the same tool.
        kind if kind.starts_with("web_search") => Some("web_search".to_owned()),
        kind => Some(kind.to_owned()),
    }
}

/// A request that wants nothing but one hosted tool is refused: without it, its answer would be another.
fn chosen(filter: &mut Filter, fields: &Fields) -> Result<(), Refusal> {
    let choice = match fields.get("tool_choice") {
        Some(choice) if choice.is_object() => choice,
        Some(_) | None => return Ok(()),
    };
    let tools = match text(choice, "type") {
        "allowed_tools" => items(&choice["tools"]),
        _ => std::slice::from_ref(choice),
    };
    let hosted = tools.iter().find_map(|tool| self::hosted(tool).filter(|tool| !filter.allows(tool)));
    hosted.map_or(Ok(()), |tool| Err(Refusal::HostedTool(tool)))
}

fn item(filter: &Filter, item: &Value) -> Result<(), Refusal> {
    no_address(item)?;
    match text(item, "type") {
        // A message may leave its type out.
        "message" | "" => parts(&item["content"]),
        "function_call" | "custom_tool_call" | "local_shell_call" | "shell_call" | "apply_patch_call"
        | "tool_search_call" | "reasoning" | "compaction" | "compaction_summary" => Ok(()),
        "function_call_output" | "custom_tool_call_output" => parts(&item["output"]),
        "local_shell_call_output" | "shell_call_output" | "apply_patch_call_output" => Ok(()),
        // The tools that were found are offered from then on.
        "tool_search_output" => found_tools(filter, &item["tools"]),
        "item_reference" => Err(Refusal::OutsideContent("an `item_reference` is stored with the provider".to_owned())),
        kind if kind.ends_with("_call") || kind.starts_with("mcp_") => filter.hosted_content(kind),
        kind => Err(unknown_content(kind)),
    }
}

fn found_tools(filter: &Filter, tools: &Value) -> Result<(), Refusal> {
    let hosted =
        members(tools, "tools")?.iter().find_map(|tool| self::hosted(tool).filter(|tool| !filter.allows(tool)));
    hosted.map_or(Ok(()), |tool| Err(Refusal::HostedTool(tool)))
}

fn parts(content: &Value) -> Result<(), Refusal> {
    members(content, "content")?.iter().try_for_each(part)
}

fn part(part: &Value) -> Result<(), Refusal> {
    no_address(part)?;
    match text(part, "type") {
        "input_text" | "output_text" | "text" | "refusal" | "summary_text" | "reasoning_text" => Ok(()),
        "input_audio" => {
            no_address(&part["input_audio"])?;
            inline_bytes(&part["input_audio"]["data"], "input_audio")?;
            inline_bytes(&part["data"], "input_audio")
        }
        "input_image" if is_inline(&part["image_url"]) && no_id(part) => Ok(()),
        "input_file" if part["file_data"].is_string() && part["file_url"].is_null() && no_id(part) => {
            inline_bytes(&part["file_data"], "input_file")
        }
        kind @ ("input_image" | "input_file") => Err(behind_address(&format!("the content of `{kind}`"))),
        kind => Err(unknown_content(kind)),
    }
}

fn no_id(part: &Value) -> bool {
    part["file_id"].is_null()
}
