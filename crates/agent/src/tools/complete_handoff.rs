//! `complete_pulse` of jobs that want a handoff: finished code, and a note for who looks at it next.

use domain::DecisionNote;
use drivers::{HandIn, HandoffHandIn};
use serde::Deserialize;
use serde_json::json;

use super::submit_plan::decisions_schema;
use super::{Definition, ToolError, required};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    summary: String,
    look_at: String,
    how_to_test: String,
    #[serde(default)]
    decisions: Vec<DecisionNote>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "complete_pulse",
        description: "Hand in your work with a note for the person who looks at it next, and end. Everything in the \
                      workspace is taken as it stands, so call it alone, after the last edit and after the checks \
                      passed. Do not commit.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["summary", "look_at", "how_to_test"],
            "properties": {
                "summary": {"type": "string", "description": "What was done and why, and what is left open."},
                "look_at": {"type": "string", "description": "Where a reader should look first, and at what: places, risks, choices."},
                "how_to_test": {"type": "string", "description": "Commands and steps with what they must show."},
                "decisions": decisions_schema()
            }
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let text = |field, text: &str| required("complete_pulse", field, text);
    Ok(HandIn::Handoff(HandoffHandIn {
        summary: text("summary", &input.summary)?,
        look_at: text("look_at", &input.look_at)?,
        how_to_test: text("how_to_test", &input.how_to_test)?,
        decisions: input.decisions,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::BlockTool;
    use super::*;

    #[test]
    fn a_handoff_says_what_to_look_at_and_how_to_test() {
        let read = |input| BlockTool::CompleteHandoff.hand_in(&input);
        let good = json!({"summary": "s", "look_at": "a.js", "how_to_test": "npm test"});
        assert!(matches!(read(good), Ok(HandIn::Handoff(handoff)) if handoff.how_to_test == "npm test"));
        assert!(read(json!({"summary": "s", "look_at": "", "how_to_test": "t"})).is_err());
        assert!(read(json!({"summary": "s"})).unwrap_err().to_string().contains("missing field `look_at`"));
    }
}
