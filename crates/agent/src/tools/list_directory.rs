//! `list_directory`: what is in one folder.

use rustix::fs::{AtFlags, Dir, FileType};
use serde::Deserialize;
use serde_json::json;

use super::{Definition, Desk, ToolError};

const MOST: usize = 500;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    #[serde(default)]
    path: Option<String>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "list_directory",
        description: "List one directory of the workspace (not its subdirectories): directories end with `/`, files \
                      show their size in bytes, links show where they point. Use glob_search to find files deeper down.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "path": {"type": "string", "description": "Path relative to the workspace; the workspace itself if left out."}
            }
        }),
    }
}

pub(super) fn run(desk: &Desk, input: Input) -> Result<String, ToolError> {
    let path = input.path.filter(|path| !path.is_empty()).unwrap_or_else(|| ".".to_owned());
    let io =
        |errno: rustix::io::Errno| ToolError::Io { what: format!("`{path}` cannot be listed"), source: errno.into() };
    let folder = desk.workspace.open_directory(&path)?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(&folder).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == "." || name == ".." {
            continue;
        }
        // An entry may vanish between the listing and the look at it; then it is not there.
        let Ok(stat) = rustix::fs::statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) else { continue };
        entries.push(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => format!("{name}/"),
            FileType::RegularFile => format!("{name} ({} bytes)", stat.st_size),
            FileType::Symlink => {
                let target = rustix::fs::readlinkat(&folder, entry.file_name(), Vec::new()).map_err(io)?;
                format!("{name} -> {}", target.to_string_lossy())
            }
            _ => format!("{name} (special file)"),
        });
    }
    entries.sort();
    let more = entries.len().saturating_sub(MOST);
    entries.truncate(MOST);
    if entries.is_empty() {
        return Ok(format!("`{path}` is empty"));
    }
    if more > 0 {
        entries.push(format!("(and {more} more; narrow down with glob_search)"));
    }
    Ok(entries.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::desk;
    use super::*;

    #[test]
    fn entries_show_what_they_are() {
        let (_folder, desk) = desk(&[("b.txt", "four"), ("a/c.txt", "")]);
        std::os::unix::fs::symlink("/etc", desk.workspace.root().join("etc")).unwrap();
        let list = |path: Option<&str>| run(&desk, Input { path: path.map(str::to_owned) });
        assert_eq!(list(None).unwrap(), "a/\nb.txt (4 bytes)\netc -> /etc");
        assert_eq!(list(Some("a")).unwrap(), "c.txt (0 bytes)");
        assert!(list(Some("etc")).unwrap_err().to_string().contains("leaves the workspace"));
        assert!(list(Some("b.txt")).unwrap_err().to_string().contains("not a directory"));
    }
}
