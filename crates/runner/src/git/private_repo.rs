//! Holdpoint's own repository for a project: bare, never visible to an agent, its objects
//! shared with the user's by alternates. Every reference here moves by compare-and-swap.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::locks::speaks_of_a_lock;
use super::names::is_object_id;
use super::run::Call;
use super::sync::sync_moved;
use super::upkeep;
use super::user_repo::{UserRepo, resolve};
use super::{BranchName, CommitId, GitError, TreeId};
use crate::durable;

#[derive(Debug, Clone)]
pub struct PrivateRepo {
    dir: PathBuf,
}

impl PrivateRepo {
    /// Makes the repository in `dir`, or goes on with the one that is there.
    pub fn open(dir: &Path, user: &UserRepo) -> Result<Self, GitError> {
        upkeep::ensure(dir, user)?;
        let dir = dir.canonicalize().map_err(GitError::io("cannot open", dir))?;
        let repo = Self { dir };
        let scratch = repo.dir.join("tmp");
        fs::create_dir_all(&scratch).map_err(GitError::io("cannot create", &scratch))?;
        repo.share_objects(user)?;
        Ok(repo)
    }

    pub(crate) fn share_objects(&self, user: &UserRepo) -> Result<(), GitError> {
        let objects = user.common_dir().join("objects");
        let line = objects.to_string_lossy();
        if line.contains('\n') {
            return Err(GitError::BadPath {
                path: line.into_owned(),
                reason: "git cannot share objects with a path that has a line break",
            });
        }
        let info = self.dir.join("objects/info");
        fs::create_dir_all(&info).map_err(GitError::io("cannot create", &info))?;
        self.replace(&info.join("alternates"), format!("{line}\n").as_bytes())?;
        // Where the user's history is cut off, ours is cut off too.
        let shallow = user.common_dir().join("shallow");
        match fs::read(&shallow) {
            Ok(bytes) => self.replace(&self.dir.join("shallow"), &bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => remove_if_there(&self.dir.join("shallow")),
            Err(error) => Err(GitError::io("cannot read", shallow)(error)),
        }
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> Result<(), GitError> {
        if fs::read(path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        durable::replace(&self.scratch("file"), path, bytes).map_err(GitError::io("cannot write", path))
    }

    /// Whether it is not the repository any more that runs began with, so that references may be missing.
    pub(crate) fn was_rebuilt(&self) -> bool {
        upkeep::was_rebuilt(&self.dir)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn call(&self) -> Call {
        Call::at(&self.dir)
    }

    /// A call that moves references: locks that a killed one left are taken away for it.
    fn moving(&self) -> Call {
        Call::at(&self.dir).taking_locks_of_ours()
    }

    /// A path for a file of one call, used by nobody else.
    pub(crate) fn scratch(&self, kind: &str) -> PathBuf {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        self.dir.join(format!("tmp/{kind}-{process}-{number}"))
    }

    /// Notes where the user's branch stands now and gives that commit.
    pub fn import_base(&self, user: &UserRepo, branch: &BranchName) -> Result<CommitId, GitError> {
        self.share_objects(user)?;
        let tip = user.branch_tip(branch)?;
        self.force_ref(&format!("refs/holdpoint/base/{branch}"), &tip)?;
        Ok(tip)
    }

    /// Makes the branch at this commit; a branch that is already there must be at it, or
    /// further on.
    pub fn create_branch(&self, branch: &BranchName, at: &CommitId) -> Result<(), GitError> {
        match self.tip(branch)? {
            None => self.set_tip(branch, at, None),
            Some(tip) if self.is_ancestor(at, &tip)? => Ok(()),
            Some(tip) => Err(GitError::Moved {
                reference: branch.full(),
                expected: Some(at.to_string()),
                actual: Some(tip.to_string()),
            }),
        }
    }

    pub fn tip(&self, branch: &BranchName) -> Result<Option<CommitId>, GitError> {
        resolve(&self.dir, &branch.full())
    }

    /// Moves the branch from `expected_old` (`None`: it must not exist) to `new`.
    pub fn set_tip(
        &self,
        branch: &BranchName,
        new: &CommitId,
        expected_old: Option<&CommitId>,
    ) -> Result<(), GitError> {
        self.swap(&branch.full(), new, expected_old, "holdpoint")
    }

    pub(crate) fn swap(
        &self,
        reference: &str,
        new: &CommitId,
        expected_old: Option<&CommitId>,
        reason: &str,
    ) -> Result<(), GitError> {
        compare_and_swap(self.moving(), &self.dir, reference, new, expected_old, reason)
    }

    /// Takes the branch away if it still stands at `expected`. Gone already is fine.
    pub fn delete_branch(&self, branch: &BranchName, expected: &CommitId) -> Result<(), GitError> {
        match self.tip(branch)? {
            None => Ok(()),
            Some(tip) if tip == *expected => {
                let deleted = self
                    .moving()
                    .args(["update-ref", "--no-deref", "-d", &branch.full(), expected.as_str()])
                    .finish()?;
                match deleted.code {
                    0 => sync_moved(&self.dir, &branch.full()),
                    // An earlier try of this very call may have done it.
                    _ if self.tip(branch)?.is_none() => sync_moved(&self.dir, &branch.full()),
                    _ => Err(deleted.failed(format!("update-ref -d {branch}"))),
                }
            }
            Some(tip) => Err(GitError::Moved {
                reference: branch.full(),
                expected: Some(expected.to_string()),
                actual: Some(tip.to_string()),
            }),
        }
    }

    pub(crate) fn reference(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        resolve(&self.dir, name)
    }

    pub(crate) fn force_ref(&self, name: &str, commit: &CommitId) -> Result<(), GitError> {
        if self.reference(name)?.as_ref() == Some(commit) {
            return Ok(());
        }
        self.moving().args(["update-ref", "--no-deref", name, commit.as_str()]).run()?;
        sync_moved(&self.dir, name)
    }

    pub fn is_ancestor(&self, old: &CommitId, new: &CommitId) -> Result<bool, GitError> {
        let answer = self.call().args(["merge-base", "--is-ancestor", old.as_str(), new.as_str()]).finish()?;
        match answer.code {
            0 => Ok(true),
            1 => Ok(false),
            _ => Err(GitError::ObjectsMissing { repository: self.dir.clone(), detail: answer.stderr }),
        }
    }

    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId, GitError> {
        let id = self.call().args(["rev-parse", "--verify", "--quiet"]).arg(format!("{commit}^{{tree}}")).line()?;
        TreeId::parse(&id)
    }

    pub fn parents(&self, commit: &CommitId) -> Result<Vec<CommitId>, GitError> {
        let line = self.log_field(commit, "%P")?;
        line.split_whitespace().map(CommitId::parse).collect()
    }

    /// The whole message, trailers included.
    pub fn message(&self, commit: &CommitId) -> Result<String, GitError> {
        self.log_field(commit, "%B")
    }

    fn log_field(&self, commit: &CommitId, format: &str) -> Result<String, GitError> {
        let out = self
            .call()
            .args(["log", "-1", "--no-show-signature", "--no-color"])
            .arg(format!("--format={format}"))
            .args(["--end-of-options", commit.as_str(), "--"])
            .run()?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }
}

/// Moves a reference of any repository, if it still stands where the caller thinks. A reference
/// that already is at `new` counts as moved: an earlier call did it. When this returns, a power cut
/// takes neither the reference nor its objects back.
pub(crate) fn compare_and_swap(
    call: Call,
    git_dir: &Path,
    reference: &str,
    new: &CommitId,
    expected_old: Option<&CommitId>,
    reason: &str,
) -> Result<(), GitError> {
    let nothing = "0".repeat(new.as_str().len());
    let old = expected_old.map_or(nothing.as_str(), CommitId::as_str);
    let moved = call.args(["update-ref", "--no-deref", "-m", reason]).args([reference, new.as_str(), old]).finish()?;
    if moved.code == 0 || resolve(git_dir, reference)?.as_ref() == Some(new) {
        return sync_moved(git_dir, reference);
    }
    let actual = resolve(git_dir, reference)?;
    if actual.as_ref() != expected_old {
        return Err(GitError::Moved {
            reference: reference.to_owned(),
            expected: expected_old.map(CommitId::to_string),
            actual: actual.map(|id| id.to_string()),
        });
    }
    if speaks_of_a_lock(&moved.stderr) {
        return Err(GitError::RefLocked { reference: reference.to_owned() });
    }
    Err(moved.failed(format!("update-ref {reference}")))
}

pub(crate) fn remove_if_there(path: &Path) -> Result<(), GitError> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(GitError::io("cannot remove", path)(error)),
    }
}

/// The object id in a line of git's output.
pub(crate) fn id_in(line: &str, args: &str) -> Result<String, GitError> {
    if is_object_id(line) {
        return Ok(line.to_owned());
    }
    Err(GitError::Unreadable { args: args.to_owned(), detail: line.chars().take(80).collect() })
}
