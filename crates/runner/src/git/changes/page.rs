//! The text of a change, page by page: of one file, or of all of it. Bounded in memory and time; the pages of one text put
//! together are the whole of it.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::process::ChildStdout;
use std::time::Duration;

use super::super::diff::{RawChange, diff_call, raw_changes, sections};
use super::super::process::Conversation;
use super::content::escaped;
use super::{BinarySide, ChangedFile, Content, FileId, MAX_SHOWN_BYTES, SAMPLE, listed};
use super::{GitError, PrivateRepo, TreeIsh};

/// After this a git that prints a page is ended.
pub(super) const LONGEST: Duration = Duration::from_secs(60);
/// Longest piece of a line that is looked at as one.
const PIECE: u64 = 64 * 1024;

/// Whether content that has no lines is shown as if it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextView {
    /// Text as lines, binaries as what can be said of them.
    Auto,
    /// Everything as lines.
    Forced,
}

/// A part of the diff of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePage {
    pub file: ChangedFile,
    /// Hunks; empty where no line differs.
    pub text: String,
    /// Where the next page begins.
    pub next: Option<u64>,
    /// Whether the text has every byte; otherwise those that are no UTF-8 stand there as `\xNN`.
    pub exact: bool,
    /// What can be said of it before and after, when it is shown as a binary.
    pub binary: Option<(Option<BinarySide>, Option<BinarySide>)>,
}

/// A part of the whole diff, as git prints it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchPage {
    pub text: String,
    pub next: Option<u64>,
    pub exact: bool,
}

impl PrivateRepo {
    /// The diff of one file from a byte on; `None` when the change has no such file.
    pub fn file_page(
        &self,
        (a, b): (&impl TreeIsh, &impl TreeIsh),
        id: &FileId,
        view: TextView,
        (offset, limit): (u64, usize),
    ) -> Result<Option<FilePage>, GitError> {
        let changes = raw_changes(self, a, b, &paths(id))?;
        let Some(at) = changes.iter().position(|change| FileId::of(change) == *id) else { return Ok(None) };
        let mut files = [listed(&changes[at])];
        self.measure(&mut files)?;
        let [mut file] = files;
        self.classify(&mut file, view)?;
        if file.content == Content::Binary {
            let side = |side: &Option<super::Side>| side.as_ref().map(|side| self.binary_side(side)).transpose();
            let binary = Some((side(&file.old)?, side(&file.new)?));
            return Ok(Some(FilePage { file, text: String::new(), next: None, exact: true, binary }));
        }
        if file.content == Content::Escaped {
            file.lines = Some(self.hunks((a, b), id, (&changes, at))?.count()?);
        }
        let (bytes, next) = self.hunks((a, b), id, (&changes, at))?.page(offset, limit)?;
        let (text, exact) = escaped(&bytes);
        Ok(Some(FilePage { file, text, next, exact, binary: None }))
    }

    fn classify(&self, file: &mut ChangedFile, view: TextView) -> Result<(), GitError> {
        if file.sides().any(|side| side.size > MAX_SHOWN_BYTES) {
            (file.content, file.lines) = (Content::Binary, None);
        } else if file.lines.is_none() {
            let mut blobs = super::Blobs::of(self)?;
            let samples: Result<Vec<_>, _> = file.sides().map(|side| blobs.sample(&side.object, SAMPLE)).collect();
            blobs.end()?;
            let readable = samples?.iter().all(|sample| super::content::is_mostly_text(sample));
            file.content = if readable || view == TextView::Forced { Content::Escaped } else { Content::Binary };
        }
        Ok(())
    }

    /// Lines of a file that git calls binary, and for which it gives no counts.
    pub(super) fn lines_as_text(
        &self,
        a: &impl TreeIsh,
        b: &impl TreeIsh,
        id: &FileId,
    ) -> Result<Option<(u64, u64)>, GitError> {
        let changes = raw_changes(self, a, b, &paths(id))?;
        let Some(at) = changes.iter().position(|change| FileId::of(change) == *id) else { return Ok(None) };
        Ok(Some(self.hunks((a, b), id, (&changes, at))?.count()?))
    }

    /// The hunks of one of the changes that these paths have.
    fn hunks(
        &self,
        (a, b): (&impl TreeIsh, &impl TreeIsh),
        id: &FileId,
        (changes, at): (&[RawChange], usize),
    ) -> Result<Hunks, GitError> {
        let first: usize = changes[..at].iter().map(RawChange::sections).sum();
        let git = diff_call(self, a, b, &["-p", "--text"], &paths(id)).converse()?;
        Hunks::of(git, first..first + changes[at].sections())
    }

    /// The whole diff from a byte on, as git prints it.
    pub fn patch_page(
        &self,
        a: &impl TreeIsh,
        b: &impl TreeIsh,
        (offset, limit): (u64, usize),
    ) -> Result<PatchPage, GitError> {
        let git = self.patch(a, b).converse()?;
        let (bytes, next) = Hunks::everything(git)?.page(offset, limit)?;
        let (text, exact) = escaped(&bytes);
        Ok(PatchPage { text, next, exact })
    }
}

fn paths(id: &FileId) -> Vec<&OsStr> {
    id.from.iter().chain([&id.path]).map(|path| OsStr::from_bytes(path)).collect()
}

/// Reads a diff that git prints, and lets through what is wanted of it.
struct Hunks {
    git: Conversation,
    out: BufReader<ChildStdout>,
    /// Which of git's sections; all of them with their headers when there is none.
    wanted: Option<std::ops::Range<usize>>,
    /// Sections that have begun.
    begun: usize,
    in_header: bool,
    /// Whether the piece that was read last begins a line.
    starts_line: bool,
    ended_line: bool,
}

impl Hunks {
    fn of(git: Conversation, wanted: std::ops::Range<usize>) -> Result<Self, GitError> {
        Ok(Self { wanted: Some(wanted), ..Self::everything(git)? })
    }

    fn everything(mut git: Conversation) -> Result<Self, GitError> {
        git.limit_time(LONGEST)?;
        let out = BufReader::new(git.stdout());
        Ok(Self { git, out, wanted: None, begun: 0, in_header: true, starts_line: true, ended_line: true })
    }

    /// At most `limit` bytes from `offset` on, up to a line's end where there is one, and where to go on.
    fn page(mut self, offset: u64, limit: usize) -> Result<(Vec<u8>, Option<u64>), GitError> {
        let (mut skip, mut bytes) = (offset, Vec::new());
        while bytes.len() <= limit {
            let Some(piece) = self.next_piece()? else {
                self.git.end()?;
                return Ok((bytes, None));
            };
            let skipped = usize::try_from(skip).unwrap_or(usize::MAX).min(piece.len());
            skip -= skipped as u64;
            bytes.extend_from_slice(&piece[skipped..]);
        }
        bytes.truncate(cut(&bytes, limit));
        let next = offset + bytes.len() as u64;
        Ok((bytes, Some(next)))
    }

    /// Added and deleted lines.
    fn count(mut self) -> Result<(u64, u64), GitError> {
        let (mut added, mut deleted) = (0, 0);
        while let Some(piece) = self.next_piece()? {
            match piece.first().filter(|_| self.starts_line) {
                Some(b'+') => added += 1,
                Some(b'-') => deleted += 1,
                _ => {}
            }
        }
        self.git.end()?;
        Ok((added, deleted))
    }

    /// The next line, or a part of a very long one, that is wanted; `None` at the end.
    fn next_piece(&mut self) -> Result<Option<Vec<u8>>, GitError> {
        loop {
            let mut piece = Vec::new();
            let read = (&mut self.out).take(PIECE).read_until(b'\n', &mut piece);
            if read.map_err(|error| self.git.broke(&error))? == 0 {
                return Ok(None);
            }
            self.starts_line = std::mem::replace(&mut self.ended_line, piece.ends_with(b"\n"));
            if self.lets_through(&piece) {
                return Ok(Some(piece));
            }
        }
    }

    /// Every line of content has a sign before it, so a header is known by its first word.
    fn lets_through(&mut self, piece: &[u8]) -> bool {
        let Some(wanted) = &self.wanted else { return true };
        if self.starts_line && piece.starts_with(sections::HEADER) {
            (self.begun, self.in_header) = (self.begun + 1, true);
        } else if self.starts_line && piece.starts_with(b"@@ ") {
            self.in_header = false;
        }
        !self.in_header && self.begun.checked_sub(1).is_some_and(|at| wanted.contains(&at))
    }
}

/// Where to cut: after the last whole line within the limit, otherwise between two characters.
fn cut(bytes: &[u8], limit: usize) -> usize {
    if let Some(end) = bytes[..limit].iter().rposition(|b| *b == b'\n') {
        return end + 1;
    }
    let continues = |at: &usize| bytes.get(*at).is_some_and(|b| b & 0xc0 == 0x80);
    (limit.saturating_sub(3)..=limit).rev().find(|at| *at > 0 && !continues(at)).unwrap_or(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_with_a_line_or_between_two_characters() {
        assert_eq!(cut(b"one\ntwo\nthree", 9), 8);
        assert_eq!(cut("ääää".as_bytes(), 3), 2);
        assert_eq!(cut("€€".as_bytes(), 5), 3);
        assert_eq!(cut(&[0x80; 10], 5), 5);
    }
}
