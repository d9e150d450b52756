//! `reply`: answers a person's question about what the stage made.

use drivers::HandIn;
use serde::Deserialize;
use serde_json::json;

use super::{Definition, ToolError, required};

const MOST_BYTES: usize = 32 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    text: String,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "reply",
        description: "Answer the person's question and end. Say what you know from the work and the repository, with \
                      places; say so when something cannot be known. Call it alone.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["text"],
            "properties": {"text": {"type": "string", "description": "The answer, for the person; Markdown."}}
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let text = required("reply", "text", &input.text)?;
    if text.len() > MOST_BYTES {
        return Err(ToolError::Refused(format!("`text` has {} bytes; say it in {MOST_BYTES}", text.len())));
    }
    Ok(HandIn::Answer { text })
}

#[cfg(test)]
mod tests {
    use super::super::BlockTool;
    use super::*;

    #[test]
    fn an_answer_says_something_and_stays_readable() {
        let read = |input| BlockTool::Reply.hand_in(&input);
        assert_eq!(read(json!({"text": " because "})).unwrap(), HandIn::Answer { text: "because".into() });
        assert!(read(json!({"text": ""})).is_err());
        assert!(read(json!({"text": "x".repeat(MOST_BYTES + 1)})).unwrap_err().to_string().contains("say it in"));
    }
}
