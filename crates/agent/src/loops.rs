//! Whether the model goes round in circles: the same calls, the same results, again. Pure.
//!
//! A call whose result changed is work (tests after an edit), however often it is made.

use serde_json::Value;

use crate::turns::{Answer, By, Call, CallResult, Record};

/// Longest circle that is looked for.
const LONGEST: usize = 6;
/// One call in a row: when it is no longer run, and when the attempt ends.
const REPEATS: Limits = Limits { warned: 4, ended: 8 };
/// Rounds of a circle of several calls.
const ROUNDS: Limits = Limits { warned: 3, ended: 5 };

struct Limits {
    warned: usize,
    ended: usize,
}

/// What is to be said to a call that is about to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Circle {
    /// None.
    No,
    /// It is not run; the model is told.
    Warned(String),
    /// The model was told and did not listen.
    Ended(String),
}

struct Made<'a> {
    tool: &'a str,
    input: &'a Value,
    /// What the tool said; `None` while it has not, or when the agent answered instead.
    output: Option<&'a str>,
}

/// Judges a call of the last answer.
pub(crate) fn judge(records: &[Record], call: &Call) -> Circle {
    let made = made(records, &call.id);
    for period in 1..=LONGEST {
        let limits = if period == 1 { &REPEATS } else { &ROUNDS };
        let rounds = rounds(&made, period);
        if rounds >= limits.warned {
            let (what, again) = describe(&made, period, rounds);
            return if rounds >= limits.ended {
                Circle::Ended(format!("the model {what}, although it was told to do something else"))
            } else {
                Circle::Warned(format!(
                    "you {what}{again}; it was not run again. Do something else, or hand in what you have"
                ))
            };
        }
    }
    Circle::No
}

/// How often in a row the last `period` calls were made, the last time included.
fn rounds(made: &[Made<'_>], period: usize) -> usize {
    if made.len() < period {
        return 0;
    }
    let mut known: Vec<Option<&str>> = vec![None; period];
    let mut rounds = 0;
    for block in made.rchunks_exact(period) {
        let last = &made[made.len() - period..];
        let same = block.iter().zip(last).all(|(one, other)| one.tool == other.tool && one.input == other.input);
        let agrees = |(one, known): (&Made<'_>, &Option<&str>)| match (one.output, known) {
            (Some(output), Some(known)) => output == *known,
            (None, _) | (_, None) => true,
        };
        if !same || !block.iter().zip(&known).all(agrees) {
            break;
        }
        for (one, known) in block.iter().zip(&mut known) {
            *known = known.or(one.output);
        }
        rounds += 1;
    }
    rounds
}

fn describe(made: &[Made<'_>], period: usize, rounds: usize) -> (String, &'static str) {
    let last = &made[made.len() - period..];
    match last {
        [one] => {
            let known = if one.output.is_some() || made.iter().any(|made| made.output.is_some()) {
                " and the same result"
            } else {
                ""
            };
            (format!("called `{}` {rounds} times in a row with the same input", one.tool), known)
        }
        several => {
            let tools: Vec<String> = several.iter().map(|made| format!("`{}`", made.tool)).collect();
            (format!("made the same {period} calls ({}) {rounds} times in a row", tools.join(", ")), "")
        }
    }
}

/// All calls up to and including the one of the last answer with that id.
fn made<'a>(records: &'a [Record], id: &str) -> Vec<Made<'a>> {
    let mut all: Vec<Made<'a>> = Vec::new();
    let mut begin = 0;
    let mut calls: &[Call] = &[];
    for record in records {
        match record {
            Record::Assistant(Answer { calls: new, .. }) => {
                begin = all.len();
                calls = new;
                all.extend(new.iter().map(|call| Made { tool: &call.tool, input: &call.input, output: None }));
            }
            Record::Results(results) => {
                for CallResult { id, output, by, .. } in results {
                    if let (Some(at), By::Tool) = (calls.iter().position(|call| call.id == *id), by) {
                        all[begin + at].output = Some(output);
                    }
                }
            }
            Record::Opening { .. }
            | Record::Nudge { .. }
            | Record::Begun { .. }
            | Record::Guidance(_)
            | Record::Compacted(_) => {}
        }
    }
    if let Some(at) = calls.iter().position(|call| call.id == id) {
        all.truncate(begin + at + 1);
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(id: usize, tool: &str) -> Call {
        Call { id: format!("c{id}"), tool: tool.into(), input: json!({"t": tool}), signatures: Vec::new() }
    }

    /// One call per answer, each with its output; the last one has none yet.
    fn check(story: &[(&str, &str)], last: &str) -> Circle {
        let mut records = Vec::new();
        for (id, (tool, output)) in story.iter().enumerate() {
            records.push(Record::Assistant(Answer { calls: vec![call(id, tool)], ..Answer::default() }));
            let by = if output.is_empty() { By::Agent } else { By::Tool };
            records.push(Record::Results(vec![CallResult {
                id: format!("c{id}"),
                tool: (*tool).into(),
                ok: true,
                output: (*output).into(),
                by,
                at: None,
                millis: 0,
            }]));
        }
        let open = call(story.len(), last);
        records.push(Record::Assistant(Answer { calls: vec![open.clone()], ..Answer::default() }));
        judge(&records, &open)
    }

    #[test]
    fn the_same_call_with_the_same_result_is_warned_at_four_and_ended_at_eight() {
        assert_eq!(check(&[("a", "1"); 2], "a"), Circle::No);
        let Circle::Warned(words) = check(&[("a", "1"); 3], "a") else { panic!() };
        assert!(words.contains("4 times in a row with the same input and the same result"), "{words}");
        let mut story = vec![("a", "1"); 3];
        story.extend([("a", ""); 3]);
        assert!(matches!(check(&story, "a"), Circle::Warned(_)), "what was refused counts on");
        story.push(("a", ""));
        let Circle::Ended(reason) = check(&story, "a") else { panic!() };
        assert!(reason.contains("called `a` 8 times in a row"), "{reason}");
    }

    #[test]
    fn a_call_whose_result_changes_is_work() {
        let outputs = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"];
        let story: Vec<(&str, &str)> = outputs.iter().map(|output| ("test", *output)).collect();
        assert_eq!(check(&story, "test"), Circle::No);
        assert_eq!(check(&[("a", "1"), ("a", "1"), ("b", "1"), ("a", "1"), ("a", "1")], "a"), Circle::No);
    }

    #[test]
    fn circles_of_several_calls_are_seen_whatever_their_length() {
        for length in 2..=LONGEST {
            let tools = &["a", "b", "c", "d", "e", "f"][..length];
            let story =
                |calls: usize| -> Vec<(&str, &str)> { (0..calls).map(|at| (tools[at % length], "x")).collect() };
            let next = |calls: usize| tools[calls % length];
            let (quiet, warned, ended) = (3 * length - 2, 3 * length - 1, 5 * length - 1);
            assert_eq!(check(&story(quiet), next(quiet)), Circle::No, "{length}");
            let Circle::Warned(words) = check(&story(warned), next(warned)) else { panic!("{length}") };
            assert!(words.contains(&format!("the same {length} calls")) && words.contains("3 times"), "{words}");
            assert!(matches!(check(&story(ended), next(ended)), Circle::Ended(_)), "{length}");
        }
        let changing = [("edit", "1"), ("test", "1"), ("edit", "1"), ("test", "2"), ("edit", "1"), ("test", "3")];
        assert_eq!(check(&changing, "edit"), Circle::No);
    }
}
