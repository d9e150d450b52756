//! Which turn of the script a request is for: as many as the model has already taken in it.
//!
//! A turn is a run of items of the model (text, thoughts, tool calls) up to the next item of
//! somebody else. Tool calls carry our own ids, which name their turn; so calls that a client
//! interleaves with their results count once, and a history that was shortened to its last
//! calls is still at the right turn.

use serde_json::Value;

use crate::protocol::Protocol;
use crate::request::Ask;

use super::offered;
use super::reply::Scene;

pub(crate) fn index(ask: &Ask, scene: &Scene) -> usize {
    let mut count = Count::default();
    match ask.protocol {
        Protocol::Messages => {
            for message in items(ask.field("messages")) {
                if offered::is_closing(message) {
                    count.other();
                } else if message["role"] == "assistant" {
                    let blocks = items(&message["content"]);
                    count.model(scene.turn_of(blocks.filter_map(|block| block["id"].as_str())));
                } else {
                    count.other();
                }
            }
        }
        Protocol::Chat => {
            for message in items(ask.field("messages")) {
                if offered::is_closing(message) {
                    count.other();
                } else if message["role"] == "assistant" {
                    let calls = items(&message["tool_calls"]);
                    count.model(scene.turn_of(calls.filter_map(|call| call["id"].as_str())));
                } else {
                    count.other();
                }
            }
        }
        Protocol::Responses => {
            for item in items(ask.field("input")) {
                if offered::is_closing(item) {
                    count.other();
                } else if is_of_model(item) {
                    count.model(scene.turn_of(item["call_id"].as_str().into_iter()));
                } else {
                    count.other();
                }
            }
        }
        Protocol::Gemini => {
            for content in items(ask.field("contents")) {
                if offered::is_closing(content) {
                    count.other();
                } else if content["role"] == "model" {
                    let parts = items(&content["parts"]);
                    count.model(scene.turn_of(parts.filter_map(|part| part["functionCall"]["id"].as_str())));
                } else {
                    count.other();
                }
            }
        }
        // There are no turns of a model in it.
        Protocol::Embeddings => {}
    }
    count.turns
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Messages may leave out their type; everything that is not a result or another's message
/// (reasoning, calls of any kind) comes from the model.
fn is_of_model(item: &Value) -> bool {
    match item["type"].as_str() {
        Some("message") | None => item["role"] == "assistant",
        Some(kind) => !kind.ends_with("_output") && kind != "item_reference",
    }
}

#[derive(Default)]
struct Count {
    turns: usize,
    /// The turn of the run of items we are in or have just left, as far as an id told it.
    current: Option<usize>,
    in_run: bool,
}

impl Count {
    fn model(&mut self, named: Option<usize>) {
        let same = match (named, self.current) {
            (Some(named), Some(current)) => named == current,
            (Some(_), None) | (None, _) => self.in_run,
        };
        if !same {
            self.turns += 1;
            self.current = None;
        }
        self.in_run = true;
        if let Some(named) = named {
            self.current = Some(named);
            self.turns = named + 1;
        }
    }

    fn other(&mut self) {
        self.in_run = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use serde_json::json;

    fn scene() -> Scene {
        Scene { run: "r1".into(), role: "coder".into(), visit: 2 }
    }

    #[track_caller]
    fn check(protocol: Protocol, items: Value, expected: usize) {
        let name = match protocol {
            Protocol::Messages | Protocol::Chat => "messages",
            Protocol::Responses | Protocol::Embeddings => "input",
            Protocol::Gemini => "contents",
        };
        let body = json!({"model": "scripted/x", name: items}).to_string();
        let ask = Ask::read(protocol, crate::request::Verb::Answer, Bytes::from(body)).unwrap();
        assert_eq!(index(&ask, &scene()), expected);
    }

    fn id(turn: usize, call: usize) -> String {
        scene().call_id("call", turn, call)
    }

    #[test]
    fn a_fresh_conversation_is_at_turn_zero() {
        check(Protocol::Messages, json!([{"role": "user", "content": "hi"}]), 0);
        check(Protocol::Responses, json!("hi"), 0);
        check(Protocol::Chat, Value::Null, 0);
    }

    #[test]
    fn assistant_messages_are_turns() {
        let history = json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "one"},
            {"role": "user", "content": "more"},
            {"role": "assistant", "content": "two"},
            {"role": "user", "content": "more"},
        ]);
        check(Protocol::Messages, history.clone(), 2);
        check(Protocol::Chat, history.clone(), 2);
        check(Protocol::Responses, history, 2);
    }

    #[test]
    fn several_calls_of_one_response_are_one_turn() {
        let call = |turn, call| json!({"type": "function_call", "call_id": id(turn, call)});
        let output = |turn, call| json!({"type": "function_call_output", "call_id": id(turn, call)});
        let message = json!({"type": "message", "role": "assistant", "content": []});
        let reasoning = json!({"type": "reasoning", "summary": []});
        check(Protocol::Responses, json!([reasoning, message, call(0, 0), call(0, 1), output(0, 0), output(0, 1)]), 1);
        check(
            Protocol::Responses,
            json!([message, call(0, 0), output(0, 0), call(0, 1), output(0, 1), reasoning, call(1, 0), output(1, 0)]),
            2,
        );
        check(Protocol::Responses, json!([call(0, 0), call(1, 0)]), 2);
    }

    #[test]
    fn foreign_call_ids_count_by_runs() {
        let call = |id| json!({"type": "function_call", "call_id": id});
        let output = |id| json!({"type": "function_call_output", "call_id": id});
        check(Protocol::Responses, json!([call("a"), call("b"), output("a"), output("b"), call("c"), output("c")]), 2);
    }

    #[test]
    fn a_shortened_history_is_still_at_its_turn() {
        let history = json!([
            {"role": "user", "content": "summary of what was done"},
            {"role": "assistant", "content": null, "tool_calls": [{"id": id(6, 0)}]},
            {"role": "tool", "tool_call_id": id(6, 0), "content": "ok"},
        ]);
        check(Protocol::Chat, history, 7);
    }

    #[test]
    fn gemini_turns_are_told_by_role_and_by_id() {
        let model = |id: Option<String>| json!({"role": "model", "parts": [{"functionCall": {"id": id, "name": "x"}}]});
        let result = json!({"role": "user", "parts": [{"functionResponse": {"name": "x"}}]});
        check(Protocol::Gemini, json!([result, model(None), result, model(None), result]), 2);
        check(Protocol::Gemini, json!([result, model(Some(id(6, 0))), result]), 7);
    }

    #[test]
    fn ids_of_another_conversation_say_nothing() {
        let other = Scene { visit: 1, ..scene() };
        let history = json!([
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "tool_use", "id": other.call_id("toolu", 8, 0)}]},
        ]);
        check(Protocol::Messages, history, 1);
    }
}
