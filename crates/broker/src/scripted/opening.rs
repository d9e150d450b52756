//! The first words of a conversation: by them a script tells apart the tasks that one role works on.

use serde_json::Value;

use crate::protocol::Protocol;
use crate::request::Ask;

/// The text of the user's first message; it is the same in every call of a conversation.
pub(crate) fn of(ask: &Ask) -> String {
    let items = match ask.protocol {
        Protocol::Messages | Protocol::Chat => ask.field("messages"),
        Protocol::Responses | Protocol::Embeddings => ask.field("input"),
        Protocol::Gemini => ask.field("contents"),
    };
    match items {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().find(|item| item["role"] == "user").map(text).unwrap_or_default(),
        _ => String::new(),
    }
}

/// What a message says in words.
pub(super) fn text(message: &Value) -> String {
    let content = if message["parts"].is_array() { &message["parts"] } else { &message["content"] };
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(protocol: Protocol, field: &str, items: &Value, expected: &str) {
        let body = json!({"model": "m", field: items}).to_string();
        let ask = Ask::read(protocol, crate::request::Verb::Answer, Bytes::from(body)).unwrap();
        assert_eq!(of(&ask), expected);
    }

    #[test]
    fn the_first_message_of_the_user_is_found_in_every_protocol() {
        let plain = json!([
            {"role": "system", "content": "rules"}, {"role": "user", "content": "do this"},
            {"role": "assistant", "content": "done"}, {"role": "user", "content": "more"},
        ]);
        check(Protocol::Chat, "messages", &plain, "do this");
        let blocks =
            json!([{"role": "user", "content": [{"type": "text", "text": "do"}, {"type": "text", "text": "this"}]}]);
        check(Protocol::Messages, "messages", &blocks, "do\nthis");
        let items =
            json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "do this"}]}]);
        check(Protocol::Responses, "input", &items, "do this");
        check(Protocol::Responses, "input", &json!("do this"), "do this");
        let contents = json!([{"role": "user", "parts": [{"text": "do"}, {"text": "this"}]}]);
        check(Protocol::Gemini, "contents", &contents, "do\nthis");
        check(Protocol::Chat, "messages", &json!([]), "");
    }
}
