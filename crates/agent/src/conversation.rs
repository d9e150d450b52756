//! Where a conversation stands, from its records alone. Pure: the same records give the same next step.

use crate::context;
use crate::tools::{ask_questions, clarify, request_extension};
use crate::turns::{Answer, Call, CallResult, Record};

/// Everything said so far.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    records: Vec<Record>,
}

/// Whose move it is.
#[derive(Debug, PartialEq)]
pub(crate) enum Stand<'a> {
    /// Nothing was said yet.
    Empty,
    /// The model speaks next.
    ModelSpeaks,
    /// The model said something and called nothing; it was nudged that often in a row before.
    Silent { nudges: u32 },
    /// Calls of the last answer are open.
    Open { pending: Vec<&'a Call>, settled: Vec<&'a CallResult> },
}

impl Conversation {
    pub(crate) fn new(records: Vec<Record>) -> Self {
        Self { records }
    }

    pub(crate) fn push(&mut self, record: Record) {
        self.records.push(record);
    }

    pub(crate) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Complete answers of the model.
    pub(crate) fn turns(&self) -> u32 {
        u32::try_from(self.answers().count()).unwrap_or(u32::MAX)
    }

    /// The model that answered last.
    pub(crate) fn last_model(&self) -> Option<&str> {
        self.answers().filter_map(|answer| answer.model.as_deref()).last()
    }

    pub(crate) fn stand(&self) -> Stand<'_> {
        let last = self.records.iter().rposition(|record| matches!(record, Record::Assistant(_)));
        let Some(at) = last else {
            return if self.records.is_empty() { Stand::Empty } else { Stand::ModelSpeaks };
        };
        let Record::Assistant(answer) = &self.records[at] else { return Stand::ModelSpeaks };
        let after = &self.records[at + 1..];
        if answer.calls.is_empty() {
            let nudged = after.iter().any(|record| matches!(record, Record::Nudge { .. } | Record::Guidance(_)));
            return if nudged { Stand::ModelSpeaks } else { Stand::Silent { nudges: self.nudges_before(at) } };
        }
        let settled: Vec<&CallResult> = after.iter().flat_map(results).collect();
        let open = |call: &&Call| !settled.iter().any(|result| result.id == call.id);
        let pending: Vec<&Call> = answer.calls.iter().filter(open).collect();
        if pending.is_empty() { Stand::ModelSpeaks } else { Stand::Open { pending, settled } }
    }

    /// How many answers of people earlier calls have used up.
    pub(crate) fn answers_used(&self) -> usize {
        let waited_for = |call: &Call| match call.tool.as_str() {
            "ask_questions" => ask_questions::count(&call.input),
            clarify::NAME => 1,
            _ => 0,
        };
        self.worked().into_iter().map(waited_for).sum()
    }

    /// How many requests for more time were granted and told.
    pub(crate) fn extensions_used(&self) -> usize {
        self.worked().into_iter().filter(|call| call.tool == request_extension::NAME).count()
    }

    /// Calls whose result is good, in order.
    fn worked(&self) -> Vec<&Call> {
        let mut worked = Vec::new();
        let mut calls: &[Call] = &[];
        for record in &self.records {
            match record {
                Record::Assistant(answer) => calls = &answer.calls,
                Record::Results(results) => {
                    let good = results.iter().filter(|result| result.ok);
                    worked.extend(good.filter_map(|result| calls.iter().find(|call| call.id == result.id)));
                }
                Record::Opening { .. }
                | Record::Nudge { .. }
                | Record::Begun { .. }
                | Record::Guidance(_)
                | Record::Compacted(_) => {}
            }
        }
        worked
    }

    /// Whether a call of the last answer was begun, by this process or one before it.
    pub(crate) fn was_begun(&self, call: &Call) -> bool {
        let last = self.records.iter().rposition(|record| matches!(record, Record::Assistant(_))).unwrap_or(0);
        self.records[last..].iter().any(|record| matches!(record, Record::Begun { id } if *id == call.id))
    }

    /// The call of the last answer with that id.
    pub(crate) fn call(&self, id: &str) -> Option<&Call> {
        self.answers().last()?.calls.iter().find(|call| call.id == id)
    }

    /// Where in the last answer a call stands, from 0.
    pub(crate) fn place(&self, call: &Call) -> usize {
        let calls = self.answers().last().map(|answer| answer.calls.as_slice()).unwrap_or_default();
        calls.iter().position(|other| other.id == call.id).unwrap_or(0)
    }

    /// Bytes of the results of the last answer that are there.
    pub(crate) fn shown_in_turn(&self) -> usize {
        let last = self.records.iter().rposition(|record| matches!(record, Record::Assistant(_))).unwrap_or(0);
        self.records[last..].iter().flat_map(results).map(|result| result.output.len()).sum()
    }

    /// The number of the last thing a person said that was taken in.
    pub(crate) fn guided(&self) -> u64 {
        let number = |record: &Record| {
            if let Record::Guidance(guidance) = record { Some(guidance.number) } else { None }
        };
        self.records.iter().filter_map(number).max().unwrap_or(0)
    }

    /// What the model is shown.
    pub(crate) fn context(&self) -> Vec<Record> {
        context::of(&self.records)
    }

    fn answers(&self) -> impl Iterator<Item = &Answer> {
        self.records
            .iter()
            .filter_map(|record| if let Record::Assistant(answer) = record { Some(answer) } else { None })
    }

    fn nudges_before(&self, at: usize) -> u32 {
        let quiet = self.records[..at].iter().rev().take_while(|record| match record {
            Record::Nudge { .. } => true,
            Record::Assistant(answer) => answer.calls.is_empty(),
            // It stands between turns and says nothing about them.
            Record::Compacted(_) => true,
            Record::Opening { .. } | Record::Results(_) | Record::Begun { .. } | Record::Guidance(_) => false,
        });
        u32::try_from(quiet.filter(|record| matches!(record, Record::Nudge { .. })).count()).unwrap_or(u32::MAX)
    }
}

fn results(record: &Record) -> &[CallResult] {
    match record {
        Record::Results(results) => results,
        Record::Opening { .. }
        | Record::Assistant(_)
        | Record::Nudge { .. }
        | Record::Begun { .. }
        | Record::Guidance(_)
        | Record::Compacted(_) => &[],
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::turns::By;

    fn opening() -> Record {
        Record::Opening { system: "s".into(), user: "u".into() }
    }

    fn nudge() -> Record {
        Record::Nudge { text: "n".into() }
    }

    fn call(id: &str, tool: &str, input: Value) -> Call {
        Call { id: id.into(), tool: tool.into(), input, signatures: Vec::new() }
    }

    fn said(calls: Vec<Call>) -> Record {
        Record::Assistant(Answer { calls, ..Answer::default() })
    }

    fn done(id: &str, tool: &str, ok: bool) -> Record {
        Record::Results(vec![CallResult {
            id: id.into(),
            tool: tool.into(),
            ok,
            output: "o".into(),
            by: By::Tool,
            at: None,
            millis: 0,
        }])
    }

    #[test]
    fn the_next_move_follows_from_the_records() {
        let two = || said(vec![call("1", "grep", json!({})), call("2", "grep", json!({}))]);
        let speaks = |records| assert_eq!(Conversation::new(records).stand(), Stand::ModelSpeaks);
        assert_eq!(Conversation::default().stand(), Stand::Empty);
        speaks(vec![opening()]);
        speaks(vec![opening(), said(vec![]), nudge()]);
        speaks(vec![opening(), two(), done("1", "grep", true), done("2", "grep", false)]);
        let half = Conversation::new(vec![opening(), two(), done("1", "grep", true)]);
        let Stand::Open { pending, settled } = half.stand() else { panic!() };
        assert_eq!((pending[0].id.as_str(), settled[0].id.as_str()), ("2", "1"));
    }

    #[test]
    fn nudges_count_only_in_a_row() {
        let quiet = |records| Conversation::new(records).stand() == Stand::Silent { nudges: 1 };
        assert!(quiet(vec![opening(), said(vec![]), nudge(), said(vec![])]));
        let worked = said(vec![call("1", "grep", json!({}))]);
        let records = vec![opening(), said(vec![]), nudge(), worked, done("1", "grep", true), said(vec![])];
        assert_eq!(Conversation::new(records).stand(), Stand::Silent { nudges: 0 });
    }

    #[test]
    fn a_call_id_used_again_in_a_later_turn_is_a_new_call() {
        let one = || said(vec![call("call_0", "grep", json!({}))]);
        let records = vec![opening(), one(), done("call_0", "grep", true), one()];
        assert!(matches!(Conversation::new(records).stand(), Stand::Open { .. }));
    }

    #[test]
    fn only_answered_questions_use_up_answers() {
        let ask = |id| call(id, "ask_questions", json!({"questions": [{"question": "a"}, {"question": "b"}]}));
        let records = vec![
            opening(),
            said(vec![ask("1")]),
            done("1", "ask_questions", true),
            said(vec![ask("2")]),
            done("2", "ask_questions", false),
            said(vec![ask("3")]),
            said(vec![call("4", "clarify", json!({"status": "questions", "message": "m"}))]),
            done("4", "clarify", true),
            said(vec![call("5", "request_extension", json!({"minutes": 5, "reason": "r"}))]),
            done("5", "request_extension", true),
        ];
        let conversation = Conversation::new(records);
        assert_eq!((conversation.answers_used(), conversation.extensions_used()), (3, 1));
    }
}
