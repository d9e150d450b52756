//! Locks that a killed git left in the private repository. They are ours: no other program knows the repository, so that
//! one is stale when no process works on references there. For the user's repository see `unfinished_move`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use super::GitError;
use super::upkeep::{entries, files_below};
use crate::durable;
use crate::passing::rest;

/// Shared by this process's own calls that take locks, exclusive for who takes stale ones away.
static MOVING: RwLock<()> = RwLock::new(());

/// Between two looks for processes that another Holdpoint left behind.
const MOMENT: Duration = Duration::from_millis(50);
const LOOKS: usize = 40;

/// Held by a call of this process for as long as its git may hold a lock.
pub(crate) fn taking_locks() -> RwLockReadGuard<'static, ()> {
    MOVING.read().unwrap_or_else(PoisonError::into_inner)
}

/// Held by who takes things away that no git of this process may just be using.
pub(crate) fn alone() -> RwLockWriteGuard<'static, ()> {
    MOVING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Takes away every lock of the repository, once no git of ours works on it that may hold one.
pub(crate) fn remove_stale_locks(dir: &Path) -> Result<(), GitError> {
    let failed = |error| GitError::io("cannot look for stale locks in", dir)(error);
    // By this name git is given it.
    let dir = &dir.canonicalize().map_err(failed)?;
    let failed = |error| GitError::io("cannot look for stale locks in", dir)(error);
    if locks_in(dir).map_err(failed)?.is_empty() {
        return Ok(());
    }
    let _alone = alone();
    for _ in 0..LOOKS {
        if !at_work_on(dir) {
            break;
        }
        rest(MOMENT);
    }
    if at_work_on(dir) {
        return Err(GitError::RefLocked { reference: dir.display().to_string() });
    }
    for lock in locks_in(dir).map_err(failed)? {
        tracing::warn!(lock = %lock.display(), "a killed git left a lock in Holdpoint's repository; it is taken away");
        remove(&lock).map_err(failed)?;
    }
    Ok(())
}

/// Whether git gave up because of a lock that is there already.
pub(crate) fn speaks_of_a_lock(stderr: &str) -> bool {
    stderr.contains(".lock': File exists")
}

pub(crate) fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lock")
}

fn locks_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = entries(dir, fs::FileType::is_file)?;
    found.extend(files_below(&dir.join("refs"))?);
    found.extend(entries(&dir.join("objects/info"), fs::FileType::is_file)?);
    found.retain(|path| is_lock(path) || path.file_name().is_some_and(|name| name == "gc.pid"));
    Ok(found)
}

fn remove(lock: &Path) -> io::Result<()> {
    match fs::remove_file(lock) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    lock.parent().map_or(Ok(()), durable::sync_folder)
}

/// Whether any process of this machine is a git on this repository that may hold a lock. Every call of ours names its
/// repository in the environment, also one whose server was killed.
pub(crate) fn at_work_on(dir: &Path) -> bool {
    let wanted = [b"GIT_DIR=", dir.as_os_str().as_encoded_bytes()].concat();
    let Ok(processes) = fs::read_dir("/proc") else { return false };
    processes.flatten().any(|process| {
        // A process that cannot be looked at is another user's, or gone.
        let read = |name: &str| fs::read(process.path().join(name)).unwrap_or_default();
        let here = read("environ").split(|byte| *byte == 0).any(|variable| variable == wanted);
        here && read("cmdline").split(|byte| *byte == 0).any(|word| LOCKING.contains(&word))
    })
}

/// Commands of ours that take locks outside an index of their own.
const LOCKING: [&[u8]; 3] = [b"update-ref", b"init", b"config"];
