//! Cache of change lists, so that the pages of a long list are cut from one computation. Two commits never change, so an entry
//! is never stale; but content can go missing, and only a list that is computed anew finds that.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::git::{ChangeList, CommitId};

/// Whether a list may come from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Reads all changed content, so that missing objects are found.
    Fresh,
    /// A further page of a list that was computed before.
    Continued,
}

/// Files in all lists together; about 100 MiB at the most.
const MAX_FILES: usize = 200_000;

type Commits = (CommitId, CommitId);

/// The newest lists, the last used at the end.
#[derive(Default)]
pub(crate) struct ChangeLists {
    lists: Mutex<VecDeque<(Commits, Arc<ChangeList>)>>,
}

impl ChangeLists {
    /// The list between two commits, if it is here.
    pub(crate) fn get(&self, commits: &Commits) -> Option<Arc<ChangeList>> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let at = lists.iter().position(|(known, _)| known == commits)?;
        let entry = lists.remove(at)?;
        let list = Arc::clone(&entry.1);
        lists.push_back(entry);
        Some(list)
    }

    /// Keeps a list, and drops the least recently used ones beyond the bound.
    pub(crate) fn keep(&self, commits: Commits, list: &Arc<ChangeList>) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|(known, _)| *known != commits);
        if list.files.len() > MAX_FILES {
            return;
        }
        lists.push_back((commits, Arc::clone(list)));
        let mut files: usize = lists.iter().map(|(_, list)| list.files.len().max(1)).sum();
        while files > MAX_FILES {
            let Some((_, dropped)) = lists.pop_front() else { break };
            files -= dropped.files.len().max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::{ChangeStatus, ChangedFile, Content, FileId};

    fn commits(n: u32) -> Commits {
        (CommitId::parse(&format!("{n:040x}")).unwrap(), CommitId::parse(&"f".repeat(40)).unwrap())
    }

    fn list(files: usize) -> Arc<ChangeList> {
        let file = ChangedFile {
            id: FileId::parse("61").unwrap(),
            status: ChangeStatus::Added,
            old: None,
            new: None,
            lines: None,
            content: Content::Text,
        };
        Arc::new(ChangeList { files: vec![file; files] })
    }

    #[test]
    fn the_least_recently_used_lists_go_when_there_are_too_many_files() {
        let lists = ChangeLists::default();
        for n in 0..3 {
            lists.keep(commits(n), &list(MAX_FILES / 3));
        }
        assert!(lists.get(&commits(0)).is_some());
        lists.keep(commits(3), &list(MAX_FILES / 3));
        let kept = (0..4).map(|n| lists.get(&commits(n)).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), [true, false, true, true]);
    }

    #[test]
    fn a_list_that_is_too_long_alone_is_not_kept_and_drops_no_other() {
        let lists = ChangeLists::default();
        lists.keep(commits(1), &list(10));
        lists.keep(commits(2), &list(MAX_FILES + 1));
        assert!(lists.get(&commits(1)).is_some() && lists.get(&commits(2)).is_none());
    }

    #[test]
    fn many_empty_lists_do_not_grow_without_bound() {
        let lists = ChangeLists::default();
        for n in 0..3 {
            lists.keep(commits(n), &list(0));
            lists.keep(commits(n), &list(0));
        }
        assert_eq!(lists.lists.lock().unwrap().len(), 3);
    }
}
