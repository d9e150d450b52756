//! `read_file`: lines of a text file, numbered.

use std::io::Read;

use serde::Deserialize;
use serde_json::json;

use super::{Definition, Desk, ToolError};
use crate::shorten;

const MOST_BYTES: u64 = 8 * 1024 * 1024;
const MOST_LINES: usize = 2_000;
const MOST_OUTPUT: usize = 64 * 1024;
const LONGEST_LINE: usize = 2_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    path: String,
    #[serde(default)]
    start_line: Option<usize>,
    #[serde(default)]
    end_line: Option<usize>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "read_file",
        description: "Read a text file of the workspace. Lines come back numbered as `  12→text`; the number and the \
                      arrow are not part of the file. At most 2000 lines per call: give start_line and end_line to \
                      read a part of a long file. Binary files and files over 8 MiB are refused.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["path"],
            "properties": {
                "path": {"type": "string", "description": "Path relative to the workspace."},
                "start_line": {"type": "integer", "minimum": 1, "description": "First line to read, from 1."},
                "end_line": {"type": "integer", "minimum": 1, "description": "Last line to read, inclusive."}
            }
        }),
    }
}

pub(super) fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    let text = text_of(desk, &input.path)?;
    let lines: Vec<&str> = text.lines().collect();
    let total = lines.len();
    if total == 0 {
        return Ok(format!("`{}` is empty", input.path));
    }
    let start = input.start_line.unwrap_or(1).max(1);
    let end = input.end_line.unwrap_or(usize::MAX).min(total);
    if start > total || end < start {
        return Err(ToolError::Refused(format!(
            "`{}` has {total} lines; lines {start} to {} are not there",
            input.path,
            input.end_line.unwrap_or(total)
        )));
    }
    let mut shown = String::new();
    let mut last = start - 1;
    for (index, line) in lines.iter().enumerate().take(end).skip(start - 1) {
        if last - (start - 1) >= MOST_LINES || shown.len() >= MOST_OUTPUT {
            break;
        }
        last = index + 1;
        shown.push_str(&format!("{last:>6}→{}\n", shorten::head(line, LONGEST_LINE)));
    }
    if last < end || (input.end_line.is_none() && last < total) {
        shown.push_str(&format!("(lines {start} to {last} of {total}; read on with start_line {})\n", last + 1));
    }
    Ok(shown)
}

/// The whole text of a file that a model may look at.
fn text_of(desk: &Desk, path: &str) -> Result<String, ToolError> {
    let io = |source| ToolError::Io { what: format!("`{path}` cannot be read"), source };
    let file = desk.kept_output(path).map_or_else(|| desk.workspace.open_file(path), Ok)?;
    let size = file.metadata().map_err(io)?.len();
    if size > MOST_BYTES {
        return Err(ToolError::Refused(format!(
            "`{path}` has {size} bytes, more than can be read at once; look for what you need with grep"
        )));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(io)?;
    if bytes.iter().take(8 * 1024).any(|byte| *byte == 0) {
        return Err(ToolError::Refused(format!("`{path}` is a binary file ({size} bytes); it is not shown")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::fixture::desk;
    use super::*;

    fn read(desk: &Desk, path: &str, start_line: Option<usize>, end_line: Option<usize>) -> Result<String, ToolError> {
        run(desk, Input { path: path.to_owned(), start_line, end_line })
    }

    #[test]
    fn lines_are_numbered_and_ranges_are_inclusive() {
        let (_folder, desk) = desk(&[("a.txt", "one\ntwo\r\nthree\n")]);
        assert_eq!(read(&desk, "a.txt", None, None).unwrap(), "     1→one\n     2→two\n     3→three\n");
        assert_eq!(read(&desk, "a.txt", Some(2), Some(2)).unwrap(), "     2→two\n");
        let refused = read(&desk, "a.txt", Some(9), None).unwrap_err().to_string();
        assert!(refused.contains("has 3 lines"), "{refused}");
    }

    #[test]
    fn a_long_file_is_read_in_parts() {
        let long: String = (1..=4500).map(|n| format!("line {n}\n")).collect();
        let (_folder, desk) = desk(&[("long.txt", &long)]);
        let part = read(&desk, "long.txt", None, None).unwrap();
        assert!(
            part.ends_with("(lines 1 to 2000 of 4500; read on with start_line 2001)\n"),
            "{}",
            &part[part.len() - 80..]
        );
        assert!(read(&desk, "long.txt", Some(4001), None).unwrap().ends_with("  4500→line 4500\n"));
    }

    #[test]
    fn binary_and_huge_files_and_folders_are_refused_with_words() {
        let (_folder, desk) = desk(&[("bin", "a\0b"), ("src/x", "")]);
        let huge = std::fs::File::create(desk.workspace.root().join("huge")).unwrap();
        huge.set_len(MOST_BYTES + 1).unwrap();
        for (path, words) in [("bin", "binary"), ("huge", "grep"), ("src", "list_directory"), ("no", "does not exist")]
        {
            let refused = read(&desk, path, None, None).unwrap_err().to_string();
            assert!(refused.contains(words), "{path}: {refused}");
        }
        assert_eq!(read(&desk, "src/x", None, None).unwrap(), "`src/x` is empty");
    }
}
