//! What changed between two commits or trees, computed by us in the private repository: no
//! external diff, no text conversion, binary files named but not shown.

use std::io::Read;

use super::names::shown;
use super::{GitError, PrivateRepo, TreeIsh};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    pub path: String,
    pub status: ChangeStatus,
    /// Lines; `None` for binary files.
    pub added: Option<u64>,
    pub deleted: Option<u64>,
}

impl FileChange {
    pub fn is_binary(&self) -> bool {
        self.added.is_none() && self.deleted.is_none()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeStatus {
    Added,
    Modified,
    Deleted,
    /// Another kind of thing under the same path: a file became a link, for instance.
    TypeChanged,
    Renamed {
        from: String,
    },
}

/// A diff that may end early.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CappedDiff {
    Whole(String),
    CutOff(String),
}

impl PrivateRepo {
    /// The unified diff, as people read it: bytes that are not UTF-8 are replaced.
    pub fn diff(&self, a: &impl TreeIsh, b: &impl TreeIsh) -> Result<String, GitError> {
        let out = self.patch(a, b).run()?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// The unified diff, cut off after the last whole line within `limit` bytes.
    pub fn diff_capped(&self, a: &impl TreeIsh, b: &impl TreeIsh, limit: u64) -> Result<CappedDiff, GitError> {
        let mut git = self.patch(a, b).converse()?;
        let mut bytes = Vec::new();
        let mut answers = git.stdout().take(limit + 1);
        answers.read_to_end(&mut bytes).map_err(|error| git.broke(&error))?;
        if bytes.len() as u64 <= limit {
            git.end()?;
            return Ok(CappedDiff::Whole(String::from_utf8_lossy(&bytes).into_owned()));
        }
        bytes.pop();
        let end = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(end);
        Ok(CappedDiff::CutOff(String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn patch(&self, a: &impl TreeIsh, b: &impl TreeIsh) -> super::run::Call {
        self.call()
            .args(["diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv"])
            .args(["--no-color", "--src-prefix=a/", "--dst-prefix=b/"])
            .args(["--end-of-options", a.id(), b.id(), "--"])
    }

    /// Each changed file with its count of lines. A file that was moved and little changed is
    /// one change, not two.
    pub fn diffstat(&self, a: &impl TreeIsh, b: &impl TreeIsh) -> Result<Vec<FileChange>, GitError> {
        let out = self
            .call()
            .args(["diff-tree", "-r", "-z", "--raw", "--numstat", "-M"])
            .args(["--no-ext-diff", "--no-textconv", "--no-color"])
            .args(["--end-of-options", a.id(), b.id(), "--"])
            .run()?;
        parse(&out).ok_or_else(|| GitError::Unreadable {
            args: "diff-tree --raw --numstat".to_owned(),
            detail: "fields in an order it never uses".to_owned(),
        })
    }
}

/// First all `:<modes> <ids> <status>\0<path>\0[<path>\0]`, then all
/// `<added>\t<deleted>\t<path>\0` or, for renames, `<added>\t<deleted>\t\0<from>\0<to>\0`.
fn parse(out: &[u8]) -> Option<Vec<FileChange>> {
    let mut fields = out.split(|b| *b == 0).filter(|field| !field.is_empty()).peekable();
    let mut changes = Vec::new();
    while let Some(raw) = fields.next_if(|field| field[0] == b':') {
        let letter = raw.rsplit(|b| *b == b' ').next()?.first()?;
        let path = shown(fields.next()?);
        let (path, status) = match letter {
            b'A' => (path, ChangeStatus::Added),
            b'M' => (path, ChangeStatus::Modified),
            b'D' => (path, ChangeStatus::Deleted),
            b'T' => (path, ChangeStatus::TypeChanged),
            b'R' => (shown(fields.next()?), ChangeStatus::Renamed { from: path }),
            _ => return None,
        };
        changes.push(FileChange { path, status, added: None, deleted: None });
    }
    for change in &mut changes {
        let mut parts = fields.next()?.splitn(3, |b| *b == b'\t');
        change.added = count(parts.next()?);
        change.deleted = count(parts.next()?);
        if parts.next()?.is_empty() {
            fields.next()?;
            fields.next()?;
        }
    }
    Some(changes)
}

/// `-` stands for a binary file.
fn count(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
