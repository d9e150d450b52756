//! What the model is shown of a conversation: the records as messages, after compaction if there was one. Pure.
//!
//! Invariants: every call is followed by exactly its results, in the order of the calls, before anything else; the
//! first words are the opening's; and after those the model speaks.

use crate::guidance;
use crate::shorten;
use crate::turns::{Call, CallResult, Compacted, Record};

/// Only openings, answers, results and words of people, in an order every API takes.
pub(crate) fn of(records: &[Record]) -> Vec<Record> {
    let compacted =
        records.iter().enumerate().rev().find_map(|(at, record)| {
            if let Record::Compacted(compacted) = record { Some((at, compacted)) } else { None }
        });
    let (before, when) = compacted.map_or((0, 0), |(at, compacted)| (compacted.before, at));
    let most = compacted.and_then(|(_, compacted)| compacted.results).unwrap_or(usize::MAX);
    let mut shown = Shown::default();
    for (at, record) in records.iter().enumerate() {
        if let Record::Opening { system, user } = record {
            shown.open(system, user, compacted.map(|(_, summary)| summary));
        } else if at >= before {
            shown.add(record, if at < when { most } else { usize::MAX });
        }
    }
    shown.close();
    shown.records
}

#[derive(Default)]
struct Shown {
    records: Vec<Record>,
    calls: Vec<Call>,
    results: Vec<CallResult>,
}

impl Shown {
    fn open(&mut self, system: &str, user: &str, summary: Option<&Compacted>) {
        let user = match summary {
            None => user.to_owned(),
            Some(Compacted { summary, .. }) => format!("{user}\n\n{summary}"),
        };
        self.records.push(Record::Opening { system: system.to_owned(), user });
    }

    fn add(&mut self, record: &Record, most: usize) {
        match record {
            Record::Assistant(answer) => {
                self.close();
                self.calls.clone_from(&answer.calls);
                self.records.push(record.clone());
            }
            Record::Results(results) => {
                let cut = |result: &CallResult| CallResult { output: ends(&result.output, most), ..result.clone() };
                self.results.extend(results.iter().map(cut));
            }
            Record::Nudge { .. } => {
                self.close();
                self.records.push(record.clone());
            }
            Record::Guidance(guidance) => {
                self.close();
                self.records.push(Record::Nudge { text: guidance::words(guidance) });
            }
            Record::Opening { .. } | Record::Begun { .. } | Record::Compacted(_) => {}
        }
    }

    /// The results of the last answer, once all that will come are there.
    fn close(&mut self) {
        let mut results = std::mem::take(&mut self.results);
        let place = |result: &CallResult| self.calls.iter().position(|call| call.id == result.id);
        results.sort_by_key(place);
        if !results.is_empty() {
            self.records.push(Record::Results(results));
        }
    }
}

fn ends(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    format!("{}\n(shortened)\n{}", shorten::head(text, most / 2), shorten::tail(text, most / 2))
}
