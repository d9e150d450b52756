//! Request allow-list: every request is rebuilt from the fields, tools and content that a model needs. Anything by which a
//! provider would fetch, run or store something outside this machine is a way out of the sandbox with the user's key:
//! hosted tools are taken away unless the user configured them, and content behind an address is refused.

mod chat;
mod gemini;
mod messages;
mod responses;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::protocol::Protocol;
use crate::refusal::Refusal;

type Fields = Map<String, Value>;

/// A request as a provider may see it.
#[derive(Debug)]
pub(crate) struct Filtered {
    pub(crate) fields: Fields,
    /// Names of fields and tools that were taken away.
    pub(crate) removed: Vec<String>,
    /// Hosted tools that stay, because the user configured them.
    pub(crate) hosted: BTreeSet<String>,
}

/// Rebuilds a request. `allowed` are the hosted tools that the user configured.
pub(crate) fn filter(protocol: Protocol, fields: Fields, allowed: &[String]) -> Result<Filtered, Refusal> {
    let mut filter = Filter { allowed, removed: Vec::new(), hosted: BTreeSet::new() };
    let fields = match protocol {
        Protocol::Messages => messages::filter(&mut filter, fields)?,
        Protocol::Chat => chat::filter(&mut filter, fields)?,
        Protocol::Responses => responses::filter(&mut filter, fields)?,
        Protocol::Gemini => gemini::filter(&mut filter, fields)?,
        // Made by the gateway itself from texts alone.
        Protocol::Embeddings => fields,
    };
    Ok(Filtered { fields, removed: filter.removed, hosted: filter.hosted })
}

struct Filter<'a> {
    allowed: &'a [String],
    removed: Vec<String>,
    hosted: BTreeSet<String>,
}

impl Filter<'_> {
    /// Keeps the named fields and notes the others.
    fn keep(&mut self, fields: Fields, names: &[&str]) -> Fields {
        let (kept, removed): (Fields, Fields) =
            fields.into_iter().partition(|(name, _)| names.contains(&name.as_str()));
        self.removed.extend(removed.into_iter().map(|(name, _)| clip(&name)));
        kept
    }

    fn allows(&self, tool: &str) -> bool {
        self.allowed.iter().any(|name| name == tool)
    }

    fn allows_any(&self) -> bool {
        !self.allowed.is_empty()
    }

    /// Whether a tool that the provider runs stays in the request.
    fn keeps_hosted(&mut self, tool: &str) -> bool {
        let stays = self.allows(tool);
        if stays {
            self.hosted.insert(tool.to_owned());
        } else {
            self.removed.push(format!("tools.{}", clip(tool)));
        }
        stays
    }

    /// Keeps the tools that `hosted` says are run by the agent, and those the user configured. `hosted` names a tool that
    /// the provider runs.
    fn keep_tools(&mut self, fields: &mut Fields, hosted: impl Fn(&Value) -> Option<String>) {
        let Some(Value::Array(tools)) = fields.get_mut("tools") else {
            if let Some(other) = fields.get("tools")
                && !other.is_null()
            {
                fields.shift_remove("tools");
                self.removed.push("tools".to_owned());
            }
            return;
        };
        tools.retain(|tool| hosted(tool).is_none_or(|name| self.keeps_hosted(&name)));
        if tools.is_empty() {
            fields.shift_remove("tools");
            // A choice among no tools is an error to every provider.
            fields.shift_remove("tool_choice");
        }
    }

    /// A block or item of a hosted tool, in a conversation that may hold some.
    fn hosted_content(&self, kind: &str) -> Result<(), Refusal> {
        if self.allows_any() { Ok(()) } else { Err(unknown_content(kind)) }
    }
}

/// Content that names an address instead of carrying its bytes.
fn behind_address(what: &str) -> Refusal {
    Refusal::OutsideContent(format!("{what} is not in the request itself"))
}

fn unknown_content(kind: &str) -> Refusal {
    Refusal::OutsideContent(format!("content of the type `{}` is not known here", clip(kind)))
}

/// A URL that carries its own bytes.
fn is_inline(url: &Value) -> bool {
    url.as_str().is_some_and(|url| url.trim_start().get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:")))
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// A name as it may stand in a header and a log.
fn clip(name: &str) -> String {
    name.chars().filter(char::is_ascii_graphic).take(60).collect()
}

#[cfg(test)]
mod tests;
