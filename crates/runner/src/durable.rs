//! Files that are whole or absent after a power cut: written beside their place, synced, renamed, and the folder synced.
//! Every rename of this crate outside the user's own folders goes through here.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Writes `bytes` to `path` by way of `temporary`, which must be on the same file system.
pub(crate) fn replace(temporary: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    rename(temporary, path)
}

/// Renames what is synced already, so that the new name is there after a power cut.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    match to.parent() {
        Some(folder) => sync_folder(folder),
        None => Ok(()),
    }
}

/// Makes names in a folder durable: of files made, renamed or removed there.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder)?.sync_all() {
        // How a file system says that it has no such thing as syncing a folder.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Makes a folder with all above it, durably, for nobody but this user.
pub(crate) fn create_folders(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let Some(parent) = folder.parent() else { return Ok(()) };
    create_folders(parent)?;
    match fs::DirBuilder::new().mode(0o700).create(folder) {
        // Somebody else was quicker, and may not have synced yet.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => sync_folder(parent),
    }
}

/// Syncs every file and folder of a tree that nobody writes to.
pub(crate) fn sync_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_tree(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    sync_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_its_temporary_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        create_folders(&deep).unwrap();
        create_folders(&deep).unwrap();
        let (temporary, path) = (deep.join("x.new"), deep.join("x"));
        for text in ["one", "two"] {
            replace(&temporary, &path, text.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
            assert!(!temporary.exists());
        }
        sync_tree(folder.path()).unwrap();
    }
}
