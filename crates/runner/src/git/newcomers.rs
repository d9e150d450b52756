//! Content that came from outside our own walk, held to the rules of `harvest`: what is new
//! between two trees must be something harvest would have taken. What was there before stays.
//! Reads object headers and link targets only, never the content of files.

use std::collections::BTreeSet;

use super::harvest::{HarvestRefusal, MAX_FILE_BYTES, MAX_NEW_FILES};
use super::names::{link_stays_inside, path_refusal, shown};
use super::objects::{Blobs, Entry, EntryMode, Files};
use super::walk::MAX_DEPTH;
use super::{PrivateRepo, TreeIsh};

/// Refuses the first thing in `after` that harvest would not have added to `before`.
pub(crate) fn refuse_newcomers(
    private: &PrivateRepo,
    before: &impl TreeIsh,
    after: &impl TreeIsh,
) -> Result<(), HarvestRefusal> {
    let (before, after) = (private.files(before)?, private.files(after)?);
    let mut blobs = Blobs::of(private)?;
    let mut new_files = 0;
    for (path, entry) in &after.0 {
        let old = before.get(path);
        if old == Some(entry) {
            continue;
        }
        if old.is_none() {
            new_files += 1;
        }
        if new_files > MAX_NEW_FILES {
            return Err(HarvestRefusal::TooManyFiles { path: shown(path), limit: MAX_NEW_FILES });
        }
        place(path)?;
        thing(&mut blobs, path, entry, old)?;
    }
    blobs.end()?;
    refuse_bare_repositories(&before, &after)
}

fn place(path: &[u8]) -> Result<(), HarvestRefusal> {
    let depth = path.iter().filter(|b| **b == b'/').count();
    if let Some(reason) = path_refusal(path) {
        return Err(HarvestRefusal::BadName { path: shown(path), reason });
    }
    match depth > MAX_DEPTH {
        true => Err(HarvestRefusal::TooDeep { path: shown(path), limit: MAX_DEPTH }),
        false => Ok(()),
    }
}

fn thing(blobs: &mut Blobs, path: &[u8], entry: &Entry, old: Option<&Entry>) -> Result<(), HarvestRefusal> {
    match entry.mode {
        EntryMode::File | EntryMode::Executable => {
            // A large file that was there before may stay, if it is not made larger still.
            let limit = MAX_FILE_BYTES.max(old.map_or(0, |old| old.size));
            match entry.size > limit {
                true => Err(HarvestRefusal::TooLarge { path: shown(path), size: entry.size, limit: MAX_FILE_BYTES }),
                false => Ok(()),
            }
        }
        EntryMode::Symlink => link(blobs, path, entry),
        // Another commit of a submodule that was there is a number and nothing more.
        EntryMode::Gitlink if old.is_some_and(|old| old.mode == EntryMode::Gitlink) => Ok(()),
        EntryMode::Gitlink => Err(HarvestRefusal::NestedRepository { path: shown(path) }),
    }
}

fn link(blobs: &mut Blobs, path: &[u8], entry: &Entry) -> Result<(), HarvestRefusal> {
    let name = path.rsplit(|b| *b == b'/').next().unwrap_or(path);
    if name.eq_ignore_ascii_case(b".gitmodules") {
        return Err(HarvestRefusal::BadName { path: shown(path), reason: "git refuses it as a symlink" });
    }
    // Larger than any target a link can have: not read.
    if entry.size > 4095 {
        return Err(HarvestRefusal::SymlinkEscapes { path: shown(path), target: "…".to_owned() });
    }
    let target = blobs.read(&entry.id)?;
    match link_stays_inside(path, &target) {
        true => Ok(()),
        false => Err(HarvestRefusal::SymlinkEscapes { path: shown(path), target: shown(&target) }),
    }
}

/// A directory with `HEAD`, `objects/` and `refs/` is a repository to git.
fn refuse_bare_repositories(before: &Files, after: &Files) -> Result<(), HarvestRefusal> {
    let heads: BTreeSet<&[u8]> = after.0.keys().filter_map(|path| path.strip_suffix(b"/HEAD")).collect();
    let bare = heads.into_iter().find(|dir| {
        let inside = |name: &str| [dir, name.as_bytes()].concat();
        before.get(&inside("/HEAD")).is_none()
            && after.has_directory(&inside("/objects"))
            && after.has_directory(&inside("/refs"))
    });
    match bare {
        Some(dir) => Err(HarvestRefusal::BareRepository { path: shown(dir) }),
        None => Ok(()),
    }
}
