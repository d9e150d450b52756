//! Keeping the private repository whole: it is made aside and moved into place synced; what a power cut or a killed git
//! left in it is taken away; one that is damaged is mended in place. Never touches the user's repository: what is there
//! may be somebody else's.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::locks::{self, remove_stale_locks};
use super::names::is_object_id;
use super::run::Call;
use super::{GitError, UserRepo};
use crate::durable;

/// Repositories this process has looked through. What is not in it may have been left by a process that died.
static TRUSTED: Mutex<Option<HashSet<PathBuf>>> = Mutex::new(None);
/// Says that the repository is not the one that runs began with.
const REBUILT: &str = "rebuilt";

/// Held while a repository is made or mended.
static AT_WORK: Mutex<()> = Mutex::new(());

/// Makes sure that a whole repository is at `dir`.
pub(crate) fn ensure(dir: &Path, user: &UserRepo) -> Result<(), GitError> {
    if is_trusted(dir) && has_its_shape(dir) {
        return Ok(());
    }
    let _alone = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
    if !dir.exists() {
        make(dir, user)?;
    } else {
        remove_stale_locks(dir)?;
        if remove_debris(dir).map_err(GitError::io("cannot look through", dir))? > 0 {
            note_rebuilt(dir)?;
        }
        if !has_its_shape(dir) || !git_takes_it(dir)? {
            mend(dir, user)?;
        }
    }
    let mut trusted = TRUSTED.lock().unwrap_or_else(PoisonError::into_inner);
    trusted.get_or_insert_default().insert(dir.to_owned());
    Ok(())
}

/// Whether references may be missing that were there once.
pub(crate) fn was_rebuilt(dir: &Path) -> bool {
    dir.join(REBUILT).exists()
}

fn note_rebuilt(dir: &Path) -> Result<(), GitError> {
    let note = dir.join(REBUILT);
    durable::replace(&dir.join("rebuilt.new"), &note, b"").map_err(GitError::io("cannot write", note))
}

/// Something was wrong with a repository: whoever opens one next looks through it again.
pub(crate) fn distrust_all() {
    *TRUSTED.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

fn is_trusted(dir: &Path) -> bool {
    let trusted = TRUSTED.lock().unwrap_or_else(PoisonError::into_inner);
    trusted.as_ref().is_some_and(|trusted| trusted.contains(dir))
}

/// What git wants of a repository before it looks further, and a configuration, which it would do without.
fn has_its_shape(dir: &Path) -> bool {
    let head = fs::read_to_string(dir.join("HEAD")).unwrap_or_default();
    let points = head.strip_prefix("ref: ").is_some_and(|name| name.trim().starts_with("refs/"));
    let configured = fs::metadata(dir.join("config")).is_ok_and(|config| config.len() > 0);
    points && configured && dir.join("objects").is_dir() && dir.join("refs").is_dir()
}

fn git_takes_it(dir: &Path) -> Result<bool, GitError> {
    let listed = Call::at(dir).args(["for-each-ref", "--count=1"]).finish()?;
    Ok(listed.code == 0)
}

/// Makes the repository beside its place and moves it there whole and synced.
fn make(dir: &Path, user: &UserRepo) -> Result<(), GitError> {
    let parent = dir.parent().unwrap_or(Path::new("/"));
    // Where a project was used before, runs may miss what they had.
    let used_before = parent.is_dir();
    durable::create_folders(parent).map_err(GitError::io("cannot create", parent))?;
    let fresh = initialised(dir, user)?;
    if used_before {
        tracing::warn!(repository = %dir.display(), "Holdpoint's repository of a project was gone and is made anew");
        note_rebuilt(&fresh)?;
    }
    durable::sync_tree(&fresh).map_err(GitError::io("cannot sync", &fresh))?;
    durable::rename(&fresh, dir).map_err(GitError::io("cannot create", dir))
}

/// A new repository beside the place. What an earlier try left there is nobody's: `AT_WORK` is held.
fn initialised(dir: &Path, user: &UserRepo) -> Result<PathBuf, GitError> {
    let mut fresh = dir.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = PathBuf::from(fresh);
    match fs::remove_dir_all(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(GitError::io("cannot remove", &fresh)(error));
        }
        Ok(()) | Err(_) => {}
    }
    fs::create_dir(&fresh).map_err(GitError::io("cannot create", &fresh))?;
    Call::at(&fresh)
        .args(["init", "--bare", "--quiet", "--template="])
        .arg(format!("--object-format={}", user.object_format()))
        .run()?;
    Ok(fresh)
}

/// Gives a damaged repository a head and a configuration again, in place: its objects and references stay, and with the
/// user's they are what runs go on from. May be done twice.
fn mend(dir: &Path, user: &UserRepo) -> Result<(), GitError> {
    tracing::warn!(repository = %dir.display(), "Holdpoint's repository of a project is damaged and is rebuilt");
    let fresh = initialised(dir, user)?;
    let rebuild = || -> io::Result<()> {
        for folder in ["objects/info", "objects/pack", "refs/heads"] {
            durable::create_folders(&dir.join(folder))?;
        }
        for name in ["HEAD", "config"] {
            fs::File::open(fresh.join(name))?.sync_all()?;
            durable::rename(&fresh.join(name), &dir.join(name))?;
        }
        fs::remove_dir_all(&fresh)
    };
    rebuild().map_err(GitError::io("cannot rebuild", dir))?;
    note_rebuilt(dir)?;
    if git_takes_it(dir)? {
        return Ok(());
    }
    // Only the list of packed references is left to be unreadable; runs find their commits by their logs.
    let packed = dir.join("packed-refs");
    durable::rename(&packed, &dir.join("packed-refs.damaged")).map_err(GitError::io("cannot set aside", &packed))?;
    match git_takes_it(dir)? {
        true => Ok(()),
        false => Err(GitError::Damaged(dir.to_owned())),
    }
}

/// Takes away references and objects of which a power cut left the name and not the content. Git would take an empty
/// object for the real one and never write it again.
fn remove_debris(dir: &Path) -> io::Result<usize> {
    let _alone = locks::alone();
    let mut removed = 0;
    for path in files_below(&dir.join("refs"))? {
        if !locks::is_lock(&path) && !names_something(&fs::read(&path)?) {
            fs::remove_file(&path)?;
            removed += 1;
        }
    }
    for folder in folders_in(&dir.join("objects"))? {
        for path in files_in(&folder)? {
            if is_object_file(&path) && fs::metadata(&path)?.len() == 0 {
                fs::remove_file(&path)?;
                removed += 1;
            }
        }
    }
    if removed > 0 {
        tracing::warn!(repository = %dir.display(), removed, "a power cut left empty files in Holdpoint's repository");
    }
    Ok(removed)
}

fn names_something(reference: &[u8]) -> bool {
    let text = String::from_utf8_lossy(reference);
    text.starts_with("ref: ") || is_object_id(text.trim_end())
}

/// Loose objects, packs and their indexes; not the temporary files of a git at work.
fn is_object_file(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.starts_with("pack-") || (name.len() >= 38 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

pub(crate) fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = files_in(folder)?;
    for below in folders_in(folder)? {
        found.extend(files_below(&below)?);
    }
    Ok(found)
}

fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    entries(folder, fs::FileType::is_file)
}

fn folders_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    entries(folder, fs::FileType::is_dir)
}

/// A folder that is not there has no entries.
pub(crate) fn entries(folder: &Path, wanted: impl Fn(&fs::FileType) -> bool) -> io::Result<Vec<PathBuf>> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in listed {
        let entry = entry?;
        if wanted(&entry.file_type()?) {
            found.push(entry.path());
        }
    }
    Ok(found)
}
