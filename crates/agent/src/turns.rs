//! The conversation on disk: one line of JSON per completed thing, each on the disk before anything builds on it.
//! Never rewrites a line; only a torn last line is cut off.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use drivers::Guidance;
use jiff::Timestamp;
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::lines;

/// What can go wrong with the conversation's file.
#[derive(Debug, thiserror::Error)]
pub enum TurnsError {
    /// Another process holds the file.
    #[error("another agent already works in this session (`{}` is locked)", .0.display())]
    Busy(PathBuf),
    /// A line that is not the last cannot be read.
    #[error("`{}` is damaged at line {line}: {source}; start the stage again with a new session", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What the decoder said.
        source: serde_json::Error,
    },
    /// The disk refused.
    #[error("the conversation in `{}` cannot be kept: {source}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// One completed thing of the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Record {
    /// The prompts as they were built at the first start; every later start uses these very words.
    Opening { system: String, user: String },
    /// A complete answer of the model.
    Assistant(Answer),
    /// Answers to some of the calls of the last `Assistant`; several records may follow one answer.
    Results(Vec<CallResult>),
    /// What the agent said because the model called no tool.
    Nudge { text: String },
    /// A call that changes something is about to run. Without a result it may have run in part: never run again.
    Begun { id: String },
    /// What a person said while the agent worked.
    Guidance(Guidance),
    /// From here on the model sees a summary instead of the older records.
    Compacted(Compacted),
}

/// What stands for the records before `before`, the opening excepted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Compacted {
    /// Index of the first record that is still shown whole; an answer of the model, or the end.
    pub(crate) before: usize,
    pub(crate) summary: String,
    /// Most bytes shown of each result recorded before this record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) results: Option<usize>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) thoughts: Vec<Thought>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) calls: Vec<Call>,
    #[serde(default)]
    pub(crate) usage: Usage,
    /// When it was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Timestamp>,
    /// How long it took.
    #[serde(default)]
    pub(crate) millis: u64,
    /// The model that gave it; the next start goes on with the one that answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
}

/// A thought, kept because some APIs want it back, word for word and with its signature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Thought {
    Plain(String),
    Signed {
        text: String,
        signature: String,
    },
    /// A block only the provider can read.
    Sealed(Value),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// Some APIs sign each call and want the signature back with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) signatures: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CallResult {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) ok: bool,
    pub(crate) output: String,
    #[serde(default, skip_serializing_if = "By::is_tool")]
    pub(crate) by: By,
    /// When it was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Timestamp>,
    /// How long it took.
    #[serde(default)]
    pub(crate) millis: u64,
}

/// Who made a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    /// The tool.
    #[default]
    Tool,
    /// The agent, instead of running one.
    Agent,
}

impl By {
    fn is_tool(&self) -> bool {
        *self == Self::Tool
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// The open file. Invariant: it ends after a complete line.
#[derive(Debug)]
pub(crate) struct TurnLog {
    path: PathBuf,
    file: File,
}

impl TurnLog {
    /// Opens or creates the file, for this process alone, and reads what is there.
    pub(crate) fn open(path: &Path) -> Result<(Self, Vec<Record>), TurnsError> {
        let failed = |source: io::Error| TurnsError::Io { path: path.to_owned(), source };
        let mut file = lines::open(path).map_err(failed)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(TurnsError::Busy(path.to_owned())),
            Err(errno) => return Err(failed(errno.into())),
        }
        let bytes = lines::take_in(&mut file).map_err(failed)?;
        let records = decode(path, &bytes)?;
        if let Some(folder) = path.parent() {
            File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
        }
        Ok((Self { path: path.to_owned(), file }, records))
    }

    /// Appends one record; when this returns, it is on the disk.
    pub(crate) fn append(&mut self, record: &Record) -> Result<(), TurnsError> {
        let kept = lines::append(&mut self.file, record).and_then(|()| self.file.sync_data());
        kept.map_err(|source| TurnsError::Io { path: self.path.clone(), source })
    }
}

fn decode(path: &Path, bytes: &[u8]) -> Result<Vec<Record>, TurnsError> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    let decoded = lines.map(|(index, line)| {
        serde_json::from_slice(line).map_err(|source| TurnsError::Damaged {
            path: path.to_owned(),
            line: index + 1,
            source,
        })
    });
    decoded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nudge(text: &str) -> Record {
        Record::Nudge { text: text.to_owned() }
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_the_next_record_follows_the_last_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turns.jsonl");
        let (mut log, records) = TurnLog::open(&path).unwrap();
        assert_eq!(records, []);
        log.append(&nudge("one")).unwrap();
        drop(log);
        let whole = std::fs::read(&path).unwrap();
        let line = serde_json::to_vec(&nudge("two")).unwrap();
        for cut in 1..=line.len() {
            std::fs::write(&path, [whole.as_slice(), &line[..cut]].concat()).unwrap();
            let (mut log, records) = TurnLog::open(&path).unwrap();
            assert_eq!(records, [nudge("one")], "cut at {cut}");
            log.append(&nudge("three")).unwrap();
            drop(log);
            assert_eq!(TurnLog::open(&path).unwrap().1, [nudge("one"), nudge("three")]);
        }
    }

    #[test]
    fn damage_before_the_last_line_is_an_error_and_nothing_is_lost() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turns.jsonl");
        let text = "{\"nudge\":{\"text\":\"a\"}}\n{\"nud\n{\"nudge\":{\"text\":\"b\"}}\n";
        std::fs::write(&path, text).unwrap();
        assert!(matches!(TurnLog::open(&path), Err(TurnsError::Damaged { line: 2, .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_second_agent_in_the_same_session_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turns.jsonl");
        let _first = TurnLog::open(&path).unwrap();
        assert!(matches!(TurnLog::open(&path), Err(TurnsError::Busy(_))));
    }
}
