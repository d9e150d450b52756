//! How much of what is decided on was on the screen: the rows of the hold with its document, the files of a change. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wire::ChangedFileView;

use crate::change::Loaded;

/// Where the files of a change stand in the lines of a tab.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// The commit that the change is to.
    pub(super) head: Option<String>,
    /// Places in the list, and rows.
    pub(super) files: Vec<(usize, Range<usize>)>,
    /// The digest of the hold, and rows of what it shows before any file.
    pub(super) text: Option<(String, Range<usize>)>,
}

/// What was seen of the change to one commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    head: Option<String>,
    /// Files of which every row was seen.
    whole: BTreeSet<usize>,
    /// Rows of the others.
    rows: BTreeMap<usize, Vec<bool>>,
    /// The digest of a hold, and which rows of its text were seen.
    text: Option<(String, Vec<bool>)>,
}

impl Seen {
    /// Takes in the rows that are on the screen.
    pub(super) fn note(&mut self, layout: &Layout, rows: Range<usize>) {
        if let Some((digest, place)) = &layout.text {
            self.note_text(digest, place, &rows);
        }
        if layout.head.is_none() {
            return;
        }
        if self.head != layout.head {
            *self = Self { head: layout.head.clone(), text: self.text.take(), ..Self::default() };
        }
        for (file, place) in layout.files.iter().filter(|(_, place)| place.start < rows.end && rows.start < place.end) {
            let seen = self.rows.entry(*file).or_default();
            // At another width the rows are others.
            if seen.len() != place.len() {
                *seen = vec![false; place.len()];
            }
            for row in place.start.max(rows.start)..place.end.min(rows.end) {
                seen[row - place.start] = true;
            }
            if seen.iter().all(|seen| *seen) {
                self.whole.insert(*file);
            }
        }
    }

    fn note_text(&mut self, digest: &str, place: &Range<usize>, rows: &Range<usize>) {
        let (known, mut seen) = self.text.take().unwrap_or_default();
        // At another width the rows are others.
        if known != digest || seen.len() != place.len() {
            seen = vec![false; place.len()];
        }
        for row in place.start.max(rows.start)..place.end.min(rows.end) {
            seen[row - place.start] = true;
        }
        self.text = Some((digest.to_owned(), seen));
    }

    /// Rows of the text of a hold that were not seen, out of how many; `None` while it was on no screen.
    pub(super) fn unseen_rows(&self, digest: &str) -> Option<(usize, usize)> {
        let (_, seen) = self.text.as_ref().filter(|(known, _)| known == digest)?;
        Some((seen.iter().filter(|seen| !**seen).count(), seen.len()))
    }

    /// Files of a change of which not everything was seen.
    pub(super) fn missing<'a>(&self, change: &'a Loaded) -> Vec<&'a ChangedFileView> {
        let same = self.head.as_ref() == Some(&change.list.head);
        let files = change.list.files.iter().enumerate();
        files.filter(|(at, _)| !same || !self.whole.contains(at)).map(|(_, file)| file).collect()
    }
}
