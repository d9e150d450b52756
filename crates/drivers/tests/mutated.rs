//! Transcripts that went wrong on the way: cut, doubled, out of order, mixed with other text, of another version. No
//! driver may fall over one, and what it makes of them keeps its shape.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod common;

use std::collections::BTreeMap;

use common::{Recorded, read, transcripts};
use drivers::AgentEvent;
use drivers::driver::{Act, MOST_INPUT, MOST_OUTPUT};
use serde_json::{Value, json};

/// Mutated transcripts for each program, at the least.
const EACH: usize = 240;

/// xorshift: the same transcripts every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.roll() % limit.max(1) as u64).unwrap()
    }
}

/// Ways in which a transcript goes wrong.
const WAYS: usize = 10;

fn mutate(lines: &mut Vec<String>, way: usize, dice: &mut Dice) {
    let at = dice.below(lines.len());
    match way {
        0 => {
            let cut = lines[at].floor_char_boundary(dice.below(lines[at].len()));
            lines[at].truncate(cut);
        }
        1 => lines.insert(at, json!({"type": "brand_new", "data": [1, {"x": null}]}).to_string()),
        2 => {
            // In a string if there is one, so that the line is still understood.
            let within = lines[at].rfind("\":\"").map_or(lines[at].len(), |found| found + 3);
            lines[at].insert_str(within, &"long ".repeat(100_000));
        }
        3 => {
            let mut bytes = std::mem::take(&mut lines[at]).into_bytes();
            if let Some(byte) = bytes.get_mut(dice.below(usize::MAX) % 200) {
                *byte = 0xC3;
            }
            lines[at] = String::from_utf8_lossy(&bytes).into_owned();
        }
        4 => lines.insert(at, "(node:17) Warning: something is deprecated\u{1b}[0m".to_owned()),
        5 => lines.insert(at, lines[at].clone()),
        6 => {
            let other = dice.below(lines.len());
            lines.swap(at, other);
        }
        7 => drop(lines.remove(at)),
        8 => {
            let cut = lines[at].floor_char_boundary(dice.below(lines[at].len()));
            let rest = lines[at].split_off(cut);
            lines.insert(at + 1, rest);
        }
        _other => {
            if let Ok(mut value) = serde_json::from_str::<Value>(&lines[at]) {
                swap(&mut value, dice);
                lines[at] = value.to_string();
            }
        }
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
}

/// Puts something of another kind somewhere into a value.
fn swap(value: &mut Value, dice: &mut Dice) {
    let count = match value {
        Value::Object(fields) => fields.len(),
        Value::Array(values) => values.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    };
    if count == 0 || dice.below(4) == 0 {
        let others = [json!(null), json!(-1), json!(u64::MAX), json!(1e308), json!(""), json!([]), json!({"a": [[]]})];
        *value = others[dice.below(others.len())].clone();
        return;
    }
    let chosen = dice.below(count);
    match value {
        Value::Object(fields) => fields.values_mut().nth(chosen).into_iter().for_each(|value| swap(value, dice)),
        Value::Array(values) => swap(&mut values[chosen], dice),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Turns only go on, a tool ends after it began, and what is shortened is short.
fn check(acts: &[Act]) {
    let mut last = 0;
    let mut begun = Vec::new();
    for act in acts {
        let Act::Say(event) = act else { continue };
        match event {
            AgentEvent::TurnStarted { turn } => {
                assert!(*turn > last, "turn {turn} after {last}");
                last = *turn;
            }
            AgentEvent::ToolStarted { call, input, .. } => {
                begun.push(call.clone());
                assert!(input.len() <= MOST_INPUT + '…'.len_utf8());
            }
            AgentEvent::ToolCompleted { call, output, .. } => {
                assert!(begun.contains(call), "{call} ends and never began");
                assert!(output.len() <= MOST_OUTPUT + '…'.len_utf8());
            }
            AgentEvent::Trouble { message } => assert!(message.len() <= MOST_OUTPUT + 100),
            AgentEvent::SessionStarted { .. }
            | AgentEvent::MessageDelta { .. }
            | AgentEvent::ThoughtDelta { .. }
            | AgentEvent::TurnCompleted { .. }
            | AgentEvent::Pursued { .. }
            | AgentEvent::Noted { .. }
            | AgentEvent::Ended { .. } => {}
        }
    }
}

#[test]
fn no_driver_falls_over_a_transcript_that_went_wrong() {
    let mut by_program: BTreeMap<&str, Vec<&Recorded>> = BTreeMap::new();
    let all = transcripts();
    let decoders = ["acp", "claude", "codex", "codex-exec", "command", "gemini", "opencode"];
    all.iter().for_each(|recorded| by_program.entry(recorded.program.word()).or_default().push(recorded));
    assert!(by_program.keys().eq(&decoders), "every decoder has its transcripts: {:?}", by_program.keys());
    for (program, recorded) in by_program {
        for number in 0..EACH {
            let original = recorded[number % recorded.len()];
            let mut dice = Dice(0x9E37_79B9 + number as u64);
            let mut lines = original.lines.clone();
            // Each way comes first in its turn, so that every program meets all of them.
            mutate(&mut lines, number % WAYS, &mut dice);
            for _ in 0..dice.below(8) {
                let way = dice.below(WAYS);
                mutate(&mut lines, way, &mut dice);
            }
            // Whatever is not understood is kept, so nothing can be checked away by dropping all.
            let (acts, _) = read(original, lines.iter().map(String::as_str));
            assert!(!acts.is_empty() || original.lines.len() < 10, "{program} {number}");
            check(&acts);
        }
    }
}
