//! `take_note`: something the agent wants to know again in later work on the same stage.

use drivers::{KeptNote, NOTES_FILE};
use serde::Deserialize;
use serde_json::json;

use super::kept::{self, Added};
use super::{Definition, Desk, ToolError, required};

const LONGEST: usize = 4 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    note: String,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "take_note",
        description: "Keep a note for yourself: what you found out, decided or still have to do. People can read it, and \
                      if this stage is worked on again later, you are given your notes then, when this conversation is \
                      gone. Short and concrete, with paths; at most 4 KiB each.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["note"],
            "properties": {"note": {"type": "string", "description": "The note."}}
        }),
    }
}

pub(super) fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    let text = required("take_note", "note", &input.note)?;
    if text.len() > LONGEST {
        let length = text.len();
        return Err(ToolError::Refused(format!("the note has {length} bytes; a note has at most {LONGEST}")));
    }
    Ok(match kept::add(&desk.session.join(NOTES_FILE), &KeptNote { text })? {
        Added::New => "noted".to_owned(),
        Added::AlreadyThere => "this very note is kept already".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::desk;
    use super::*;

    #[test]
    fn notes_are_kept_as_lines_that_others_can_read() {
        let (_folder, desk) = desk(&[]);
        let note = |note: &str| run(&desk, Input { note: note.into() }).map_err(|error| error.to_string());
        assert_eq!(note(" tests: npm test\nin web/ ").unwrap(), "noted");
        assert_eq!(note("tests: npm test\nin web/").unwrap(), "this very note is kept already");
        assert!(note("  ").unwrap_err().contains("is empty"));
        assert!(note(&"x".repeat(5000)).unwrap_err().contains("at most 4096"));
        let kept: Vec<KeptNote> = kept::all(&desk.session.join(NOTES_FILE)).unwrap();
        assert_eq!(kept, [KeptNote { text: "tests: npm test\nin web/".into() }]);
    }
}
