//! `get_diff`: the change under judgement, whole or of one file, in parts that a model can take.

use serde::Deserialize;
use serde_json::json;

use super::patch::{self, FileChange};
use super::{Definition, Desk, ToolError};
use crate::shorten;

const MOST_LINES: usize = 1_200;
const MOST_OUTPUT: usize = 64 * 1024;
const LONGEST_LINE: usize = 2_000;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    from_line: Option<usize>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "get_diff",
        description: "Get the change you are to judge as a unified diff: all of it, or only one file or directory with \
                      `path`. A long diff comes in parts: first a list of the changed files, and at the end where to \
                      read on with from_line (a line of the diff, not of a file).",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "path": {"type": "string", "description": "A changed file, or a directory; everything if left out."},
                "from_line": {"type": "integer", "minimum": 1, "description": "Line of the diff to go on from."}
            }
        }),
    }
}

pub(super) fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    let diff = desk.diff()?;
    let files = patch::files(&diff);
    let wanted = input.path.as_deref().filter(|path| !matches!(*path, "" | "."));
    let chosen: Vec<&FileChange<'_>> = match wanted {
        None => files.iter().collect(),
        Some(path) => {
            let path = desk.workspace.relative(path)?;
            files.iter().filter(|file| std::path::Path::new(&file.path).starts_with(&path)).collect()
        }
    };
    if chosen.is_empty() {
        return Err(ToolError::Refused(match wanted {
            Some(path) => format!("nothing beneath `{path}` is changed; the changed files are:\n{}", listed(&files)),
            None => "the diff is empty: nothing was changed".to_owned(),
        }));
    }
    let text: String = chosen.iter().map(|file| file.text).collect();
    page(&chosen, &text, input.from_line.unwrap_or(1).max(1))
}

fn page(files: &[&FileChange<'_>], text: &str, from: usize) -> Result<String, ToolError> {
    let total = text.lines().count();
    if from > total {
        return Err(ToolError::Refused(format!("this diff has {total} lines; there is no line {from}")));
    }
    let mut shown = String::new();
    let mut last = from - 1;
    for line in text.lines().skip(from - 1).take(MOST_LINES) {
        if shown.len() >= MOST_OUTPUT {
            break;
        }
        shown.push_str(&shorten::head(line, LONGEST_LINE));
        shown.push('\n');
        last += 1;
    }
    if last < total {
        shown.push_str(&format!("(lines {from} to {last} of {total}; go on with from_line {})\n", last + 1));
    }
    if from == 1 && last < total { Ok(format!("{}\n{shown}", listed(files))) } else { Ok(shown) }
}

/// One line per file.
pub(super) fn listed<'a, F: std::borrow::Borrow<FileChange<'a>>>(files: &[F]) -> String {
    let line = |file: &F| {
        let file = file.borrow();
        format!("{} (+{} -{})\n", file.path, file.added, file.removed)
    };
    let more = files.len().saturating_sub(300);
    let mut list: String = files.iter().take(300).map(line).collect();
    if more > 0 {
        list.push_str(&format!("(and {more} more)\n"));
    }
    list
}

#[cfg(test)]
mod tests {
    use super::super::fixture::judging;
    use super::super::patch::tests::DIFF;
    use super::*;

    fn get(desk: &Desk, path: Option<&str>, from_line: Option<usize>) -> Result<String, String> {
        run(desk, Input { path: path.map(str::to_owned), from_line }).map_err(|error| error.to_string())
    }

    #[test]
    fn the_whole_or_a_part_is_given() {
        let (_folder, desk) = judging(DIFF);
        assert_eq!(get(&desk, None, None).unwrap(), DIFF);
        assert!(get(&desk, Some("src"), None).unwrap().starts_with("diff --git a/src/a.rs"));
        assert!(get(&desk, Some("./gone.txt"), None).unwrap().ends_with("-gone\n"));
        let refused = get(&desk, Some("lib"), None).unwrap_err();
        assert!(refused.contains("src/a.rs (+3 -2)") && refused.contains("grün (+2 -0)"), "{refused}");
    }

    #[test]
    fn a_long_diff_is_read_part_by_part_to_its_end() {
        let lines: String = (1..=3000).map(|n| format!("+line {n}\n")).collect();
        let diff = format!("diff --git a/l b/l\n--- /dev/null\n+++ b/l\n@@ -0,0 +1,3000 @@\n{lines}");
        let (_folder, desk) = judging(&diff);
        let mut read = String::new();
        let mut from = 1;
        loop {
            let part = get(&desk, None, Some(from)).unwrap();
            read.extend(part.lines().filter(|line| line.starts_with("+line")).map(|line| format!("{line}\n")));
            let Some((_, next)) = part.rsplit_once("from_line ") else { break };
            from = next.trim_end().trim_end_matches(')').parse().unwrap();
        }
        assert_eq!(read, lines);
        assert!(get(&desk, None, Some(9999)).unwrap_err().contains("3004 lines"));
    }
}
