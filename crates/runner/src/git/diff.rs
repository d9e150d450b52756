//! Diffs between two commits or trees, computed by us in the private repository: no external diff, no text conversion, no
//! attributes. `changes` lists them whole and pages their text.

use std::ffi::OsStr;
use std::io::Read;

use super::names::shown;
use super::run::Call;
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

impl ChangeStatus {
    /// One letter, as git writes it.
    #[must_use]
    pub fn letter(&self) -> &'static str {
        match self {
            Self::Added => "A",
            Self::Modified => "M",
            Self::Deleted => "D",
            Self::TypeChanged => "T",
            Self::Renamed { .. } => "R",
        }
    }
}

/// The files that a diff, cut after a line, does not have whole.
#[must_use]
pub fn left_out(files: &[FileChange], cut: &str) -> Vec<String> {
    let header = std::str::from_utf8(sections::HEADER).unwrap_or_default();
    let begun = cut.lines().filter(|line| line.starts_with(header)).count();
    let mut parts = 0;
    let is_whole = |file: &&FileChange| {
        parts += if file.status == ChangeStatus::TypeChanged { 2 } else { 1 };
        // Of the last one that has begun nobody knows whether more was to come.
        parts < begun
    };
    files.iter().skip_while(is_whole).map(|file| file.path.clone()).collect()
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

    pub(super) fn patch(&self, a: &impl TreeIsh, b: &impl TreeIsh) -> Call {
        diff_call(self, a, b, &["-p"], &[])
    }

    /// Each changed file with its count of lines. A file that was moved and little changed is
    /// one change, not two.
    pub fn diffstat(&self, a: &impl TreeIsh, b: &impl TreeIsh) -> Result<Vec<FileChange>, GitError> {
        Ok(raw_changes(self, a, b, &[])?.iter().map(RawChange::shown).collect())
    }
}

/// A `diff-tree` of ours: no external diff, no text conversion, no attributes of the repository, which could say of any
/// file that it is not to be shown. Only these paths, when some are given.
pub(super) fn diff_call(
    private: &PrivateRepo,
    a: &impl TreeIsh,
    b: &impl TreeIsh,
    form: &[&str],
    paths: &[&OsStr],
) -> Call {
    let empty_tree = if a.id().len() == 64 { EMPTY_TREE_256 } else { EMPTY_TREE };
    private
        .call()
        .env("GIT_ATTR_SOURCE", empty_tree)
        .args(["diff-tree", "-r", "-M", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--no-color"])
        .args(["--src-prefix=a/", "--dst-prefix=b/"])
        .args(form)
        .args(["--end-of-options", a.id(), b.id(), "--"])
        .args(paths)
}

/// Git knows these without having them.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const EMPTY_TREE_256: &str = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";

/// How a diff is divided.
pub(super) mod sections {
    /// What every file's part begins with.
    pub(in super::super) const HEADER: &[u8] = b"diff --git ";
}

/// One changed file as git tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawChange {
    letter: u8,
    pub(super) path: Vec<u8>,
    /// The path it had, if it was moved.
    pub(super) from: Option<Vec<u8>>,
    /// Mode and object.
    pub(super) old: Option<(String, String)>,
    pub(super) new: Option<(String, String)>,
    /// Added and deleted; `None` for what git calls binary.
    pub(super) lines: Option<(u64, u64)>,
}

impl RawChange {
    pub(super) fn status(&self) -> ChangeStatus {
        match (self.letter, &self.from) {
            (_, Some(from)) => ChangeStatus::Renamed { from: shown(from) },
            (b'A', None) => ChangeStatus::Added,
            (b'D', None) => ChangeStatus::Deleted,
            (b'T', None) => ChangeStatus::TypeChanged,
            (_, None) => ChangeStatus::Modified,
        }
    }

    /// How many parts of a diff it takes: what becomes another kind of thing is deleted and made anew.
    pub(super) fn sections(&self) -> usize {
        if self.letter == b'T' { 2 } else { 1 }
    }

    fn shown(&self) -> FileChange {
        FileChange {
            path: shown(&self.path),
            status: self.status(),
            added: self.lines.map(|(added, _)| added),
            deleted: self.lines.map(|(_, deleted)| deleted),
        }
    }
}

/// The changed files with their counts; only these paths, when some are given.
pub(super) fn raw_changes(
    private: &PrivateRepo,
    a: &impl TreeIsh,
    b: &impl TreeIsh,
    paths: &[&OsStr],
) -> Result<Vec<RawChange>, GitError> {
    let out = diff_call(private, a, b, &["-z", "--raw", "--numstat"], paths).run()?;
    parse(&out).ok_or_else(unreadable)
}

/// The changed files without looking into any of them.
pub(super) fn names_only(
    private: &PrivateRepo,
    a: &impl TreeIsh,
    b: &impl TreeIsh,
) -> Result<Vec<RawChange>, GitError> {
    let out = diff_call(private, a, b, &["-z", "--raw", "--no-renames"], &[]).run()?;
    let mut fields = out.split(|b| *b == 0).filter(|field| !field.is_empty()).peekable();
    raw_fields(&mut fields).ok_or_else(unreadable)
}

fn unreadable() -> GitError {
    GitError::Unreadable {
        args: "diff-tree --raw --numstat".to_owned(),
        detail: "fields in an order it never uses".to_owned(),
    }
}

/// First all `:<modes> <ids> <status>\0<path>\0[<path>\0]`, then all
/// `<added>\t<deleted>\t<path>\0` or, for renames, `<added>\t<deleted>\t\0<from>\0<to>\0`.
pub(super) fn parse(out: &[u8]) -> Option<Vec<RawChange>> {
    let mut fields = out.split(|b| *b == 0).filter(|field| !field.is_empty()).peekable();
    let mut changes = raw_fields(&mut fields)?;
    for change in &mut changes {
        let mut parts = fields.next()?.splitn(3, |b| *b == b'\t');
        let (added, deleted) = (count(parts.next()?), count(parts.next()?));
        change.lines = added.zip(deleted);
        if parts.next()?.is_empty() {
            fields.next()?;
            fields.next()?;
        }
    }
    Some(changes)
}

fn raw_fields<'a>(fields: &mut std::iter::Peekable<impl Iterator<Item = &'a [u8]>>) -> Option<Vec<RawChange>> {
    let mut changes = Vec::new();
    while let Some(raw) = fields.next_if(|field| field[0] == b':') {
        let mut words = std::str::from_utf8(&raw[1..]).ok()?.split(' ');
        let modes = (words.next()?, words.next()?);
        let objects = (words.next()?, words.next()?);
        let letter = *words.next()?.as_bytes().first()?;
        let side = |mode: &str, object: &str| (mode != "000000").then(|| (mode.to_owned(), object.to_owned()));
        let path = fields.next()?.to_vec();
        let (path, from) = match letter {
            b'A' | b'M' | b'D' | b'T' => (path, None),
            b'R' => (fields.next()?.to_vec(), Some(path)),
            _ => return None,
        };
        let (old, new) = (side(modes.0, objects.0), side(modes.1, objects.1));
        changes.push(RawChange { letter, path, from, old, new, lines: None });
    }
    Some(changes)
}

/// `-` stands for a binary file.
fn count(field: &[u8]) -> Option<u64> {
    std::str::from_utf8(field).ok()?.parse().ok()
}
