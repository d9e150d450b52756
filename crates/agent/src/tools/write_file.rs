//! `write_file`: a whole file, new or replaced.

use serde::Deserialize;
use serde_json::json;

use super::{Definition, Desk, ToolError};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    path: String,
    content: String,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "write_file",
        description: "Create a file or replace all of its content; missing directories are made. For a change in an \
                      existing file prefer edit_file. Paths inside `.git` and paths through symbolic links are refused.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["path", "content"],
            "properties": {
                "path": {"type": "string", "description": "Path relative to the workspace."},
                "content": {"type": "string", "description": "The whole content, exactly as it shall stand in the file."}
            }
        }),
    }
}

pub(super) fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    desk.workspace.write(&input.path, input.content.as_bytes())?;
    desk.views.saw(desk.workspace.relative(&input.path)?, &input.content);
    Ok(format!("wrote `{}` ({} lines)", input.path, input.content.lines().count()))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::desk;
    use super::*;

    #[test]
    fn the_content_is_written_byte_for_byte() {
        let (_folder, desk) = desk(&[]);
        let input = Input { path: "a/b.txt".into(), content: "x\r\ny".into() };
        assert_eq!(run(&desk, input).unwrap(), "wrote `a/b.txt` (2 lines)");
        assert_eq!(std::fs::read(desk.workspace.root().join("a/b.txt")).unwrap(), b"x\r\ny");
        let input = Input { path: "../b.txt".into(), content: String::new() };
        assert!(run(&desk, input).unwrap_err().to_string().contains("leaves the workspace"));
    }
}
