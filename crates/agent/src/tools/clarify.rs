//! `clarify`: a turn of the conversation with the person; it goes on with their answer.

use drivers::{HandIn, PastAnswer};
use serde::Deserialize;
use serde_json::json;

use super::{Definition, ToolError, required};

pub(crate) const NAME: &str = "clarify";
const MOST_BYTES: usize = 32 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    status: Status,
    message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Questions,
    Ready,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: NAME,
        description: "Say something to the person and wait for their answer, which comes back as the result of this \
                      call. `questions`: you need to know more before the work can be planned. `ready`: all is clear, \
                      and `message` is the whole requirement in your words, for the person to confirm. Call it alone.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["status", "message"],
            "properties": {
                "status": {"type": "string", "enum": ["questions", "ready"]},
                "message": {"type": "string", "description": "The questions, or the requirement; Markdown."}
            }
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let message = required(NAME, "message", &input.message)?;
    if message.len() > MOST_BYTES {
        return Err(ToolError::Refused(format!("`message` has {} bytes; say it in {MOST_BYTES}", message.len())));
    }
    Ok(HandIn::Said { ready: input.status == Status::Ready, message })
}

/// The result of the call, from what the person answered.
pub(crate) fn answered(past: &PastAnswer) -> String {
    match &past.answer {
        Some(answer) => format!("The person answers:\n{}", answer.join("\n")),
        None => "The person has no answer to that: go on with what you know, and name the assumption.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::BlockTool;
    use super::*;

    #[test]
    fn a_turn_asks_or_sums_up_and_is_never_empty() {
        let read = |input| BlockTool::Clarify.hand_in(&input);
        let asks = read(json!({"status": "questions", "message": "Which page?"})).unwrap();
        assert_eq!(asks, HandIn::Said { ready: false, message: "Which page?".into() });
        assert!(matches!(read(json!({"status": "ready", "message": "So:"})), Ok(HandIn::Said { ready: true, .. })));
        assert!(read(json!({"status": "ready", "message": " "})).is_err());
        assert!(read(json!({"status": "done", "message": "m"})).unwrap_err().to_string().contains("unknown variant"));
    }
}
