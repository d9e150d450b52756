//! `glob_search`: files by the shape of their path.

use serde::Deserialize;
use serde_json::json;

use super::{Definition, Desk, ToolError, walk};

const MOST: usize = 300;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "glob_search",
        description: "Find files by glob, e.g. `src/**/*.rs`, `*.{ts,tsx}` or `Cargo.toml`. A pattern without `/` \
                      matches file names at any depth; one with `/` is matched against the path relative to the \
                      workspace. Files ignored by git are left out. Returns at most 300 paths, sorted.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["pattern"],
            "properties": {
                "pattern": {"type": "string", "description": "The glob."},
                "path": {"type": "string", "description": "Directory to search in; the whole workspace if left out."}
            }
        }),
    }
}

pub(super) fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    let glob = walk::glob(&input.pattern)?;
    let mut found: Vec<String> = walk::files(desk, input.path.as_deref())?
        .filter(|path| glob.is_match(path))
        .map(|path| path.display().to_string())
        .collect();
    if found.is_empty() {
        return Ok(format!("no file matches `{}`", input.pattern));
    }
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    if more > 0 {
        found.push(format!("(and {more} more; use a narrower pattern)"));
    }
    Ok(found.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::desk;
    use super::*;

    #[test]
    fn globs_find_names_and_paths_but_nothing_ignored_or_outside() {
        let (_folder, desk) = desk(&[
            ("src/a.rs", ""),
            ("src/deep/b.rs", ""),
            (".ci/run", ""),
            (".gitignore", "target\n"),
            ("target/c.rs", ""),
            (".git/d.rs", ""),
        ]);
        std::os::unix::fs::symlink("/etc", desk.workspace.root().join("etc")).unwrap();
        let find = |pattern: &str, path: Option<&str>| {
            run(&desk, Input { pattern: pattern.to_owned(), path: path.map(str::to_owned) })
        };
        assert_eq!(find("*.rs", None).unwrap(), "src/a.rs\nsrc/deep/b.rs");
        assert_eq!(find("src/*.rs", None).unwrap(), "src/a.rs");
        assert_eq!(find("*.rs", Some("src/deep")).unwrap(), "src/deep/b.rs");
        assert_eq!(find("run", None).unwrap(), ".ci/run");
        assert_eq!(find("passwd", None).unwrap(), "no file matches `passwd`");
        assert!(find("*", Some("..")).unwrap_err().to_string().contains("leaves the workspace"));
        assert!(find("*", Some("etc")).unwrap_err().to_string().contains("leaves the workspace"));
        assert!(find("a{b", None).unwrap_err().to_string().contains("not understood"));
    }
}
