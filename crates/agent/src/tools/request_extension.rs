//! `request_extension`: asks a person for more time; the conversation goes on when it is granted.

use drivers::HandIn;
use serde::Deserialize;
use serde_json::json;

use super::{Definition, ToolError, required};

pub(crate) const NAME: &str = "request_extension";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    minutes: u32,
    reason: String,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: NAME,
        description: "Ask the person for more time, when you see that what you have will not do. Work stops until they \
                      decide, and goes on where it stopped if they agree. Do not combine with handing in.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["minutes", "reason"],
            "properties": {
                "minutes": {"type": "integer", "minimum": 1, "maximum": HandIn::MAX_EXTENSION, "description": "How much more."},
                "reason": {"type": "string", "description": "What is done, what is left, and why it takes longer."}
            }
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let reason = required(NAME, "reason", &input.reason)?;
    if !(1..=HandIn::MAX_EXTENSION).contains(&input.minutes) {
        return Err(ToolError::Refused(format!("`minutes` must be from 1 to {}", HandIn::MAX_EXTENSION)));
    }
    Ok(HandIn::Extension { minutes: input.minutes, reason })
}

/// The result of the call, once the time is granted.
pub(crate) fn granted(minutes: Option<u32>) -> String {
    match minutes {
        Some(minutes) => format!("Granted: you have {minutes} minutes from now. Go on where you stopped."),
        None => "Granted. Go on where you stopped.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::BlockTool;
    use super::*;

    #[test]
    fn more_time_is_asked_for_with_a_reason_and_within_a_day() {
        let read = |input| BlockTool::RequestExtension.hand_in(&input);
        let asked = read(json!({"minutes": 20, "reason": "slow tests"})).unwrap();
        assert_eq!(asked, HandIn::Extension { minutes: 20, reason: "slow tests".into() });
        for wrong in [json!({"minutes": 0, "reason": "r"}), json!({"minutes": 1441, "reason": "r"})] {
            assert!(read(wrong).unwrap_err().to_string().contains("from 1 to 1440"));
        }
        assert!(read(json!({"minutes": 5, "reason": " "})).is_err());
        assert!(read(json!({"minutes": -5, "reason": "r"})).is_err());
    }
}
