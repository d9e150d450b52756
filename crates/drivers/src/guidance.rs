//! What people say to an agent at work: lines in its session folder, written by Holdpoint, read by the agent.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One line of JSON for each word, appended by Holdpoint.
pub const GUIDANCE_FILE: &str = "guidance.jsonl";

/// Something a person said to an agent at work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Guidance {
    /// Rises, with gaps.
    pub number: u64,
    /// Who.
    pub by: String,
    /// What.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

impl Guidance {
    /// The words of a file; a line that was cut off is none.
    #[must_use]
    pub fn read(file: &str) -> Vec<Self> {
        file.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The line, without its end.
    #[must_use]
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect("a word is plain data")
    }
}
