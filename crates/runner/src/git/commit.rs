//! Writing commits: the same request gives the same commit id, and a commit that an earlier
//! call made is found by its `Holdpoint-Effect` trailer and adopted. Never touches a work tree.

use std::io::Write;
use std::path::PathBuf;

use jiff::Timestamp;

use super::names::{path_refusal, shown};
use super::objects::{Entry, EntryMode};
use super::private_repo::{id_in, remove_if_there};
use super::{BranchName, CommitId, GitError, PrivateRepo, TreeId, TreeIsh};

pub const RUN_TRAILER: &str = "Holdpoint-Run";
pub const STAGE_TRAILER: &str = "Holdpoint-Stage";
pub const EFFECT_TRAILER: &str = "Holdpoint-Effect";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
}

/// What a commit says about itself.
#[derive(Debug, Clone)]
pub struct CommitText {
    pub message: String,
    pub trailers: Vec<(String, String)>,
    /// Author and committer date, so that a repeat gives the same id.
    pub when: Timestamp,
    pub author: Author,
}

impl CommitText {
    pub(crate) fn trailer(&self, key: &str) -> Option<&str> {
        let found = self.trailers.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }

    fn full_message(&self) -> Result<String, GitError> {
        let mut text: String = self.message.trim().replace('\0', "\u{fffd}");
        text.push('\n');
        for (n, (key, value)) in self.trailers.iter().enumerate() {
            check_trailer(key, value)?;
            if n == 0 {
                text.push('\n');
            }
            text.push_str(&format!("{key}: {value}\n"));
        }
        Ok(text)
    }
}

fn check_trailer(key: &str, value: &str) -> Result<(), GitError> {
    let reason = if key.is_empty() || !key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        "its key has characters other than letters, digits and `-`"
    } else if value.trim().is_empty() || value.trim() != value || value.chars().any(char::is_control) {
        "its value is empty, has spaces around it or has control characters"
    } else {
        return Ok(());
    };
    Err(GitError::BadTrailer { key: key.escape_debug().collect(), reason })
}

/// A commit to be made.
#[derive(Debug, Clone)]
pub struct CommitRequest {
    pub parents: Vec<CommitId>,
    pub tree: TreeId,
    pub text: CommitText,
}

impl PrivateRepo {
    /// Writes the commit object. No branch moves.
    pub fn commit(&self, request: &CommitRequest) -> Result<CommitId, GitError> {
        let text = &request.text;
        let name = person(&text.author.name, "Holdpoint");
        let email = person(&text.author.email, "holdpoint@localhost");
        let date = format!("@{} +0000", text.when.as_second());
        let mut call = self
            .call()
            .env("GIT_AUTHOR_NAME", &name)
            .env("GIT_AUTHOR_EMAIL", &email)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_NAME", &name)
            .env("GIT_COMMITTER_EMAIL", &email)
            .env("GIT_COMMITTER_DATE", &date)
            .args(["commit-tree", "--no-gpg-sign", "-F", "-"]);
        for parent in &request.parents {
            call = call.args(["-p", parent.as_str()]);
        }
        let id = call.arg(request.tree.as_str()).input(text.full_message()?).line()?;
        CommitId::parse(&id)
    }

    /// Commits `tree` on the branch, which must stand at `expected_parent`. If the branch has
    /// since got a commit with the same `Holdpoint-Effect` trailer, that commit is the answer;
    /// what an earlier effect left there that failed is taken off.
    pub fn commit_tree(
        &self,
        branch: &BranchName,
        expected_parent: &CommitId,
        tree: &TreeId,
        text: &CommitText,
    ) -> Result<CommitId, GitError> {
        if let Some(done) = self.earlier(branch, expected_parent, text)? {
            return Ok(done);
        }
        self.stand_at(branch, expected_parent, text)?;
        let commit = self.commit(&CommitRequest {
            parents: vec![expected_parent.clone()],
            tree: tree.clone(),
            text: text.clone(),
        })?;
        self.set_tip(branch, &commit, Some(expected_parent))?;
        Ok(commit)
    }

    /// Commits the parent's tree with these files set, on the branch, which must stand at
    /// `expected_parent`. Adopts like `commit_tree`.
    pub fn commit_files(
        &self,
        branch: &BranchName,
        expected_parent: &CommitId,
        files: &[(String, Vec<u8>)],
        text: &CommitText,
    ) -> Result<CommitId, GitError> {
        if let Some(done) = self.earlier(branch, expected_parent, text)? {
            return Ok(done);
        }
        let tree = self.tree_with(expected_parent, files)?;
        self.commit_tree(branch, expected_parent, &tree, text)
    }

    fn earlier(&self, branch: &BranchName, since: &CommitId, text: &CommitText) -> Result<Option<CommitId>, GitError> {
        match text.trailer(EFFECT_TRAILER) {
            Some(effect) => self.find_by_effect(branch, effect, Some(since)),
            None => Ok(None),
        }
    }

    /// The newest commit of the branch, after `since`, that carries this effect's trailer.
    pub fn find_by_effect(
        &self,
        branch: &BranchName,
        effect: &str,
        since: Option<&CommitId>,
    ) -> Result<Option<CommitId>, GitError> {
        let Some(tip) = self.tip(branch)? else {
            return Ok(None);
        };
        let found = self.with_trailer(&tip, since, EFFECT_TRAILER, effect)?;
        Ok(found.into_iter().next())
    }

    /// First-parent commits from `tip` back to (without) `since` that carry the trailer.
    pub(crate) fn with_trailer(
        &self,
        tip: &CommitId,
        since: Option<&CommitId>,
        key: &str,
        value: &str,
    ) -> Result<Vec<CommitId>, GitError> {
        let all = self.trailers(tip, since, key)?;
        let with = all.into_iter().filter(|(_, values)| values.iter().any(|found| found == value));
        Ok(with.map(|(commit, _)| commit).collect())
    }

    /// First-parent commits from `tip` back to (without) `since`, each with the values it has for a trailer.
    pub(crate) fn trailers(
        &self,
        tip: &CommitId,
        since: Option<&CommitId>,
        key: &str,
    ) -> Result<Vec<(CommitId, Vec<String>)>, GitError> {
        let format = format!("--format=%H%x01%(trailers:key={key},valueonly,unfold,separator=%x01)");
        let mut call = self
            .call()
            .args(["log", "-z", "--first-parent", "--no-color", &format])
            .args(["--end-of-options", tip.as_str()]);
        if let Some(since) = since {
            call = call.arg(format!("^{since}"));
        }
        let out = call.arg("--").run()?;
        let text = String::from_utf8_lossy(&out);
        text.split('\0')
            .filter(|line| !line.is_empty())
            .map(|line| {
                let mut parts = line.trim_end().split('\u{1}');
                let commit = CommitId::parse(parts.next().unwrap_or_default())?;
                Ok((commit, parts.filter(|value| !value.is_empty()).map(str::to_owned).collect()))
            })
            .collect()
    }

    /// A commit's tree with some files as they were in an earlier one: those it changed or lacks, and without `unwanted` ones
    /// that it added, if there was a wanted one. `None` if there are none.
    pub(crate) fn restored(
        &self,
        earlier: &CommitId,
        commit: &CommitId,
        wanted: impl Fn(&[u8]) -> bool,
        unwanted: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Restored>, GitError> {
        let (before, now) = (self.files(earlier)?, self.files(commit)?);
        let same = |path: &[u8], entry: &Entry| {
            now.get(path).is_some_and(|now| (now.mode, &now.id) == (entry.mode, &entry.id))
        };
        let restored = before
            .0
            .iter()
            .filter(|(path, entry)| entry.mode != EntryMode::Gitlink && wanted(path) && !same(path, entry));
        let (mut lines, mut paths) = (Vec::new(), Vec::new());
        for (path, entry) in restored {
            index_line(&mut lines, entry.mode, &entry.id, path);
            paths.push(path.clone());
        }
        let has_wanted = before.0.keys().any(|path| wanted(path));
        for path in now.0.keys().filter(|path| has_wanted && before.get(path).is_none() && unwanted(path)) {
            lines.extend_from_slice(format!("0 {}\t", "0".repeat(commit.as_str().len())).as_bytes());
            lines.extend_from_slice(path);
            lines.push(0);
            paths.push(path.clone());
        }
        if paths.is_empty() {
            return Ok(None);
        }
        let index = ScratchIndex::of(self);
        index.call(self).args(["read-tree", commit.id()]).run()?;
        index.set(self, lines)?;
        Ok(Some(Restored { tree: index.write_tree(self)?, paths }))
    }

    /// The tree with these files set in it.
    pub fn tree_with(&self, tree: &impl TreeIsh, files: &[(String, Vec<u8>)]) -> Result<TreeId, GitError> {
        let mut lines = Vec::new();
        for (path, bytes) in files {
            if let Some(reason) = path_refusal(path.as_bytes()) {
                let path = shown(path.as_bytes());
                return Err(GitError::BadPath { path, reason });
            }
            let id = self
                .call()
                .args(["hash-object", "-w", "-t", "blob", "--no-filters", "--stdin"])
                .input(bytes.clone())
                .line()?;
            index_line(&mut lines, EntryMode::File, &id, path.as_bytes());
        }
        let index = ScratchIndex::of(self);
        index.call(self).args(["read-tree", tree.id()]).run()?;
        index.set(self, lines)?;
        index.write_tree(self)
    }
}

/// A tree with earlier versions of some files.
pub(crate) struct Restored {
    pub(crate) tree: TreeId,
    pub(crate) paths: Vec<Vec<u8>>,
}

/// Appends `<mode> <id>\t<path>\0`, the form `update-index --index-info` reads.
pub(crate) fn index_line(lines: &mut Vec<u8>, mode: EntryMode, id: &str, path: &[u8]) {
    // Writing to memory cannot fail.
    let _ = write!(lines, "{} {id}\t", mode.octal());
    lines.extend_from_slice(path);
    lines.push(0);
}

/// An index file of one call, gone when dropped.
pub(crate) struct ScratchIndex(PathBuf);

impl ScratchIndex {
    pub(crate) fn of(private: &PrivateRepo) -> Self {
        Self(private.scratch("index"))
    }

    pub(crate) fn call(&self, private: &PrivateRepo) -> super::run::Call {
        private.call().index(&self.0)
    }

    pub(crate) fn set(&self, private: &PrivateRepo, lines: Vec<u8>) -> Result<(), GitError> {
        self.call(private)
            .args(["update-index", "--add", "--replace", "-z", "--index-info"])
            .input(lines)
            .run()
            .map(drop)
    }

    pub(crate) fn write_tree(&self, private: &PrivateRepo) -> Result<TreeId, GitError> {
        let id = self.call(private).arg("write-tree").line()?;
        TreeId::parse(&id_in(&id, "write-tree")?)
    }
}

impl Drop for ScratchIndex {
    fn drop(&mut self) {
        // What cannot be removed is a small file that no later call reads.
        let _ = remove_if_there(&self.0);
        let _ = remove_if_there(&self.0.with_extension("lock"));
    }
}

/// A name or address as git takes it: no line breaks or brackets, not only punctuation.
fn person(text: &str, otherwise: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    match text.chars().any(char::is_alphanumeric) {
        true => text.trim().to_owned(),
        false => otherwise.to_owned(),
    }
}
