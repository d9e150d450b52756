//! Makes a reference that moved, and the objects it leads to, outlast a power cut. Git syncs the files it writes; their
//! names are in folders, which it does not sync.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use super::GitError;
use super::upkeep::entries;
use crate::durable::sync_folder;

/// When the object folders of a repository were last synced by this process: what did not change since need not be again.
static SYNCED: Mutex<Option<HashMap<PathBuf, SystemTime>>> = Mutex::new(None);

/// File systems note times more coarsely than the clock tells them.
const COARSE: Duration = Duration::from_secs(2);

/// Syncs the folders that a moved reference depends on.
pub(crate) fn sync_moved(git_dir: &Path, reference: &str) -> Result<(), GitError> {
    let sync = || {
        sync_objects(&git_dir.join("objects"))?;
        sync_names(git_dir, reference)
    };
    sync().map_err(GitError::io("cannot sync", git_dir))
}

/// From the reference's own folder upwards: any of them may be new. One that went with a deleted reference is skipped.
fn sync_names(git_dir: &Path, reference: &str) -> io::Result<()> {
    let path = git_dir.join(reference);
    for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(git_dir)) {
        match sync_folder(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            synced => synced?,
        }
    }
    Ok(())
}

fn sync_objects(objects: &Path) -> io::Result<()> {
    let now = SystemTime::now();
    let before = {
        let synced = SYNCED.lock().unwrap_or_else(PoisonError::into_inner);
        synced.as_ref().and_then(|synced| synced.get(objects).copied())
    };
    let mut folders = entries(objects, fs::FileType::is_dir)?;
    folders.push(objects.to_owned());
    for folder in folders {
        let changed = fs::metadata(&folder)?.modified()?;
        if before.is_none_or(|before| changed + COARSE >= before) {
            sync_folder(&folder)?;
        }
    }
    let mut synced = SYNCED.lock().unwrap_or_else(PoisonError::into_inner);
    synced.get_or_insert_default().insert(objects.to_owned(), now);
    Ok(())
}
