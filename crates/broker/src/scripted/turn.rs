//! Which turn of the script a request is for: as many as the model has already taken in it.
//!
//! A turn is a run of items of the model (text, thoughts, tool calls) up to the next item of
//! somebody else. Tool calls carry our own ids, which name their turn; so calls that a client
//! interleaves with their results count once, and a history that was shortened to its last
//! calls is still at the right turn. Words count only where the script has nothing but them: when a
//! stream breaks off, a client keeps what came before the calls, and words of its own about it in
//! the model's place; after either it asks for the same turn again.

use serde_json::Value;

use crate::protocol::Protocol;
use crate::request::Ask;

use super::reply::Scene;
use super::script::Turn;
use super::{offered, opening};

/// `turns` tells what the script said from what it did not.
pub(crate) fn index(ask: &Ask, scene: &Scene, turns: &[Turn]) -> usize {
    let mut count = Count { script: turns, turns: 0, current: None, in_run: false };
    match ask.protocol {
        Protocol::Messages => {
            for message in items(ask.field("messages")) {
                if offered::is_closing(message) {
                    count.other();
                } else if message["role"] == "assistant" {
                    let calls: Vec<&Value> = items(&message["content"]).filter(|it| it["type"] == "tool_use").collect();
                    count.model(
                        scene.turn_of(calls.iter().filter_map(|call| call["id"].as_str())),
                        Said::of(&calls, message),
                    );
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
                    let calls: Vec<&Value> = items(&message["tool_calls"]).collect();
                    count.model(
                        scene.turn_of(calls.iter().filter_map(|call| call["id"].as_str())),
                        Said::of(&calls, message),
                    );
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
                    let call = Some(item).filter(|item| item["call_id"].is_string());
                    count.model(scene.turn_of(item["call_id"].as_str().into_iter()), Said::of(call.as_slice(), item));
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
                    let calls = items(&content["parts"]).map(|part| &part["functionCall"]);
                    let calls: Vec<&Value> = calls.filter(|call| call.is_object()).collect();
                    count.model(
                        scene.turn_of(calls.iter().filter_map(|call| call["id"].as_str())),
                        Said::of(&calls, content),
                    );
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

/// What an item of the model holds.
enum Said {
    Call,
    /// Without its spaces: clients keep the pieces of a stream apart or put them together.
    Words(String),
}

impl Said {
    fn of(calls: &[&Value], item: &Value) -> Self {
        if calls.is_empty() { Self::Words(squeezed(&opening::text(item))) } else { Self::Call }
    }
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect()
}

struct Count<'a> {
    script: &'a [Turn],
    turns: usize,
    /// The turn of the run of items we are in or have just left, as far as an id told it.
    current: Option<usize>,
    in_run: bool,
}

impl Count<'_> {
    fn model(&mut self, named: Option<usize>, said: Said) {
        let turn = match said {
            Said::Call => self.turns,
            Said::Words(_) if self.in_run => self.turns,
            Said::Words(words) => match self.turn_that_says(&words) {
                Some(turn) => turn,
                None => return,
            },
        };
        let same = match (named, self.current) {
            (Some(named), Some(current)) => named == current,
            (Some(_), None) | (None, _) => self.in_run,
        };
        if !same {
            self.turns = turn + 1;
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

    /// The next turn that is these words and no call; a piece of them is none. What stands around them may be the
    /// client's.
    fn turn_that_says(&self, words: &str) -> Option<usize> {
        let says = |turn: &Turn| {
            let whole = turn.text.as_deref().map(squeezed);
            let fits = |whole: String| words.starts_with(&whole) || words.ends_with(&whole);
            turn.calls.is_empty() && turn.question.is_none() && whole.map_or(words.is_empty(), fits)
        };
        let later = self.script.iter().enumerate().skip(self.turns);
        later.filter(|(_, turn)| says(turn)).map(|(index, _)| index).next()
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
        let script = crate::Script::parse(SCRIPT, "x").unwrap();
        let turns = &script.conversation("coder", 2, "").unwrap().turns;
        assert_eq!(index(&ask, &scene(), turns), expected, "{protocol:?}");
    }

    const SCRIPT: &str = "[[conversation]]\nrole='coder'\n[[conversation.turn]]\ntext='one  two'\n[[conversation.turn]]\n\
        text='three four'\n[[conversation.turn]]\ntext='I fly'\ncall=[{tool='fly'}]\n[[conversation.turn]]\ntext='five'\n";

    /// The same words in every protocol, said in turns of the user and the model.
    #[track_caller]
    fn check_all(said: &[&str], expected: usize) {
        let plain = |role: &str, text: &str| json!({"role": role, "content": text});
        let gemini = |role: &str, text: &str| json!({"role": if role == "user" { role } else { "model" }, "parts": [{"text": text}]});
        let told = |message: &dyn Fn(&str, &str) -> Value| -> Value {
            let turns = said.iter().flat_map(|text| [message("assistant", text), message("user", "go on")]);
            [message("user", "hi")].into_iter().chain(turns).collect()
        };
        for protocol in [Protocol::Messages, Protocol::Chat, Protocol::Responses] {
            check(protocol, told(&plain), expected);
        }
        check(Protocol::Gemini, told(&gemini), expected);
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
    fn what_the_script_said_is_a_turn() {
        check_all(&["one two"], 1);
        check_all(&["one\ntwo", "three four\n"], 2);
    }

    #[test]
    fn a_piece_of_an_answer_that_broke_off_is_no_turn() {
        check_all(&["one"], 0);
        check_all(&["one", "one two"], 1);
        check_all(&["one two", "three", "three fo"], 1);
    }

    #[test]
    fn a_clients_own_words_in_the_models_place_are_no_turn() {
        check_all(&["API Error: terminated"], 0);
        check_all(&["one two", "API Error: terminated", "", "three four"], 2);
        let (piece, error) = (json!({"type": "text", "text": "one"}), json!({"type": "text", "text": "API Error"}));
        let go_on = json!({"role": "user", "content": "go on"});
        check(Protocol::Messages, json!([go_on, {"role": "assistant", "content": [piece, error]}, go_on]), 0);
    }

    #[test]
    fn words_without_the_calls_that_follow_them_are_no_turn() {
        check_all(&["one two", "three four", "I fly"], 2);
        check_all(&["one two", "three four", "I fly", "API Error: terminated"], 2);
        let flies = json!({"role": "assistant", "content": [{"type": "text", "text": "I fly"}, {"type": "tool_use", "id": "a"}]});
        let said = json!({"role": "assistant", "content": "I fly"});
        let go_on = json!({"role": "user", "content": "go on"});
        check(Protocol::Messages, json!([go_on, said, go_on, flies, go_on]), 1);
    }

    #[test]
    fn words_of_a_later_turn_find_it_in_a_shortened_history() {
        check_all(&["a summary of it all", "five"], 4);
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
        let of_a_client = "Got it. Thanks for the context!";
        let user = json!({"role": "user", "content": "go on"});
        assert_eq!(at(json!([user, calls, user, said("two"), user])), 2);
        assert_eq!(at(json!([user, calls, user, said("two"), user, said("three"), user])), 3);
        assert_eq!(at(json!([user, said(of_a_client), user])), 0);
        assert_eq!(at(json!([user, said(of_a_client), user, said("one"), user])), 1);
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
