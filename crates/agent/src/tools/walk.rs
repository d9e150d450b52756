//! The walk that searches share: respects ignore files, sees hidden files, stays out of `.git` and off links.

use std::path::PathBuf;

use globset::{Glob, GlobMatcher};
use ignore::WalkBuilder;
use rustix::fs::FileType;

use super::{Desk, ToolError};

/// Files beneath `path` in order of their names, as paths relative to the workspace.
pub(super) fn files(desk: &Desk, path: Option<&str>) -> Result<Box<dyn Iterator<Item = PathBuf>>, ToolError> {
    let path = path.filter(|path| !path.is_empty()).unwrap_or(".");
    let start = desk.workspace.relative(path)?;
    if desk.workspace.kind(path)? != FileType::Directory {
        return Ok(Box::new(std::iter::once(start)));
    }
    let root = desk.workspace.root().to_owned();
    // Rules above the workspace and in the user's home are not part of the repository.
    let walk = WalkBuilder::new(root.join(&start))
        .hidden(false)
        .parents(false)
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .build();
    // What cannot be read is left out: a search answers with what it found.
    let files = walk.filter_map(Result::ok).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let clean = |path: PathBuf| path.components().filter(|part| part.as_os_str() != ".").collect::<PathBuf>();
    Ok(Box::new(
        files.filter_map(move |entry| entry.path().strip_prefix(&root).ok().map(|path| clean(path.to_owned()))),
    ))
}

/// A glob over relative paths; one without `/` matches names at any depth.
pub(super) fn glob(pattern: &str) -> Result<GlobMatcher, ToolError> {
    let whole =
        if pattern.contains('/') { pattern.trim_start_matches("./").to_owned() } else { format!("**/{pattern}") };
    let built = globset::GlobBuilder::new(&whole).literal_separator(true).build();
    let built: Result<Glob, globset::Error> = built;
    let refuse = |error: globset::Error| ToolError::Refused(format!("the glob `{pattern}` is not understood: {error}"));
    Ok(built.map_err(refuse)?.compile_matcher())
}
