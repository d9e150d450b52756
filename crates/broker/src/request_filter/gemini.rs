//! Gemini `generateContent`. Its parser takes every name in camel case and in snake case.

use serde_json::Value;

use super::{Fields, Filter, behind_address, inline_bytes, members, unknown_content};
use crate::refusal::Refusal;

const FIELDS: &[&str] =
    &["contents", "tools", "tool_config", "safety_settings", "system_instruction", "generation_config", "labels"];
/// What lies with the provider and would be read from there.
const STORED: &[&str] = &["cached_content"];
const FUNCTIONS: &str = "function_declarations";

pub(super) fn filter(filter: &mut Filter, mut fields: Fields) -> Result<Fields, Refusal> {
    // The path names the model.
    fields.shift_remove("model");
    if let Some((name, _)) = fields.iter().find(|(name, value)| STORED.contains(&&*snake(name)) && !value.is_null()) {
        return Err(Refusal::OutsideContent(format!("`{name}` is stored with the provider")));
    }
    let names: Vec<String> = fields.keys().filter(|name| FIELDS.contains(&&*snake(name))).cloned().collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut fields = filter.keep(fields, &names);
    tools(filter, &mut fields);
    for (name, value) in &fields {
        match snake(name).as_str() {
            "contents" => list(value, name)?.iter().try_for_each(|content| parts(filter, content))?,
            "system_instruction" => list(value, name)?.iter().try_for_each(|content| parts(filter, content))?,
            _ => {}
        }
    }
    Ok(fields)
}

/// Each entry of the list is a set of tools by name.
fn tools(filter: &mut Filter, fields: &mut Fields) {
    let Some(Value::Array(tools)) = fields.get_mut("tools") else {
        if fields.shift_remove("tools").is_some() {
            filter.note("tools".to_owned());
        }
        return;
    };
    for tool in tools.iter_mut() {
        if let Value::Object(tool) = tool {
            tool.retain(|name, _| snake(name) == FUNCTIONS || filter.keeps_hosted(&snake(name)));
        }
    }
    tools.retain(|tool| tool.as_object().is_some_and(|tool| !tool.is_empty()));
    if tools.is_empty() {
        fields.shift_remove("tools");
    }
}

fn parts(filter: &Filter, content: &Value) -> Result<(), Refusal> {
    list(&content["parts"], "parts")?.iter().try_for_each(|part| self::part(filter, part))
}

/// One content or a list of them.
fn list<'v>(value: &'v Value, name: &str) -> Result<&'v [Value], Refusal> {
    if value.is_object() { Ok(std::slice::from_ref(value)) } else { members(value, name) }
}

fn part(filter: &Filter, part: &Value) -> Result<(), Refusal> {
    let Value::Object(part) = part else { return Ok(()) };
    for (name, value) in part {
        match snake(name).as_str() {
            "inline_data" => inline_bytes(&value["data"], "inlineData")?,
            "text" | "function_call" | "thought" | "thought_signature" | "video_metadata" | "part_metadata"
            | "media_resolution" => {}
            "function_response" => parts(filter, value)?,
            "file_data" => return Err(behind_address("the content of `fileData`")),
            name @ ("executable_code" | "code_execution_result" | "tool_call" | "tool_response") => {
                filter.hosted_content(name)?;
            }
            name => return Err(unknown_content(name)),
        }
    }
    Ok(())
}

fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
