//! Anthropic Messages.

use serde_json::Value;

use super::{Fields, Filter, behind_address, inline_bytes, items, members, no_address, text, unknown_content};
use crate::refusal::Refusal;

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "system",
    "max_tokens",
    "metadata",
    "stop_sequences",
    "stream",
    "temperature",
    "top_k",
    "top_p",
    "thinking",
    "tools",
    "tool_choice",
    "output_config",
    "cache_control",
];
/// Tools of Anthropic's making that the agent runs itself.
const CLIENT_TOOLS: &[&str] = &["custom", "bash", "text_editor", "memory"];

pub(super) fn filter(filter: &mut Filter, mut fields: Fields) -> Result<Fields, Refusal> {
    let servers = fields.shift_remove("mcp_servers");
    let mut fields = filter.keep(fields, FIELDS);
    if let Some(servers) = servers.filter(|_| filter.keeps_hosted("mcp_toolset")) {
        fields.insert("mcp_servers".to_owned(), servers);
    }
    chosen(filter, &fields)?;
    filter.keep_tools(&mut fields, hosted);
    blocks(filter, fields.get("system").unwrap_or(&Value::Null))?;
    filter.keep_in_each(fields.get_mut("messages"), "messages", &["role", "content"]);
    for message in members(fields.get("messages").unwrap_or(&Value::Null), "messages")? {
        blocks(filter, &message["content"])?;
    }
    Ok(fields)
}

/// The name of a tool that Anthropic runs: its type without the date.
fn hosted(tool: &Value) -> Option<String> {
    let kind = match &tool["type"] {
        Value::Null => return None,
        kind => kind.as_str().unwrap_or("?"),
    };
    let dated = kind.rsplit_once('_').filter(|(_, date)| date.len() == 8 && date.bytes().all(|c| c.is_ascii_digit()));
    let name = dated.map_or(kind, |(name, _)| name);
    (!CLIENT_TOOLS.contains(&name)).then(|| name.to_owned())
}

/// A request that wants nothing but one hosted tool is refused: without it, its answer would be another.
fn chosen(filter: &Filter, fields: &Fields) -> Result<(), Refusal> {
    let choice = fields.get("tool_choice").map_or("", |choice| text(choice, "name"));
    let named = |tool: &&Value| !choice.is_empty() && text(tool, "name") == choice;
    let tool = items(fields.get("tools").unwrap_or(&Value::Null)).iter().find(named).and_then(hosted);
    tool.filter(|tool| !filter.allows(tool)).map_or(Ok(()), |tool| Err(Refusal::HostedTool(tool)))
}

fn blocks(filter: &Filter, content: &Value) -> Result<(), Refusal> {
    members(content, "content")?.iter().try_for_each(|block| self::block(filter, block))
}

fn block(filter: &Filter, block: &Value) -> Result<(), Refusal> {
    match text(block, "type") {
        "text" | "tool_use" | "tool_reference" | "thinking" | "redacted_thinking" => no_address(block),
        "search_result" => blocks(filter, &block["content"]),
        "tool_result" => blocks(filter, &block["content"]),
        kind @ ("image" | "document") => {
            let source = &block["source"];
            no_address(block)?;
            no_address(source)?;
            match text(source, "type") {
                "base64" => inline_bytes(&source["data"], kind),
                "text" => Ok(()),
                "content" => blocks(filter, &source["content"]),
                _ => Err(behind_address(&format!("the source of an `{kind}` block"))),
            }
        }
        kind @ ("server_tool_use" | "mcp_tool_use" | "mcp_tool_result") => filter.hosted_content(kind),
        kind if kind.ends_with("_tool_result") => filter.hosted_content(kind),
        kind => Err(unknown_content(kind)),
    }
}
