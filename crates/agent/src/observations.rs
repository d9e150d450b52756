//! What every tool call came to, beside the conversation: one line each, exactly once, in the order of the results.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use drivers::{Observation, ObservationKind};

use crate::lines;
use crate::shorten;
use crate::turns::{By, Call, CallResult, Record, TurnsError};

/// Bytes of input and output kept of each.
const MOST: usize = 2_000;

/// The open file. Invariant: it has one line for each result of the conversation's records.
#[derive(Debug)]
pub(crate) struct ObservationLog {
    path: PathBuf,
    file: File,
}

impl ObservationLog {
    /// Opens the file and adds what a crash kept from being written.
    pub(crate) fn open(path: &Path, records: &[Record]) -> Result<Self, TurnsError> {
        let failed = |source: io::Error| TurnsError::Io { path: path.to_owned(), source };
        let mut file = lines::open(path).map_err(failed)?;
        let there = lines::take_in(&mut file).map_err(failed)?.iter().filter(|byte| **byte == b'\n').count();
        let mut log = Self { path: path.to_owned(), file };
        for observation in all(records).into_iter().skip(there) {
            log.append(&observation)?;
        }
        Ok(log)
    }

    pub(crate) fn add(&mut self, call: &Call, result: &CallResult) -> Result<(), TurnsError> {
        self.append(&observed(call, result))
    }

    fn append(&mut self, observation: &Observation) -> Result<(), TurnsError> {
        // Not synced: what a crash takes is made again from the conversation, which is.
        lines::append(&mut self.file, observation).map_err(|source| TurnsError::Io { path: self.path.clone(), source })
    }
}

/// What was seen after the last good call of a tool.
pub(crate) fn since_last(records: &[Record], tool: &str) -> Vec<Observation> {
    let all = all(records);
    let last = all.iter().rposition(|seen| seen.source == tool && seen.success);
    all.into_iter().skip(last.map_or(0, |at| at + 1)).collect()
}

fn all(records: &[Record]) -> Vec<Observation> {
    let mut all = Vec::new();
    let mut calls: &[Call] = &[];
    for record in records {
        match record {
            Record::Assistant(answer) => calls = &answer.calls,
            Record::Results(results) => {
                let pair = |result: &CallResult| {
                    calls.iter().find(|call| call.id == result.id).map(|call| observed(call, result))
                };
                all.extend(results.iter().filter_map(pair));
            }
            Record::Opening { .. }
            | Record::Nudge { .. }
            | Record::Begun { .. }
            | Record::Guidance(_)
            | Record::Compacted(_) => {}
        }
    }
    all
}

fn observed(call: &Call, result: &CallResult) -> Observation {
    let whole = call.input.to_string();
    let input = if whole.len() <= MOST { call.input.clone() } else { shorten::head(&whole, MOST).into() };
    let words = shorten::tail(&result.output, MOST);
    let (output, error) = if result.ok { (Some(words), None) } else { (None, Some(words)) };
    Observation {
        kind: match result.by {
            By::Tool if call.tool == "delegate" => ObservationKind::SubagentResult,
            By::Tool => ObservationKind::ToolExecution,
            By::Agent => ObservationKind::Refusal,
        },
        source: call.tool.clone(),
        input,
        output,
        success: result.ok,
        error,
        execution_time_ms: result.millis,
        at: result.at,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::turns::Answer;

    #[test]
    fn what_a_crash_took_is_written_at_the_next_start_and_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("observations.jsonl");
        let call = |id: &str| Call {
            id: id.into(),
            tool: "grep".into(),
            input: json!({"pattern": id}),
            signatures: Vec::new(),
        };
        let result = |id: &str, ok| CallResult {
            id: id.into(),
            tool: "grep".into(),
            ok,
            output: "o".into(),
            by: By::Tool,
            at: None,
            millis: 7,
        };
        let calls = vec![call("a"), call("b")];
        let mut records = vec![Record::Assistant(Answer { calls, ..Answer::default() })];
        let mut log = ObservationLog::open(&path, &records).unwrap();
        records.push(Record::Results(vec![result("a", true)]));
        log.add(&call("a"), &result("a", true)).unwrap();
        records.push(Record::Results(vec![result("b", false)]));
        drop(log);
        let torn = std::fs::read_to_string(&path).unwrap() + "{\"type";
        std::fs::write(&path, torn).unwrap();
        for _ in 0..2 {
            ObservationLog::open(&path, &records).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            let all: Vec<Observation> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let told: Vec<_> = all.iter().map(|one| (one.input["pattern"].as_str().unwrap(), one.success)).collect();
            assert_eq!(told, [("a", true), ("b", false)]);
            assert_eq!((all[1].error.as_deref(), all[1].execution_time_ms), (Some("o"), 7));
            assert!(text.contains("\"type\":\"tool_execution\",\"source\":\"grep\""), "{text}");
        }
    }
}
