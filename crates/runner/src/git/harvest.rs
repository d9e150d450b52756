//! Turning what an agent left in its workspace into a tree of the private repository: our own
//! walk, raw content, plumbing. Never runs git inside the workspace and never reads its `.git`.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::commit::{ScratchIndex, index_line};
use super::names::link_stays_inside;
use super::objects::{Blobs, EntryMode};
use super::private_repo::{id_in, remove_if_there};
use super::process::Conversation;
use super::walk::{Found, Walk};
use super::{CommitId, GitError, PrivateRepo, TreeId};
use crate::dir_fd::Dir;

pub const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
pub const MAX_NEW_FILES: usize = 50_000;

/// Why a workspace cannot become a tree, with the path that is to blame.
#[derive(Debug, thiserror::Error)]
pub enum HarvestRefusal {
    #[error("`{path}` is a repository inside the workspace")]
    NestedRepository { path: String },
    #[error("`{path}` looks like a bare repository")]
    BareRepository { path: String },
    #[error("the symlink `{path}` leads out of the workspace, to `{target}`")]
    SymlinkEscapes { path: String, target: String },
    #[error("`{path}` is a {kind}, not a file")]
    SpecialFile { path: String, kind: &'static str },
    #[error("`{path}` is not a usable name: {reason}")]
    BadName { path: String, reason: &'static str },
    #[error("`{path}` has {size} bytes; the limit is {limit}")]
    TooLarge { path: String, size: u64, limit: u64 },
    #[error("there are more than {limit} new files, among them `{path}`")]
    TooManyFiles { path: String, limit: usize },
    #[error("`{path}` lies deeper than {limit} directories")]
    TooDeep { path: String, limit: usize },
    #[error("`{path}` cannot be read")]
    Unreadable {
        path: String,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl HarvestRefusal {
    /// What the agent or the person can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NestedRepository { .. } | Self::BareRepository { .. } => {
                "remove it, take its `.git` away, or list it in `.gitignore`"
            }
            Self::SymlinkEscapes { .. } => "link to a path inside the repository, or copy the file",
            Self::SpecialFile { .. } | Self::BadName { .. } | Self::TooDeep { .. } => {
                "remove it, or list it in `.gitignore`"
            }
            Self::TooLarge { .. } | Self::TooManyFiles { .. } => "list build output and large files in `.gitignore`",
            Self::Unreadable { .. } => "make it readable, or remove it",
            Self::Git(error) => return error.hint(),
        };
        Some(hint.to_owned())
    }
}

/// The tree of what is in the workspace now. Ignored files count only if `base` tracks them;
/// paths in `exclude` (files or directories) stay as they are in `base`.
pub fn harvest(
    private: &PrivateRepo,
    workspace: &Path,
    base: &CommitId,
    exclude: &[String],
) -> Result<TreeId, HarvestRefusal> {
    let (tree, mut refused) = gather(private, workspace, base, exclude, OnRefusal::Stop)?;
    match refused.pop() {
        Some(refusal) => Err(refusal),
        None => Ok(tree),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnRefusal {
    Stop,
    LeaveOut,
}

/// Like `harvest`; what is refused may also be left out and told.
pub(crate) fn gather(
    private: &PrivateRepo,
    workspace: &Path,
    base: &CommitId,
    exclude: &[String],
    on_refusal: OnRefusal,
) -> Result<(TreeId, Vec<HarvestRefusal>), HarvestRefusal> {
    let files = private.files(base)?;
    let root = Dir::open(workspace).map_err(GitError::io("cannot open", workspace))?;
    let mut writer = BlobWriter::of(private)?;
    let mut walk = Walk::new(&files, exclude, on_refusal);
    walk.directory(&root, b"", &mut |found| writer.take(found))?;
    let (unchanged, refused) = walk.end();
    let mut lines = writer.end()?;
    for (path, entry) in unchanged {
        index_line(&mut lines, entry.mode, &entry.id, path);
    }
    let index = ScratchIndex::of(private);
    index.call(private).args(["read-tree", "--empty"]).run()?;
    index.set(private, lines)?;
    Ok((index.write_tree(private)?, refused))
}

/// Stores content that `base` does not have and collects the lines of the new index.
struct BlobWriter<'a> {
    blobs: Blobs,
    import: Import<'a>,
    lines: Vec<u8>,
}

impl<'a> BlobWriter<'a> {
    fn of(private: &'a PrivateRepo) -> Result<Self, GitError> {
        Ok(Self {
            blobs: Blobs::of(private)?,
            import: Import { private, marks: private.scratch("marks"), git: None, added: Vec::new() },
            lines: Vec::new(),
        })
    }

    fn take(&mut self, found: Found<'_>) -> Result<(), GitError> {
        if let Some(base) = found.base
            && base.mode != EntryMode::Gitlink
            && base.size == found.bytes.len() as u64
            && self.blobs.read(&base.id)? == found.bytes
        {
            let mode = match (found.mode, base.mode) {
                // An escaping link of the base stands in the workspace as its target's text.
                (EntryMode::File, EntryMode::Symlink) if !link_stays_inside(&found.path, &found.bytes) => {
                    EntryMode::Symlink
                }
                (mode, _) => mode,
            };
            index_line(&mut self.lines, mode, &base.id, &found.path);
            return Ok(());
        }
        self.import.add(found)
    }

    fn end(self) -> Result<Vec<u8>, GitError> {
        self.blobs.end()?;
        let mut lines = self.lines;
        self.import.end(&mut lines)?;
        Ok(lines)
    }
}

/// Many new blobs through one `git fast-import`, which takes raw bytes and any file name.
struct Import<'a> {
    private: &'a PrivateRepo,
    marks: PathBuf,
    git: Option<Conversation>,
    /// The n-th has mark n + 1.
    added: Vec<(EntryMode, Vec<u8>)>,
}

impl Import<'_> {
    fn add(&mut self, found: Found<'_>) -> Result<(), GitError> {
        let git = match &mut self.git {
            Some(git) => git,
            empty => empty.insert(
                self.private
                    .call()
                    .args(["fast-import", "--quiet", "--done"])
                    .arg(format!("--export-marks={}", self.marks.display()))
                    .converse()?,
            ),
        };
        self.added.push((found.mode, found.path));
        let mark = self.added.len();
        let head = format!("blob\nmark :{mark}\ndata {}\n", found.bytes.len());
        let stdin = git.stdin();
        let sent = stdin
            .write_all(head.as_bytes())
            .and_then(|()| stdin.write_all(&found.bytes))
            .and_then(|()| stdin.write_all(b"\n"));
        sent.map_err(|error| git.broke(&error))
    }

    fn end(mut self, lines: &mut Vec<u8>) -> Result<(), GitError> {
        let Some(mut git) = self.git.take() else {
            return Ok(());
        };
        let sent = git.stdin().write_all(b"done\n");
        sent.map_err(|error| git.broke(&error))?;
        git.end()?;
        let marks = fs::read_to_string(&self.marks).map_err(GitError::io("cannot read", &self.marks))?;
        for line in marks.lines() {
            let broken =
                || GitError::Unreadable { args: "fast-import --export-marks".to_owned(), detail: line.to_owned() };
            let (mark, id) = line.split_once(' ').ok_or_else(broken)?;
            let mark: usize = mark.trim_start_matches(':').parse().map_err(|_| broken())?;
            let added = mark.checked_sub(1).and_then(|n| self.added.get(n));
            let (mode, path) = added.ok_or_else(broken)?;
            index_line(lines, *mode, &id_in(id, "fast-import")?, path);
        }
        Ok(())
    }
}

impl Drop for Import<'_> {
    fn drop(&mut self) {
        // What cannot be removed is a small file that no later call reads.
        let _ = remove_if_there(&self.marks);
    }
}
