//! `edit_file`: one exact replacement. Keeps line endings, byte order mark and mode.

use std::io::Read;

use serde::Deserialize;
use serde_json::json;

use super::{Definition, Desk, ToolError, near};

const MOST_BYTES: u64 = 8 * 1024 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "edit_file",
        description: "Replace one exact piece of text in a file. old_text must occur exactly once, with its exact white \
                      space and without the line numbers of read_file; add lines around it until it is unique, or set \
                      replace_all. Write line ends as \\n; a file with Windows line ends keeps them.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["path", "old_text", "new_text"],
            "properties": {
                "path": {"type": "string", "description": "Path relative to the workspace."},
                "old_text": {"type": "string", "description": "The text to replace."},
                "new_text": {"type": "string", "description": "What stands there instead; empty to delete."},
                "replace_all": {"type": "boolean", "description": "Replace every occurrence. Default false."}
            }
        }),
    }
}

pub(super) fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    let Input { path, old_text, new_text, replace_all } = input;
    let content = content_of(desk, &path)?;
    if old_text.is_empty() {
        return Err(ToolError::Refused("`old_text` is empty; use write_file to make a new file".to_owned()));
    }
    if old_text == new_text {
        return Err(ToolError::Refused("`old_text` and `new_text` are the same; nothing to do".to_owned()));
    }
    let (old, new) = in_line_ends_of(&content, old_text, new_text);
    let places: Vec<usize> = content.match_indices(&old).map(|(at, _)| line_of(&content, at)).collect();
    match (places.as_slice(), replace_all) {
        ([], _) => {
            let hint = near::hint(&content, &old);
            Err(ToolError::Refused(format!("`old_text` does not occur in `{path}`; {hint}")))
        }
        ([_], _) | (_, true) => {
            desk.workspace.write(&path, content.replace(&old, &new).as_bytes())?;
            let lines = list(&places);
            Ok(format!("replaced {} occurrence(s) in `{path}`, at line {lines}", places.len()))
        }
        (several, false) => Err(ToolError::Refused(format!(
            "`old_text` occurs {} times in `{path}`, at lines {}; add lines around it to make it unique, or set replace_all",
            several.len(),
            list(several)
        ))),
    }
}

fn content_of(desk: &Desk, path: &str) -> Result<String, ToolError> {
    let io = |source| ToolError::Io { what: format!("`{path}` cannot be read"), source };
    let file = desk.workspace.open_file(path)?;
    if file.metadata().map_err(io)?.len() > MOST_BYTES {
        return Err(ToolError::Refused(format!("`{path}` is over 8 MiB; change it with a shell command")));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(io)?;
    let refuse = |_| ToolError::Refused(format!("`{path}` is not UTF-8 text; change it with a shell command"));
    String::from_utf8(bytes).map_err(refuse)
}

/// Models write `\n`; in a file with `\r\n` that means `\r\n`.
fn in_line_ends_of(content: &str, old: String, new: String) -> (String, String) {
    let windows = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    let newlines = content.matches('\n').count();
    let all_windows = newlines > 0 && content.matches("\r\n").count() == newlines;
    if all_windows || (!content.contains(&old) && content.contains(&windows(&old))) {
        (windows(&old), windows(&new))
    } else {
        (old, new)
    }
}

fn line_of(content: &str, at: usize) -> usize {
    content[..at].matches('\n').count() + 1
}

fn list(lines: &[usize]) -> String {
    let shown: Vec<String> = lines.iter().take(20).map(ToString::to_string).collect();
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::fixture::desk;
    use super::*;

    fn edit(desk: &Desk, old: &str, new: &str, replace_all: bool) -> Result<String, String> {
        let input = Input { path: "f".into(), old_text: old.into(), new_text: new.into(), replace_all };
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
}
