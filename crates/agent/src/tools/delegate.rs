//! `delegate`: a sub-agent does one thing in a conversation of its own and comes back with a summary.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Definition, ToolError, parse, required};

/// Bytes of what a sub-agent is told.
const LONGEST: usize = 16 * 1024;

/// What a sub-agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Errand {
    /// Look, and say what is there.
    Explore,
    /// Change files.
    Work,
}

impl Errand {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Explore => "explore",
            Self::Work => "work",
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    pub(crate) kind: Errand,
    pub(crate) task: String,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "delegate",
        description: "Let a sub-agent do one bounded thing in a conversation of its own, and get back its summary: \
                      `explore` only reads and answers, `work` may change files and run commands. It knows nothing but \
                      what you tell it, so name paths and say what you want to know or see done.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["kind", "task"],
            "properties": {
                "kind": {"type": "string", "enum": ["explore", "work"]},
                "task": {"type": "string", "description": "All that it needs to know."}
            }
        }),
    }
}

pub(crate) fn read(input: &Value) -> Result<Input, ToolError> {
    let Input { kind, task } = parse("delegate", input)?;
    let task = required("delegate", "task", &task)?;
    if task.len() > LONGEST {
        return Err(ToolError::Refused(format!("`task` has {} bytes; at most {LONGEST} are taken", task.len())));
    }
    Ok(Input { kind, task })
}
