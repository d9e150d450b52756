//! Which turn of the script a request is for: as many as the model has already taken in it.
//!
//! A turn is a run of items of the model (text, thoughts, tool calls) up to the next item of
//! somebody else. Tool calls carry our own ids, which name their turn; so calls that a client
//! interleaves with their results count once, and a history that was shortened to its last
//! calls is still at the right turn.

use serde_json::Value;

use crate::protocol::Protocol;
use crate::request::Ask;

use super::reply::Scene;
use super::script::Turn;
use super::{offered, opening};

/// What Gemini CLI used to let its model say first, and programs made from it still do.
const WORDS_OF_A_CLIENT: &str = "Got it. Thanks for the context!";

/// `turns` tells an answer that broke off: a client may keep the piece it got, and asks for the turn again.
pub(crate) fn index(ask: &Ask, scene: &Scene, turns: &[Turn]) -> usize {
    let mut count = Count { script: turns, turns: 0, current: None, in_run: false };
    match ask.protocol {
        Protocol::Messages => {
            for message in items(ask.field("messages")) {
                if offered::is_closing(message) {
                    count.other();
                } else if message["role"] == "assistant" {
                    let blocks = items(&message["content"]);
                    count.model(scene.turn_of(blocks.filter_map(|block| block["id"].as_str())), message);
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
                    count.model(scene.turn_of(calls.filter_map(|call| call["id"].as_str())), message);
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
                    count.model(scene.turn_of(item["call_id"].as_str().into_iter()), item);
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
                    count.model(scene.turn_of(parts.filter_map(|part| part["functionCall"]["id"].as_str())), content);
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

struct Count<'a> {
    script: &'a [Turn],
    turns: usize,
    /// The turn of the run of items we are in or have just left, as far as an id told it.
    current: Option<usize>,
    in_run: bool,
}

impl Count<'_> {
    fn model(&mut self, named: Option<usize>, item: &Value) {
        if named.is_none() && !self.in_run && (self.is_piece(item) || self.is_no_turn(item)) {
            return self.other();
        }
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

    /// Whether an item is no turn of its own: words of the turn before that a client kept apart from its calls, or words
    /// that a client put into the model's mouth.
    fn is_no_turn(&self, item: &Value) -> bool {
        let joined = |text: &str| text.replace('\n', "");
        let said = joined(&opening::text(item));
        let text = |turn: usize| self.script.get(turn).and_then(|turn| turn.text.as_deref()).map(joined);
        let again = self.turns.checked_sub(1).and_then(text).is_some_and(|before| before == said);
        (again && text(self.turns).is_none_or(|next| next != said)) || said == WORDS_OF_A_CLIENT
    }

    /// Whether an item is the beginning of the turn that is next, and not the whole of it.
    fn is_piece(&self, item: &Value) -> bool {
        // Clients keep the pieces of a stream apart or put them together.
        let joined = |text: &str| text.replace('\n', "");
        let said = joined(&opening::text(item));
        let whole = self.script.get(self.turns).and_then(|turn| turn.text.as_deref()).map(joined);
        !said.is_empty() && whole.is_some_and(|whole| whole.len() > said.len() && whole.starts_with(&said))
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
        assert_eq!(index(&ask, &scene(), &[]), expected);
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
    fn words_kept_apart_from_their_calls_and_words_of_the_client_are_no_turns() {
        let turns = "[[conversation]]\nrole='coder'\n[[conversation.turn]]\ntext='one'\n[[conversation.turn]]\ntext='two'\n[[conversation.turn]]\ntext='three'\n";
        let script = crate::Script::parse(turns, "x").unwrap();
        let turns = &script.conversation("coder", 2, "").unwrap().turns;
        let at = |items: Value| {
            let body = json!({"model": "scripted/x", "messages": items}).to_string();
            index(&Ask::read(Protocol::Chat, crate::request::Verb::Answer, Bytes::from(body)).unwrap(), &scene(), turns)
        };
        let calls = json!({"role": "assistant", "content": "one", "tool_calls": [{"id": id(0, 0)}, {"id": id(1, 0)}]});
        let said = |text: &str| json!({"role": "assistant", "content": text});
        let user = json!({"role": "user", "content": "go on"});
        assert_eq!(at(json!([user, calls, user, said("two"), user])), 2);
        assert_eq!(at(json!([user, calls, user, said("two"), user, said("three"), user])), 3);
        assert_eq!(at(json!([user, said(WORDS_OF_A_CLIENT), user])), 0);
        assert_eq!(at(json!([user, said(WORDS_OF_A_CLIENT), user, said("one"), user])), 1);
    }

    #[test]
    fn a_piece_of_an_answer_that_broke_off_is_no_turn() {
        let script =
            crate::Script::parse("[[conversation]]\nrole='coder'\n[[conversation.turn]]\ntext='one two'\n", "x");
        let script = script.unwrap();
        let turns = &script.conversation("coder", 2, "").unwrap().turns;
        let at = |said: &str| {
            let (one, two) = said.split_at(2);
            let said = json!({"role": "model", "parts": [{"text": one}, {"text": two}]});
            let more = json!({"role": "user", "parts": [{"text": "go on"}]});
            let body = json!({"model": "scripted/x", "contents": [more, said, more]}).to_string();
            let ask = Ask::read(Protocol::Gemini, crate::request::Verb::Answer, Bytes::from(body)).unwrap();
            index(&ask, &scene(), turns)
        };
        assert_eq!((at("one"), at("one two"), at("something else")), (0, 1, 1));
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
