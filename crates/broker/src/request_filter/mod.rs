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

/// Names of at most 60 letters.
const MOST_NOTED: usize = 50;

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
    /// Keeps of each object in a list the named fields, and notes the others.
    fn keep_in_each(&mut self, list: Option<&mut Value>, what: &str, names: &[&str]) {
        let objects = list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut);
        for object in objects {
            object.retain(|name, _| {
                let kept = names.contains(&name.as_str());
                if !kept {
                    self.note_once(format!("{what}.{}", clip(name)));
                }
                kept
            });
        }
    }

    /// Notes what was taken away, once.
    fn note_once(&mut self, removed: String) {
        if !self.removed.contains(&removed) {
            self.note(removed);
        }
    }

    /// Notes what was taken away, as far as it fits into a header that clients read.
    fn note(&mut self, removed: String) {
        if self.removed.len() < MOST_NOTED {
            self.removed.push(removed);
        }
    }

    /// Keeps the named fields and notes the others.
    fn keep(&mut self, fields: Fields, names: &[&str]) -> Fields {
        let (kept, removed): (Fields, Fields) =
            fields.into_iter().partition(|(name, _)| names.contains(&name.as_str()));
        removed.into_iter().for_each(|(name, _)| self.note(clip(&name)));
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
            self.note(format!("tools.{}", clip(tool)));
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
                self.note("tools".to_owned());
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

/// The members of a list, each an object; none of an absent list, a text or an empty object. Any other shape would pass
/// these checks unread, and some servers understand more shapes than their protocol has.
fn members<'v>(value: &'v Value, what: &str) -> Result<&'v [Value], Refusal> {
    match value {
        Value::Null | Value::String(_) => Ok(&[]),
        Value::Array(members) if members.iter().all(Value::is_object) => Ok(members),
        Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_) => {
            Err(Refusal::OutsideContent(format!("`{what}` has a shape that is not known here")))
        }
    }
}

/// Fields by which servers are given an address or the id of something stored, whatever the type beside them says.
const ADDRESSES: &[&str] = &[
    "url",
    "uri",
    "file_url",
    "fileUrl",
    "file_uri",
    "fileUri",
    "file_id",
    "fileId",
    "image_url",
    "imageUrl",
    "video_url",
    "audio_url",
    "document_url",
];
/// Fields for bytes themselves, in which some servers also take an address.
const BYTES: &[&str] = &["file_data", "fileData"];

/// Refuses content with an address in it that is not inline.
fn no_address(content: &Value) -> Result<(), Refusal> {
    let address = |(name, value): &(&String, &Value)| {
        let value = if value.is_object() { value.get("url").unwrap_or(value) } else { value };
        let outside = !value.is_null() && !is_inline(value);
        outside && (ADDRESSES.contains(&name.as_str()) || BYTES.contains(&name.as_str()) && !is_base64(value))
    };
    match content.as_object().into_iter().flatten().find(address) {
        Some((name, _)) => Err(behind_address(&format!("the content of `{}`", clip(name)))),
        None => Ok(()),
    }
}

/// Bytes in base64 themselves, with or without the beginning of a data URL; never an address, however it is written.
fn inline_bytes(data: &Value, what: &str) -> Result<(), Refusal> {
    let inline = data.is_null() || is_inline(data) || is_base64(data);
    if inline { Ok(()) } else { Err(behind_address(&format!("the content of `{what}`"))) }
}

/// No address with a scheme, a host's dots or a port is written with these letters alone.
fn is_base64(data: &Value) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || b"+/=-_".contains(&byte);
    data.as_str().is_some_and(|data| data.bytes().all(letter))
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
