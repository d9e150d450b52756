//! `complete_pulse`: hands in finished code; the code itself is in the workspace.

use domain::DecisionNote;
use drivers::{HandIn, PulseHandIn};
use serde::Deserialize;
use serde_json::json;

use super::submit_plan::decisions_schema;
use super::{Definition, ToolError, required};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    summary: String,
    #[serde(default)]
    decisions: Vec<DecisionNote>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "complete_pulse",
        description: "Hand in your work and end. Everything in the workspace is taken as it stands, so call it alone, \
                      after the last edit and after the checks passed. Do not commit.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["summary"],
            "properties": {
                "summary": {"type": "string", "description": "What you changed and why, what you checked, what is left open."},
                "decisions": decisions_schema()
            }
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let summary = required("complete_pulse", "summary", &input.summary)?;
    Ok(HandIn::Pulse(PulseHandIn { summary, decisions: input.decisions }))
}

#[cfg(test)]
mod tests {
    use super::super::BlockTool;
    use super::*;

    #[test]
    fn a_summary_is_needed_and_decisions_are_kept() {
        let read = |input| BlockTool::CompletePulse.hand_in(&input);
        let note = json!({"topic": "t", "choice": "c"});
        let Ok(HandIn::Pulse(pulse)) = read(json!({"summary": "done", "decisions": [note]})) else { panic!() };
        assert_eq!((pulse.summary.as_str(), pulse.decisions[0].choice.as_str()), ("done", "c"));
        assert!(read(json!({"summary": ""})).is_err());
        assert!(read(json!({})).unwrap_err().to_string().contains("missing field `summary`"));
    }
}
