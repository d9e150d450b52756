//! Locks that a git of ours left on references of the user's repository, because it was killed or the power failed. A note
//! in the private repository names each move before it is made: a lock that is older than the note, holds something else,
//! or belongs to a git that is at work, is another program's and stays.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::locks::at_work_on;
use super::private_repo::remove_if_there;
use super::{CommitId, GitError, PrivateRepo, UserRepo};
use crate::durable;
use crate::passing::rest;

const NOTE: &str = "holdpoint-move";
/// A reference name and an object id are shorter.
const MOST: u64 = 4096;

/// Git holds such a lock for milliseconds: one that is younger may belong to a git that is at work, also a person's.
const SETTLED: Duration = Duration::from_secs(2);
const MOMENT: Duration = Duration::from_millis(50);
const LOOKS: usize = 80;

/// A move of a reference of the user's repository, noted until git has said how it ended.
pub(crate) struct Move<'a> {
    note: PathBuf,
    user: &'a UserRepo,
}

impl<'a> Move<'a> {
    /// Removes what an earlier move left, and notes this one. The caller holds `UserRepo::lock`.
    pub(crate) fn begin(
        private: &PrivateRepo,
        user: &'a UserRepo,
        reference: &str,
        new: &CommitId,
    ) -> Result<Self, GitError> {
        let noted = Self { note: private.dir().join(NOTE), user };
        noted.remove_left_locks()?;
        let note = &noted.note;
        durable::replace(&note.with_extension("new"), note, format!("{reference}\n{new}\n").as_bytes())
            .map_err(GitError::io("cannot write", note))?;
        Ok(noted)
    }

    /// Git ended by itself: whatever lock is there now is not ours. Dropped without this, the note stays.
    pub(crate) fn end(self) -> Result<(), GitError> {
        remove_if_there(&self.note)
    }

    /// Removes the locks that a git of ours left since the note was written.
    pub(crate) fn remove_left_locks(&self) -> Result<(), GitError> {
        let Some(noted) = read(&self.note)? else { return Ok(()) };
        let git_dir = self.user.common_dir();
        for lock in [git_dir.join(format!("{}.lock", noted.reference)), git_dir.join("HEAD.lock")] {
            for _ in 0..LOOKS {
                if !matches!(noted.owns(&lock)?, Owned::Recently) && !at_work_on(git_dir) {
                    break;
                }
                rest(MOMENT);
            }
            // A git that was at work meanwhile has removed its lock, or still holds it.
            if matches!(noted.owns(&lock)?, Owned::Since) && !at_work_on(git_dir) {
                tracing::warn!(lock = %lock.display(), "removed a lock that a killed git of Holdpoint left");
                remove_if_there(&lock)?;
            }
        }
        Ok(())
    }
}

/// What the note says.
struct Noted {
    at: SystemTime,
    reference: String,
    new: String,
}

/// Whether a lock is ours.
enum Owned {
    /// There is none, or it is another program's.
    No,
    /// It may be, but a git may be at work with it.
    Recently,
    /// Left behind.
    Since,
}

/// Nothing for a note that is not there, or that a power cut left torn.
fn read(note: &Path) -> Result<Option<Noted>, GitError> {
    let found = fs::symlink_metadata(note).and_then(|found| Ok((found.len(), found.modified()?)));
    let (size, at) = match found {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(GitError::io("cannot read", note)(error)),
    };
    if size > MOST {
        return Ok(None);
    }
    let text = fs::read_to_string(note).map_err(GitError::io("cannot read", note))?;
    let mut lines = text.lines().map(str::to_owned);
    let (Some(reference), Some(new)) = (lines.next(), lines.next()) else { return Ok(None) };
    Ok(reference.starts_with("refs/heads/").then_some(Noted { at, reference, new }))
}

impl Noted {
    /// Ours is a lock that was made after the note, and is empty or holds the commit that our git was to write.
    fn owns(&self, lock: &Path) -> Result<Owned, GitError> {
        let found = match fs::symlink_metadata(lock) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Owned::No),
            Err(error) => return Err(GitError::io("cannot look at", lock)(error)),
        };
        let made = found.modified().map_err(GitError::io("cannot look at", lock))?;
        if !found.is_file() || made < self.at || found.len() > MOST {
            return Ok(Owned::No);
        }
        let content = match fs::read(lock) {
            Ok(content) => content,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Owned::No),
            Err(error) => return Err(GitError::io("cannot read", lock)(error)),
        };
        let content = content.trim_ascii();
        // What a power cut did not write is nothing, or zeros.
        if content != self.new.as_bytes() && content.iter().any(|byte| *byte != 0) {
            return Ok(Owned::No);
        }
        let age = SystemTime::now().duration_since(made).unwrap_or_default();
        Ok(if age < SETTLED { Owned::Recently } else { Owned::Since })
    }
}
