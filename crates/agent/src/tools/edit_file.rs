//! `edit_file`: one exact replacement. Keeps line endings, byte order mark and mode.

use serde_json::json;

use super::edit::Edit;
use super::{Definition, Desk, ToolError, changes};

pub(super) fn definition() -> Definition {
    Definition {
        name: "edit_file",
        description: "Replace one exact piece of text in a file. old_text must occur exactly once, with its exact white \
                      space and without the line numbers of read_file; add lines around it until it is unique, or set \
                      replace_all. Write line ends as \\n; a file with Windows line ends keeps them.",
        schema: schema(&[]),
    }
}

/// The fields of one edit, as `multi_edit` has them too.
pub(super) fn schema(more: &[&str]) -> serde_json::Value {
    let required: Vec<&str> = ["path", "old_text", "new_text"].iter().chain(more).copied().collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": {
            "path": {"type": "string", "description": "Path relative to the workspace."},
            "old_text": {"type": "string", "description": "The text to replace."},
            "new_text": {"type": "string", "description": "What stands there instead; empty to delete."},
            "replace_all": {"type": "boolean", "description": "Replace every occurrence. Default false."}
        }
    })
}

pub(super) fn run(desk: &Desk, edit: Edit) -> Result<String, ToolError> {
    changes::make(desk, &[edit])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::Value;

    use super::super::WorkTool;
    use super::super::fixture::desk;
    use super::*;

    fn edit(desk: &Desk, old: &str, new: &str, replace_all: bool) -> Result<String, String> {
        let input = Edit { path: "f".into(), old_text: old.into(), new_text: new.into(), replace_all };
        run(desk, input).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check(before: &str, old: &str, new: &str, after: &str) {
        let (_folder, desk) = desk(&[("f", before)]);
        edit(&desk, old, new, false).unwrap();
        assert_eq!(std::fs::read_to_string(desk.workspace.root().join("f")).unwrap(), after);
    }

    #[test]
    fn one_occurrence_is_replaced() {
        check("a\nb\nc\n", "b\n", "x\ny\n", "a\nx\ny\nc\n");
    }

    #[test]
    fn windows_line_ends_and_the_byte_order_mark_stay() {
        check("\u{feff}a\r\nb\r\nc", "a\nb", "a\nx\ny", "\u{feff}a\r\nx\r\ny\r\nc");
    }

    #[test]
    fn in_a_file_of_mixed_line_ends_only_the_place_changes() {
        check("a\nb\r\nc\r\nd\n", "b\nc", "x\nc", "a\nx\r\nc\r\nd\n");
        check("a\nb\r\n", "a\n", "x\n", "x\nb\r\n");
    }

    #[test]
    fn the_mode_stays() {
        let (_folder, desk) = desk(&[("f", "#!/bin/sh\nfalse\n")]);
        let path = desk.workspace.root().join("f");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        edit(&desk, "false", "true", false).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[test]
    fn what_is_not_unique_or_not_there_is_refused_with_help_and_changes_nothing() {
        let text = "let a = 1;\nlet b = 2;\nlet a = 1;\n";
        let (_folder, desk) = desk(&[("f", text)]);
        let several = edit(&desk, "let a", "let c", false).unwrap_err();
        assert!(several.contains("occurs 2 times") && several.contains("lines 1, 3"), "{several}");
        let missing = edit(&desk, "let b = 3;", "x", false).unwrap_err();
        assert!(missing.contains("     2→let b = 2;"), "{missing}");
        assert_eq!(std::fs::read_to_string(desk.workspace.root().join("f")).unwrap(), text);
        assert_eq!(edit(&desk, "let a", "let c", true).unwrap(), "replaced 2 occurrence(s) in `f`, at line 1, 3");
    }

    #[tokio::test]
    async fn an_edit_that_a_command_has_overtaken_is_told_so() {
        let (_folder, desk) = desk(&[("f", "let a = 1;\n")]);
        let tool = async |tool: WorkTool, input: Value| tool.run(&desk, &input).await.unwrap();
        tool(WorkTool::ReadFile, json!({"path": "f"})).await;
        let unseen = edit(&desk, "let z = 1;", "x", false).unwrap_err();
        assert!(!unseen.contains("has changed since"), "{unseen}");
        tool(WorkTool::Shell, json!({"command": "sed -i s/a/b/ f"})).await;
        let stale = edit(&desk, "let a = 1;", "let c = 1;", false).unwrap_err();
        assert!(stale.contains("has changed since you last saw it"), "{stale}");
        tool(WorkTool::ReadFile, json!({"path": "./f"})).await;
        edit(&desk, "let b = 1;", "let c = 1;", false).unwrap();
        let again = edit(&desk, "let b = 1;", "let c = 1;", false).unwrap_err();
        assert!(!again.contains("has changed since"), "its own edits are no surprise: {again}");
    }
}
