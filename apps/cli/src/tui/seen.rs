//! Which files of a change were on the screen, all of their lines. Pure.

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
}

/// What was seen of the change to one commit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    head: Option<String>,
    /// Files of which every row was seen.
    whole: BTreeSet<usize>,
    /// Rows of the others.
    rows: BTreeMap<usize, Vec<bool>>,
}

impl Seen {
    /// Takes in the rows that are on the screen.
    pub(super) fn note(&mut self, layout: &Layout, rows: Range<usize>) {
        if layout.head.is_none() {
            return;
        }
        if self.head != layout.head {
            *self = Self { head: layout.head.clone(), ..Self::default() };
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

    /// Files of a change of which not everything was seen.
    pub(super) fn missing<'a>(&self, change: &'a Loaded) -> Vec<&'a ChangedFileView> {
        let same = self.head.as_ref() == Some(&change.list.head);
        let files = change.list.files.iter().enumerate();
        files.filter(|(at, _)| !same || !self.whole.contains(at)).map(|(_, file)| file).collect()
    }
}
