//! The user's checkouts of a branch, and the lock of their index. The lock is git's own, with
//! a text that says what is unfinished: the user's git cannot build on a half-way state, and a
//! later call knows what to finish.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::private_repo::remove_if_there;
use super::run::Call;
use super::user_repo::{UserRepo, head_branch};
use super::{BranchName, CommitId, GitError};
use crate::durable;

const MARK: &str = "holdpoint moves this checkout";

/// One work tree of the user, with the git directory that belongs to it.
#[derive(Debug, Clone)]
pub(crate) struct Checkout {
    pub(crate) git_dir: PathBuf,
    pub(crate) work_tree: PathBuf,
}

/// Every checkout, main or linked, whose HEAD is on the branch.
pub(crate) fn checkouts_of(user: &UserRepo, branch: &BranchName) -> Result<Vec<Checkout>, GitError> {
    let on_branch = |git_dir: &Path| -> Result<bool, GitError> {
        let here = head_branch(git_dir)?.as_deref() == Some(branch.as_str());
        Ok(here || is_rebasing(git_dir, branch))
    };
    let mut found = Vec::new();
    if on_branch(user.common_dir())? && !is_bare(user)? {
        found.push(Checkout { git_dir: user.common_dir().to_owned(), work_tree: main_work_tree(user)? });
    }
    let linked = user.common_dir().join("worktrees");
    let entries = match fs::read_dir(&linked) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(GitError::io("cannot read", linked)(error)),
    };
    for entry in entries {
        let git_dir = entry.map_err(GitError::io("cannot read", &linked))?.path();
        let Ok(link) = fs::read(git_dir.join("gitdir")) else {
            continue;
        };
        let link = PathBuf::from(OsStr::from_bytes(link.trim_ascii_end()));
        let Some(work_tree) = git_dir.join(&link).parent().map(Path::to_owned) else {
            continue;
        };
        // A worktree whose directory is gone has nothing to bring along.
        if work_tree.is_dir() && on_branch(&git_dir)? {
            found.push(Checkout { git_dir, work_tree });
        }
    }
    Ok(found)
}

/// During a rebase HEAD is detached, but the branch is still in use.
fn is_rebasing(git_dir: &Path, branch: &BranchName) -> bool {
    ["rebase-merge/head-name", "rebase-apply/head-name"]
        .iter()
        .any(|name| fs::read_to_string(git_dir.join(name)).is_ok_and(|text| text.trim() == branch.full()))
}

fn is_bare(user: &UserRepo) -> Result<bool, GitError> {
    let bare = Call::at(user.common_dir()).args(["config", "--type=bool", "--get", "core.bare"]).finish()?;
    Ok(bare.found("config --get core.bare")?.is_some_and(|bare| bare.trim_ascii() == b"true"))
}

fn main_work_tree(user: &UserRepo) -> Result<PathBuf, GitError> {
    if user.git_dir() == user.common_dir() {
        return Ok(user.top().to_owned());
    }
    match (user.common_dir().file_name(), user.common_dir().parent()) {
        (Some(name), Some(parent)) if name == ".git" => Ok(parent.to_owned()),
        _ => Err(GitError::CheckoutUnknown(user.common_dir().to_owned())),
    }
}

/// A move that was begun and not ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unfinished {
    pub(crate) old: CommitId,
    pub(crate) new: CommitId,
}

pub(crate) enum Locked {
    Yes,
    /// Another git process works on the index.
    BySomeoneElse,
}

impl Checkout {
    pub(crate) fn in_the_middle_of_something(&self) -> bool {
        ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"]
            .iter()
            .any(|name| self.git_dir.join(name).exists())
    }

    /// The user's filters by name: they are switched off in calls on the checkout.
    pub(crate) fn filter_drivers(&self) -> Result<Vec<String>, GitError> {
        let listed =
            Call::at(&self.git_dir).args(["config", "-z", "--name-only", "--get-regexp", r"^filter\."]).finish()?;
        // A filter that was not listed would run: git must have told.
        let listed = listed.found("config --get-regexp")?.unwrap_or_default();
        let text = String::from_utf8_lossy(&listed).into_owned();
        let names = text.split('\0').filter_map(|key| {
            let (driver, _) = key.strip_prefix("filter.")?.rsplit_once('.')?;
            Some(driver.to_owned())
        });
        let mut drivers: Vec<String> = names.collect();
        drivers.dedup();
        Ok(drivers)
    }

    fn lock_path(&self) -> PathBuf {
        self.git_dir.join("index.lock")
    }

    /// Takes the lock of the index, or takes over one that a dead Holdpoint left: a living one
    /// would hold `UserRepo::lock`, as our caller does.
    pub(crate) fn lock(&self, old: &CommitId, new: &CommitId) -> Result<Locked, GitError> {
        let path = self.lock_path();
        let draft = self.git_dir.join("holdpoint-lock");
        let text = format!("{MARK} from {old} to {new}\n");
        write_synced(&draft, text.as_bytes()).map_err(GitError::io("cannot write", &draft))?;
        // A link appears with its text at once, and only if no lock is there.
        let linked = match self.lock_text()? {
            Some(text) if text.starts_with(MARK) => fs::rename(&draft, &path),
            Some(_) | None => fs::hard_link(&draft, &path),
        };
        remove_if_there(&draft)?;
        // The branch moves only after what is unfinished then is on disk.
        durable::sync_folder(&self.git_dir).map_err(GitError::io("cannot sync", &self.git_dir))?;
        match linked {
            Ok(()) => Ok(Locked::Yes),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Locked::BySomeoneElse),
            Err(error) => Err(GitError::io("cannot lock", path)(error)),
        }
    }

    /// What our lock on the index says is unfinished.
    pub(crate) fn unfinished(&self) -> Result<Option<Unfinished>, GitError> {
        let text = self.lock_text()?.unwrap_or_default();
        let words: Vec<&str> = text.split_whitespace().rev().take(3).collect();
        match words[..] {
            [new, "to", old] if text.starts_with(MARK) => {
                Ok(Some(Unfinished { old: CommitId::parse(old)?, new: CommitId::parse(new)? }))
            }
            _ => Ok(None),
        }
    }

    fn lock_text(&self) -> Result<Option<String>, GitError> {
        let path = self.lock_path();
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(GitError::io("cannot read", path)(error)),
        }
    }

    /// Lets go of our lock; somebody else's stays.
    pub(crate) fn unlock(&self) -> Result<(), GitError> {
        match self.lock_text()? {
            Some(text) if text.starts_with(MARK) => {
                remove_if_there(&self.lock_path())?;
                durable::sync_folder(&self.git_dir).map_err(GitError::io("cannot sync", &self.git_dir))
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
