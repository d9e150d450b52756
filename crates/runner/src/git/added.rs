//! Content that a tree or a range of commits has and what it follows from has not.

use std::collections::{BTreeMap, BTreeSet};

use super::names::shown;
use super::objects::{Blobs, EntryMode};
use super::private_repo::id_in;
use super::{CommitId, GitError, PrivateRepo, TreeId};

/// A file whose content is new.
pub(crate) struct NewContent {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl PrivateRepo {
    /// Shows every content of `tree` that `before` has nowhere: what was only moved is not new.
    pub(crate) fn each_new_in_tree(
        &self,
        before: &CommitId,
        tree: &TreeId,
        mut take: impl FnMut(NewContent),
    ) -> Result<(), GitError> {
        let (old, new) = (self.files(before)?, self.files(tree)?);
        let known: BTreeSet<&str> = old.0.values().map(|entry| entry.id.as_str()).collect();
        let fresh = new.0.iter().filter(|(_, entry)| entry.mode != EntryMode::Gitlink);
        let fresh: Vec<(String, &str)> = fresh
            .filter(|(_, entry)| !known.contains(entry.id.as_str()))
            .map(|(path, entry)| (shown(path), entry.id.as_str()))
            .collect();
        self.read_each(fresh, &mut take)
    }

    /// Shows what `tree` takes the place of in `before`: old content of files that are other or gone.
    pub(crate) fn each_replaced(
        &self,
        before: &CommitId,
        tree: &TreeId,
        mut take: impl FnMut(NewContent),
    ) -> Result<(), GitError> {
        let (old, new) = (self.files(before)?, self.files(tree)?);
        let replaced = old.0.iter().filter(|(path, entry)| {
            entry.mode != EntryMode::Gitlink && new.get(path).is_none_or(|now| now.id != entry.id)
        });
        let replaced: Vec<(String, &str)> = replaced.map(|(path, entry)| (shown(path), entry.id.as_str())).collect();
        self.read_each(replaced, &mut take)
    }

    /// Shows every content that some commit after `base` up to `tip` has and `base` has not.
    pub(crate) fn each_new_in_range(
        &self,
        base: &CommitId,
        tip: &CommitId,
        mut take: impl FnMut(NewContent),
    ) -> Result<(), GitError> {
        let since = format!("^{base}");
        let out = self
            .call()
            .args(["rev-list", "--objects", "--filter=object:type=blob", "--filter-provided-objects"])
            .args(["--end-of-options", tip.as_str(), &since, "--"])
            .run()?;
        let mut fresh = Vec::new();
        for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let (id, path) = match line.iter().position(|byte| *byte == b' ') {
                Some(at) => (&line[..at], shown(&line[at + 1..])),
                None => continue,
            };
            fresh.push((path, id_in(&String::from_utf8_lossy(id), "rev-list")?));
        }
        self.read_each(fresh.iter().map(|(path, id)| (path.clone(), id.as_str())).collect(), &mut take)
    }

    /// Paths of `tree` that `before` has not.
    pub(crate) fn new_names_in_tree(&self, before: &CommitId, tree: &TreeId) -> Result<Vec<Vec<u8>>, GitError> {
        let (old, new) = (self.files(before)?, self.files(tree)?);
        Ok(new.0.into_keys().filter(|path| !old.0.contains_key(path)).collect())
    }

    /// Paths that some commit after `base` up to `tip` touches and `base` has not.
    pub(crate) fn new_names_in_range(&self, base: &CommitId, tip: &CommitId) -> Result<Vec<Vec<u8>>, GitError> {
        let since = format!("^{base}");
        // Merges against each parent: what only the merge added counts too.
        let out = self
            .call()
            .args(["log", "-z", "--no-color", "--format=", "--name-only", "--no-renames", "-m", "--root"])
            .args(["--end-of-options", tip.as_str(), &since, "--"])
            .run()?;
        let old = self.files(base)?;
        let names: BTreeSet<&[u8]> = out.split(|byte| *byte == 0).filter(|name| !name.is_empty()).collect();
        Ok(names.into_iter().filter(|name| !old.0.contains_key(*name)).map(<[u8]>::to_vec).collect())
    }

    /// Every path of a commit.
    pub(crate) fn names(&self, commit: &CommitId) -> Result<Vec<Vec<u8>>, GitError> {
        Ok(self.files(commit)?.0.into_keys().collect())
    }

    /// The messages of the commits after `base` up to `tip`, by their ids.
    pub(crate) fn messages(&self, base: &CommitId, tip: &CommitId) -> Result<BTreeMap<String, String>, GitError> {
        let since = format!("^{base}");
        let out = self
            .call()
            .args(["log", "-z", "--no-color", "--format=%H%x01%B", "--end-of-options", tip.as_str(), &since, "--"])
            .run()?;
        let text = String::from_utf8_lossy(&out).into_owned();
        let parts = text.split('\0').filter_map(|part| part.split_once('\u{1}'));
        Ok(parts.map(|(id, message)| (id.trim().to_owned(), message.to_owned())).collect())
    }

    fn read_each(&self, wanted: Vec<(String, &str)>, take: &mut impl FnMut(NewContent)) -> Result<(), GitError> {
        if wanted.is_empty() {
            return Ok(());
        }
        let mut blobs = Blobs::of(self)?;
        for (path, id) in wanted {
            take(NewContent { path, bytes: blobs.read(id)? });
        }
        blobs.end()
    }
}
