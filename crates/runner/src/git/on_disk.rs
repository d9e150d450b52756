//! What is at a path of the user's checkout, seen without following a symlink.

use std::io;

use super::workspace::joined;
use crate::dir_fd::{Dir, Kind};

/// What is at a path of the checkout.
pub(crate) enum OnDisk {
    Nothing,
    File,
    /// A directory with these files below it.
    Directory(Vec<Vec<u8>>),
    /// This part of the path is not a directory.
    Behind(Vec<u8>),
}

pub(crate) fn on_disk(root: &Dir, path: &[u8]) -> io::Result<OnDisk> {
    let slashes = (0..path.len()).filter(|at| path[*at] == b'/');
    for parent in slashes.map(|at| &path[..at]) {
        match kind_at(root, parent)? {
            None => return Ok(OnDisk::Nothing),
            Some(Kind::Directory) => {}
            Some(_) => return Ok(OnDisk::Behind(parent.to_vec())),
        }
    }
    match kind_at(root, path)? {
        None => Ok(OnDisk::Nothing),
        Some(Kind::Directory) => {
            let mut files = Vec::new();
            if let Some((dir, name)) = root.parent_of(path)? {
                files_below(&dir.sub(name)?, path, &mut files)?;
            }
            Ok(OnDisk::Directory(files))
        }
        Some(_) => Ok(OnDisk::File),
    }
}

fn kind_at(root: &Dir, path: &[u8]) -> io::Result<Option<Kind>> {
    match root.parent_of(path)? {
        Some((dir, name)) => dir.kind(name),
        None => Ok(None),
    }
}

fn files_below(dir: &Dir, path: &[u8], files: &mut Vec<Vec<u8>>) -> io::Result<()> {
    for name in dir.names()? {
        let below = joined(path, &name);
        match dir.kind(&name)? {
            Some(Kind::Directory) => files_below(&dir.sub(&name)?, &below, files)?,
            Some(_) | None => files.push(below),
        }
    }
    Ok(())
}

/// Removes a file, and the directories that are empty without it, like git does.
pub(crate) fn delete(root: &Dir, path: &[u8]) -> io::Result<()> {
    if let Some((dir, name)) = root.parent_of(path)? {
        dir.remove(name)?;
    }
    let slashes = (0..path.len()).rev().filter(|at| path[*at] == b'/');
    for parent in slashes.map(|at| &path[..at]) {
        if let Some((dir, name)) = root.parent_of(parent)? {
            dir.remove_if_empty(name)?;
        }
    }
    Ok(())
}
