//! `grep`: lines by regular expression.

use std::io;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde::Deserialize;
use serde_json::json;

use super::{Definition, Desk, ToolError, walk};
use crate::shorten;

const MOST: usize = 200;
const MOST_CONTEXT: usize = 10;
const LONGEST_LINE: usize = 300;
const MOST_OUTPUT: usize = 48 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    context: usize,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "grep",
        description: "Search the contents of files with a regular expression (Rust syntax; escape `.`, `(`, `{` to mean \
                      them literally). Matches come back as `path:line:text`, context lines as `path-line-text`. Files \
                      ignored by git and binary files are left out. At most 200 matches per call.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["pattern"],
            "properties": {
                "pattern": {"type": "string", "description": "The regular expression."},
                "path": {"type": "string", "description": "File or directory to search; the whole workspace if left out."},
                "glob": {"type": "string", "description": "Only files that match this glob, e.g. `*.rs`."},
                "ignore_case": {"type": "boolean", "description": "Match upper and lower case alike."},
                "context": {"type": "integer", "minimum": 0, "maximum": 10, "description": "Lines of context around each match."}
            }
        }),
    }
}

pub(super) fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    let refuse = |error: grep_regex::Error| {
        ToolError::Refused(format!("the pattern `{}` is not understood: {error}", input.pattern))
    };
    let matcher =
        RegexMatcherBuilder::new().case_insensitive(input.ignore_case).build(&input.pattern).map_err(refuse)?;
    let glob = input.glob.as_deref().map(walk::glob).transpose()?;
    let context = input.context.min(MOST_CONTEXT);
    let mut searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .build();
    let mut hits = Hits { path: String::new(), lines: String::new(), count: 0 };
    for path in walk::files(desk, input.path.as_deref())? {
        if hits.full() || glob.as_ref().is_some_and(|glob| !glob.is_match(&path)) {
            continue;
        }
        search(desk, &mut searcher, &matcher, &mut hits, path.display().to_string())?;
    }
    Ok(match hits.count {
        0 => format!("no line matches `{}`", input.pattern),
        count if hits.full() => format!("{}(stopped after {count} matches; narrow the search)", hits.lines),
        _ => hits.lines,
    })
}

fn search(
    desk: &Desk,
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    hits: &mut Hits,
    path: String,
) -> Result<(), ToolError> {
    let file = match desk.workspace.open_file(&path) {
        Ok(file) => file,
        Err(error) => {
            // One file that cannot be opened must not hide what the others hold.
            hits.lines.push_str(&format!("({error})\n"));
            return Ok(());
        }
    };
    hits.path.clone_from(&path);
    searcher
        .search_file(matcher, &file, &mut *hits)
        .map_err(|source| ToolError::Io { what: format!("`{path}` cannot be searched"), source })
}

/// What was found so far.
struct Hits {
    path: String,
    lines: String,
    count: usize,
}

impl Hits {
    fn full(&self) -> bool {
        self.count >= MOST || self.lines.len() >= MOST_OUTPUT
    }

    fn push(&mut self, number: Option<u64>, mark: char, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = shorten::head(text.trim_end_matches(['\r', '\n']), LONGEST_LINE);
        let number = number.unwrap_or_default();
        self.lines.push_str(&format!("{}{mark}{number}{mark}{text}\n", self.path));
    }
}

impl Sink for &mut Hits {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.count += 1;
        self.push(found.line_number(), ':', found.bytes());
        Ok(!self.full())
    }

    fn context(&mut self, _searcher: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.push(found.line_number(), '-', found.bytes());
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        self.lines.push_str("--\n");
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::desk;
    use super::*;

    fn find(desk: &Desk, input: Input) -> String {
        run(desk, input).unwrap_or_else(|error| error.to_string())
    }

    fn pattern(pattern: &str) -> Input {
        Input { pattern: pattern.to_owned(), ..Input::default() }
    }

    #[test]
    fn matches_come_with_path_line_and_context() {
        let (_folder, desk) = desk(&[("a.rs", "one\ntwo\nthree\nfour\n"), ("b/c.txt", "TWO\r\n"), ("bin", "two\0two")]);
        assert_eq!(find(&desk, pattern("two")), "a.rs:2:two\n");
        assert_eq!(find(&desk, Input { ignore_case: true, ..pattern("^two") }), "a.rs:2:two\nb/c.txt:1:TWO\n");
        assert_eq!(find(&desk, Input { context: 1, ..pattern("two") }), "a.rs-1-one\na.rs:2:two\na.rs-3-three\n");
        assert_eq!(find(&desk, Input { glob: Some("*.txt".into()), ..pattern("two") }), "no line matches `two`");
        assert_eq!(find(&desk, Input { path: Some("a.rs".into()), ..pattern("f") }), "a.rs:4:four\n");
    }

    #[test]
    fn results_are_capped_and_bad_patterns_explained() {
        let (_folder, desk) = desk(&[("many", &"hit\n".repeat(500))]);
        let found = find(&desk, pattern("hit"));
        assert_eq!(found.lines().count(), 201);
        assert!(found.ends_with("(stopped after 200 matches; narrow the search)"));
        assert!(find(&desk, pattern("(")).contains("not understood"));
        assert!(find(&desk, Input { path: Some("/etc".into()), ..pattern("root") }).contains("leaves the workspace"));
    }
}
