//! Every changed file between two commits, listed whole: kind, modes, sizes, true counts of lines, link targets. The list
//! is computed by plumbing and never read from the text of a diff, which may be cut, hidden by a NUL byte or by attributes.

mod content;
mod page;

use std::collections::BTreeMap;

use super::diff::{RawChange, raw_changes};
use super::names::shown;
use super::objects::Blobs;
use super::{ChangeStatus, GitError, PrivateRepo, TreeIsh};

pub use content::{BinarySide, Content};
pub use page::{FilePage, PatchPage, TextView};

/// Bytes of a blob that are looked at to tell text from binary.
const SAMPLE: usize = 64 * 1024;
/// Larger blobs are not shown as lines.
pub const MAX_SHOWN_BYTES: u64 = super::MAX_FILE_BYTES;
/// Longest target of a link that is read into the list.
const MAX_TARGET: u64 = 8 * 1024;
/// Files that git calls binary and that are looked into, in one list.
const MAX_SAMPLED: usize = 500;

/// A change, whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeList {
    /// In the order of git's own diff.
    pub files: Vec<ChangedFile>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// Names this file in this change, whatever bytes its path has.
    pub id: FileId,
    pub status: ChangeStatus,
    pub old: Option<Side>,
    pub new: Option<Side>,
    /// Added and deleted lines; `None` for content that has no lines.
    pub lines: Option<(u64, u64)>,
    pub content: Content,
}

/// A file before or after the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// As git writes it: `100644`, `100755`, `120000` (link), `160000` (submodule).
    pub mode: String,
    /// Object id; of a submodule the commit.
    pub object: String,
    /// Bytes; 0 for submodules.
    pub size: u64,
    /// Where a link leads.
    pub target: Option<String>,
}

impl Side {
    fn is_link(&self) -> bool {
        self.mode == "120000"
    }

    fn is_submodule(&self) -> bool {
        self.mode == "160000"
    }
}

impl ChangedFile {
    /// As people read it.
    #[must_use]
    pub fn path(&self) -> String {
        shown(&self.id.path)
    }

    fn sides(&self) -> impl Iterator<Item = &Side> {
        self.old.iter().chain(&self.new)
    }
}

impl ChangeList {
    /// Added and deleted lines of all files.
    #[must_use]
    pub fn lines(&self) -> (u64, u64) {
        let counted = self.files.iter().filter_map(|file| file.lines);
        counted.fold((0, 0), |(added, deleted), (more, less)| (added + more, deleted + less))
    }
}

/// The path of a changed file and, if it was moved, the one it had. Written as hexadecimal digits, so that names with line
/// breaks, bytes that are not UTF-8 and hidden characters can be asked for too.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    path: Vec<u8>,
    from: Option<Vec<u8>>,
}

impl FileId {
    fn of(change: &RawChange) -> Self {
        Self { path: change.path.clone(), from: change.from.clone() }
    }

    /// The id that `Display` wrote; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (path, from) = match text.split_once('.') {
            Some((path, from)) => (unhex(path)?, Some(unhex(from)?)),
            None => (unhex(text)?, None),
        };
        Some(Self { path, from })
    }
}

impl std::fmt::Display for FileId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hex = |f: &mut std::fmt::Formatter<'_>, bytes: &[u8]| bytes.iter().try_for_each(|b| write!(f, "{b:02x}"));
        hex(f, &self.path)?;
        match &self.from {
            Some(from) => {
                f.write_str(".")?;
                hex(f, from)
            }
            None => Ok(()),
        }
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let is_hex = |b: &u8| b.is_ascii_digit() || (b'a'..=b'f').contains(b);
    if digits.is_empty() || !digits.len().is_multiple_of(2) || digits.len() > 2 * 8192 || !digits.iter().all(is_hex) {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    // A NUL stands in no path, and would end an argument.
    digits.chunks(2).map(byte).collect::<Option<Vec<u8>>>().filter(|bytes| !bytes.contains(&0))
}

impl PrivateRepo {
    /// Every file that differs. Reads all changed content once, so damage and missing objects are found here.
    ///
    /// # Errors
    /// `ContentUnreadable` names the files whose content is missing.
    pub fn changes(&self, a: &impl TreeIsh, b: &impl TreeIsh) -> Result<ChangeList, GitError> {
        let raw = match raw_changes(self, a, b, &[]) {
            Ok(raw) => raw,
            Err(error) => return Err(self.what_is_missing(a, b)?.unwrap_or(error)),
        };
        let mut files: Vec<ChangedFile> = raw.iter().map(listed).collect();
        self.measure(&mut files)?;
        self.look_into_binaries(a, b, &mut files)?;
        Ok(ChangeList { files })
    }

    /// Sizes of all blobs, and where links lead.
    fn measure(&self, files: &mut [ChangedFile]) -> Result<(), GitError> {
        let sizes = self.sizes(files)?;
        let mut blobs = Blobs::of(self)?;
        for file in files.iter_mut() {
            let path = file.path();
            for side in file.old.iter_mut().chain(&mut file.new).filter(|side| !side.is_submodule()) {
                let missing = || GitError::ContentUnreadable { paths: vec![path.clone()], detail: side.object.clone() };
                side.size = sizes.get(&side.object).copied().flatten().ok_or_else(missing)?;
                if side.is_link() && side.size <= MAX_TARGET {
                    side.target = Some(content::escaped(&blobs.read(&side.object)?).0);
                }
            }
        }
        blobs.end()
    }

    /// `None` for objects that are not there.
    fn sizes(&self, files: &[ChangedFile]) -> Result<BTreeMap<String, Option<u64>>, GitError> {
        let blobs = files.iter().flat_map(ChangedFile::sides).filter(|side| !side.is_submodule());
        let ids: Vec<&str> = blobs.map(|side| side.object.as_str()).collect();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
        let call = self.call().args(["cat-file", "--batch-check=%(objectname) %(objectsize)"]);
        let out = call.input(ids.join("\n") + "\n").run()?;
        let told = String::from_utf8_lossy(&out).into_owned();
        let sized = told.lines().filter_map(|line| line.split_once(' '));
        Ok(sized.map(|(id, size)| (id.to_owned(), size.parse().ok())).collect())
    }

    /// Text that a NUL byte makes git call binary gets its counts; the rest stays binary.
    fn look_into_binaries(
        &self,
        a: &impl TreeIsh,
        b: &impl TreeIsh,
        files: &mut [ChangedFile],
    ) -> Result<(), GitError> {
        let mut blobs = Blobs::of(self)?;
        for file in files.iter_mut().filter(|file| file.lines.is_none()).take(MAX_SAMPLED) {
            if file.sides().any(|side| side.size > MAX_SHOWN_BYTES) {
                continue;
            }
            let samples: Result<Vec<_>, _> = file.sides().map(|side| blobs.sample(&side.object, SAMPLE)).collect();
            if samples?.iter().all(|sample| content::is_mostly_text(sample)) {
                file.content = Content::Escaped;
                file.lines = self.lines_as_text(a, b, &file.id)?;
            }
        }
        blobs.end()
    }

    /// The objects that are not there, as an error that names their files.
    fn what_is_missing(&self, a: &impl TreeIsh, b: &impl TreeIsh) -> Result<Option<GitError>, GitError> {
        let files: Vec<ChangedFile> = super::diff::names_only(self, a, b)?.iter().map(listed).collect();
        let sizes = self.sizes(&files)?;
        let is_there = |side: &Side| side.is_submodule() || sizes.get(&side.object).is_some_and(Option::is_some);
        let missing = files.iter().filter(|file| !file.sides().all(is_there));
        let paths: Vec<String> = missing.map(ChangedFile::path).collect();
        let detail = format!("between {} and {}", a.id(), b.id());
        Ok((!paths.is_empty()).then_some(GitError::ContentUnreadable { paths, detail }))
    }
}

fn listed(raw: &RawChange) -> ChangedFile {
    let side =
        |(mode, object): &(String, String)| Side { mode: mode.clone(), object: object.clone(), size: 0, target: None };
    ChangedFile {
        id: FileId::of(raw),
        status: raw.status(),
        old: raw.old.as_ref().map(side),
        new: raw.new.as_ref().map(side),
        lines: raw.lines,
        content: if raw.lines.is_some() { Content::Text } else { Content::Binary },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_any_path_and_nothing_else_is_one() {
        for (path, from) in [(b"a b\n\xff.ts".to_vec(), None), (b"new".to_vec(), Some(b"old/\xe2\x80\xae".to_vec()))] {
            let id = FileId { path, from };
            assert_eq!(FileId::parse(&id.to_string()), Some(id));
        }
        for wrong in ["", "6", "zz", "6100", "61.", ".61", "61.62.63", "../x", "6A", "é"] {
            assert_eq!(FileId::parse(wrong), None, "{wrong}");
        }
    }
}
