//! `multi_edit`: several exact replacements in one or more files, all of them or none.

use serde::Deserialize;
use serde_json::json;

use super::edit::Edit;
use super::{Definition, Desk, ToolError, changes, edit_file};

const MOST: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    edits: Vec<Edit>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "multi_edit",
        description: "Make several exact replacements in one or more files at once, e.g. a rename across the codebase. \
                      Either all of them are made or none: if one does not fit, nothing is changed and you are told \
                      which and why. Edits of one file are applied in order, each to what the one before left. Each \
                      edit has the rules of edit_file.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["edits"],
            "properties": {
                "edits": {"type": "array", "minItems": 1, "maxItems": MOST, "items": edit_file::schema(&[])}
            }
        }),
    }
}

pub(super) fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    match input.edits.len() {
        0 => Err(ToolError::Refused("`edits` is empty; give at least one edit".to_owned())),
        1..=MOST => changes::make(desk, &input.edits),
        many => Err(ToolError::Refused(format!("{many} edits are too many for one call; give at most {MOST}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::desk;
    use super::*;

    fn made(desk: &Desk, edits: &[(&str, &str, &str)]) -> Result<String, String> {
        let edit = |(path, old, new): &(&str, &str, &str)| Edit {
            path: (*path).into(),
            old_text: (*old).into(),
            new_text: (*new).into(),
            replace_all: false,
        };
        run(desk, Input { edits: edits.iter().map(edit).collect() }).map_err(|error| error.to_string())
    }

    #[test]
    fn all_edits_are_made_in_order() {
        let (_folder, desk) = desk(&[("a", "one\r\ntwo\r\n"), ("d/b", "two\n")]);
        let said = made(&desk, &[("a", "one", "1\n1b"), ("d/b", "two", "2"), ("./a", "1b", "1c")]).unwrap();
        assert!(said.contains("3 edits in 2 files") && said.contains("`d/b`, at line 1"), "{said}");
        let read = |path: &str| std::fs::read_to_string(desk.workspace.root().join(path)).unwrap();
        assert_eq!((read("a").as_str(), read("d/b").as_str()), ("1\r\n1c\r\ntwo\r\n", "2\n"));
    }

    #[test]
    fn one_that_does_not_fit_keeps_all_from_being_made() {
        let (_folder, desk) = desk(&[("a", "one\n"), ("b", "two\n")]);
        let refused = made(&desk, &[("a", "one", "1"), ("b", "three", "3")]).unwrap_err();
        assert!(refused.contains("edit 2 of 2") && refused.contains("nothing was changed"), "{refused}");
        assert_eq!(std::fs::read_to_string(desk.workspace.root().join("a")).unwrap(), "one\n");
        for edits in [&[("a", "one", "1"), ("../x", "a", "b")][..], &[("a", "one", "1"), ("no", "a", "b")], &[]] {
            assert!(made(&desk, edits).is_err());
            assert_eq!(std::fs::read_to_string(desk.workspace.root().join("a")).unwrap(), "one\n");
        }
    }
}
