//! `calls.jsonl`: one line per state of a call. The writer appends whole lines; a reader may
//! meet the file while a line is being written, or after the writer died in the middle of one.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::money::Micros;
use crate::protocol::Protocol;
use crate::purses::Shortage;

/// One line of the log. Numbers count from 1 per attempt; a call that was refused by the
/// gateway has only a settled line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase")]
pub enum CallRecord {
    Reserved(Reserved),
    Tried(Tried),
    Settled(Settled),
    Read(Read),
    Used(Used),
    Connection(Connection),
    Disconnection(Disconnection),
}

/// What a program with its own login says it has used. A later line of the same call replaces an earlier one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Used {
    pub call: u32,
    /// The program whose word this is.
    pub by: String,
    /// `provider/model`, or the program where its model is not known.
    pub model: String,
    /// All that were sent, those from the cache too.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// `None` when neither the program nor the table knows.
    pub micro_usd: Option<Micros>,
    pub pricing: Pricing,
    pub standing: Standing,
    pub at: Timestamp,
    /// The limit that is reached with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortage: Option<Shortage>,
}

/// Who said what something cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Pricing {
    /// The program.
    Program,
    /// The table of prices, by the program's tokens.
    Table,
    /// Nobody.
    Unknown,
}

/// Whether a line may still be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    Growing,
    Settled,
}

/// A host that a program with its own login wanted to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    /// From 1.
    pub number: u32,
    /// `host:port`, as it was asked for.
    pub to: String,
    #[serde(flatten)]
    pub verdict: Verdict,
    pub at: Timestamp,
}

/// Whether it may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "camelCase")]
pub enum Verdict {
    Allowed,
    Refused { reason: String },
}

/// The end of a connection that was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Disconnection {
    pub number: u32,
    /// Bytes.
    pub sent: u64,
    pub received: u64,
    pub millis: u64,
}

/// Money is set aside and the call is about to be made. Without a settled line after it, the
/// call may or may not have been made and paid for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reserved {
    pub call: u32,
    pub model: String,
    pub protocol: Protocol,
    /// What was set aside; `None` when the model has no price.
    pub micro_usd: Option<Micros>,
    pub started_at: Timestamp,
}

/// One try that did not do, and after which the upstream is asked again. It costs nothing by itself: what the
/// call cost is in its settled line, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tried {
    pub call: u32,
    /// From 1.
    pub attempt: u32,
    pub outcome: Outcome,
    /// What the upstream answered; `None` when there was no answer.
    pub status: Option<u16>,
    pub cause: String,
    /// How long is waited before the next try.
    pub wait_millis: u64,
    pub at: Timestamp,
}

/// The call is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settled {
    pub call: u32,
    /// `provider/model`, or the model as asked for when no provider was found for it.
    pub model: String,
    pub protocol: Protocol,
    /// Without what was read from or written to the prompt cache.
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// A part of `output_tokens`.
    pub reasoning_tokens: u64,
    /// False when the upstream reported no usage and the tokens are counted from bytes.
    pub usage_known: bool,
    /// `None` when the model has no price.
    pub micro_usd: Option<Micros>,
    pub price_known: bool,
    /// The HTTP status the agent got.
    pub status: u16,
    pub outcome: Outcome,
    /// How often the upstream was asked.
    pub tries: u32,
    pub started_at: Timestamp,
    /// Without the waits.
    pub millis: u64,
    /// Waits for a slot of the provider and between tries.
    #[serde(default)]
    pub waited_millis: u64,
    /// When the provider's usage window opens again, for a call that met its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Timestamp>,
    /// The limit that did not allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortage: Option<Shortage>,
}

/// Text of strangers is about to be brought in. One line per source and attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Read {
    pub source: ReadSource,
    pub at: Timestamp,
}

/// The door it comes through.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReadSource {
    Search,
    /// The name of the server.
    Mcp(String),
    /// A tool that the provider runs, by its name.
    Hosted(String),
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    Ok,
    /// The upstream said no, or could not be reached.
    Error,
    /// The answer broke off.
    Cut,
    /// The answer stopped coming and was given up.
    Stalled,
    /// The answer could not be read as its protocol.
    Malformed,
    /// A complete answer without content.
    Empty,
    /// The agent left, or the attempt ended, before the answer was complete.
    Abandoned,
    /// Refused: over the spend limit.
    Budget,
    /// Refused: a limit is set and the model has no price.
    PriceUnknown,
    /// Refused: the number of calls is used up.
    CallLimit,
    /// The provider's usage window or account is spent.
    Quota,
    /// Refused: the model is not granted here.
    Refused,
    /// The scripted upstream had no turn left.
    ScriptOver,
}

/// What a log held so far.
#[derive(Debug, PartialEq, Eq)]
pub struct Parsed {
    pub records: Vec<CallRecord>,
    /// Bytes up to the end of the last whole line: where the next reading starts.
    pub consumed: usize,
}

/// A log that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("the call log `{path}` could not be read")]
    Io {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error("line {line} of the call log is damaged: {message}")]
    Damaged { line: usize, message: String },
}

/// All whole records of a log; a last line without its end is left out.
pub fn read(path: &Path) -> Result<Vec<CallRecord>, ReadError> {
    let bytes = std::fs::read(path).map_err(|source| ReadError::Io { path: path.display().to_string(), source })?;
    Ok(parse(&bytes)?.records)
}

/// The whole records in `bytes`, for readers that follow a growing log.
pub fn parse(bytes: &[u8]) -> Result<Parsed, ReadError> {
    let consumed = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let mut records = Vec::new();
    for (index, line) in bytes[..consumed].split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let record = serde_json::from_slice(line)
            .map_err(|error| ReadError::Damaged { line: index + 1, message: error.to_string() })?;
        records.push(record);
    }
    Ok(Parsed { records, consumed })
}

/// Appends one line in one write; bringing it to disk is for others.
pub(crate) fn append(log: &mut File, record: &CallRecord) -> io::Result<()> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    log.write_all(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reserved(call: u32) -> CallRecord {
        CallRecord::Reserved(Reserved {
            call,
            model: "scripted/demo".into(),
            protocol: Protocol::Messages,
            micro_usd: Some(Micros(7)),
            started_at: "2026-01-01T00:00:00Z".parse().unwrap(),
        })
    }

    fn lines(count: u32) -> Vec<u8> {
        let mut file = tempfile::tempfile().unwrap();
        for call in 1..=count {
            append(&mut file, &reserved(call)).unwrap();
        }
        let mut bytes = Vec::new();
        io::Seek::rewind(&mut file).unwrap();
        io::Read::read_to_end(&mut file, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_record_reads_as_documented() {
        assert_eq!(
            String::from_utf8(lines(1)).unwrap(),
            "{\"state\":\"reserved\",\"call\":1,\"model\":\"scripted/demo\",\
             \"protocol\":\"messages\",\"microUsd\":7,\"startedAt\":\"2026-01-01T00:00:00Z\"}\n"
        );
    }

    #[test]
    fn a_torn_last_line_is_left_for_later_wherever_it_is_torn() {
        let bytes = lines(2);
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for end in first..bytes.len() {
            let parsed = parse(&bytes[..end]).unwrap();
            assert_eq!(parsed.records, [reserved(1)], "torn at {end}");
            assert_eq!(parsed.consumed, first);
        }
        assert_eq!(parse(&bytes).unwrap().records.len(), 2);
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_named() {
        let mut bytes = lines(1);
        bytes.extend_from_slice(b"{\"state\":\n");
        bytes.extend(lines(1));
        let error = parse(&bytes).unwrap_err();
        assert!(error.to_string().starts_with("line 2 "), "{error}");
    }

    #[test]
    fn a_missing_log_is_an_error_with_its_path() {
        let error = read(Path::new("/nonexistent/calls.jsonl")).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/calls.jsonl"));
    }
}
