//! Directories by handle: every step is relative to an open directory and follows no symlink,
//! so that nothing an agent planted can lead out of its workspace.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fstat, mkdirat, openat, readlinkat, renameat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

pub(crate) struct Dir(OwnedFd);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File { executable: bool, size: u64 },
    Directory,
    Symlink,
    Special(&'static str),
}

/// Names of one directory that are held in memory; an agent can make as many as its disk has room for.
const MOST_NAMES: usize = 1_000_000;
/// Names that removal holds at once.
const REMOVED_AT_ONCE: usize = 10_000;

/// How deep removal goes before it moves a directory up, so that depth costs no handles.
const DEEP: usize = 32;

impl Dir {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::open(path, directory_flags(), Mode::empty())?;
        Ok(Self(fd))
    }

    pub(super) fn from_handle(handle: OwnedFd) -> Self {
        Self(handle)
    }

    /// Opens a sub-directory, giving its owner access if the mode took it away.
    pub(crate) fn sub(&self, name: &[u8]) -> io::Result<Self> {
        let open = || openat(&self.0, os(name), directory_flags(), Mode::empty());
        match open() {
            Err(Errno::ACCESS) => {
                self.permit(name, 0o700)?;
                Ok(Self(open()?))
            }
            other => Ok(Self(other?)),
        }
    }

    /// Opens a sub-directory, made anew if something else is in its place.
    pub(crate) fn make_sub(&self, name: &[u8]) -> io::Result<Self> {
        match self.kind(name)? {
            Some(Kind::Directory) => {}
            Some(_) => self.remove(name)?,
            None => {}
        }
        match mkdirat(&self.0, os(name), Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => self.sub(name),
            Err(error) => Err(error.into()),
        }
    }

    /// The directory that holds the last part of `path`, and that part. `None` when a part on
    /// the way is missing or not a real directory.
    pub(crate) fn parent_of<'p>(&self, path: &'p [u8]) -> io::Result<Option<(Self, &'p [u8])>> {
        let mut parts: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
        let last = parts.pop().unwrap_or_default();
        let mut dir = self.sub(b".")?;
        for part in parts {
            match dir.kind(part)? {
                Some(Kind::Directory) => dir = dir.sub(part)?,
                Some(_) | None => return Ok(None),
            }
        }
        Ok(Some((dir, last)))
    }

    /// Like `parent_of`, making what is missing and replacing what is in the way.
    pub(crate) fn make_parent_of<'p>(&self, path: &'p [u8]) -> io::Result<(Self, &'p [u8])> {
        let mut parts: Vec<&[u8]> = path.split(|b| *b == b'/').collect();
        let last = parts.pop().unwrap_or_default();
        let mut dir = self.sub(b".")?;
        for part in parts {
            dir = dir.make_sub(part)?;
        }
        Ok((dir, last))
    }

    /// Names in byte order, without `.` and `..`.
    pub(crate) fn names(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut names = self.some_names(MOST_NAMES + 1)?;
        if names.len() > MOST_NAMES {
            return Err(io::Error::other(format!("a directory has more than {MOST_NAMES} entries")));
        }
        names.sort();
        Ok(names)
    }

    /// So many names, in no order.
    pub(crate) fn some_names(&self, most: usize) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if names.len() >= most {
                break;
            }
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
        }
        Ok(names)
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    pub(crate) fn kind(&self, name: &[u8]) -> io::Result<Option<Kind>> {
        match statat(&self.0, os(name), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(kind_of(&stat))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The content of a regular file, at most `limit` bytes and one more.
    pub(crate) fn read(&self, name: &[u8], limit: u64) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = || openat(&self.0, os(name), flags, Mode::empty());
        let fd = match open() {
            Err(Errno::ACCESS) => {
                self.permit(name, 0o400)?;
                open()?
            }
            other => other?,
        };
        if FileType::from_raw_mode(fstat(&fd)?.st_mode) != FileType::RegularFile {
            return Err(io::Error::other("it is no longer a regular file"));
        }
        let mut bytes = Vec::new();
        File::from(fd).take(limit + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(readlinkat(&self.0, os(name), Vec::new())?.into_bytes())
    }

    /// A new file in place of whatever has this name. Never writes into an existing file: it
    /// may be linked from elsewhere.
    pub(crate) fn write(&self, name: &[u8], bytes: &[u8], mode: u32) -> io::Result<()> {
        self.create_new(name, mode)?.write_all(bytes)
    }

    /// The same, still empty.
    pub(super) fn create_new(&self, name: &[u8], mode: u32) -> io::Result<File> {
        self.remove(name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.0, os(name), flags, Mode::from_raw_mode(mode))?))
    }

    pub(crate) fn symlink(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        self.remove(name)?;
        Ok(symlinkat(os(target), &self.0, os(name))?)
    }

    /// Sets the mode of a regular file or directory, by handle.
    pub(crate) fn set_mode(&self, name: &[u8], mode: u32) -> io::Result<()> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.0, os(name), flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&fd)?.st_mode) == FileType::Symlink {
            return Err(io::Error::other("it is a symlink"));
        }
        // The path of the handle leads to exactly what was opened.
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        std::fs::set_permissions(path, Permissions::from_mode(mode))
    }

    fn permit(&self, name: &[u8], bits: u32) -> io::Result<()> {
        let mode = statat(&self.0, os(name), AtFlags::SYMLINK_NOFOLLOW)?.st_mode;
        self.set_mode(name, (mode & 0o7777) | bits)
    }

    /// Removes whatever has this name, with all that is below it. Nothing there is fine.
    pub(crate) fn remove(&self, name: &[u8]) -> io::Result<()> {
        match self.kind(name)? {
            None => return Ok(()),
            Some(Kind::Directory) => {}
            Some(_) => return self.unlink(name, AtFlags::empty()),
        }
        self.permit(name, 0o700)?;
        let top = self.sub(name)?;
        let mut moved_up = 0;
        loop {
            let names = top.some_names(REMOVED_AT_ONCE)?;
            if names.is_empty() {
                return self.unlink(name, AtFlags::REMOVEDIR);
            }
            for child in names {
                top.remove_below(&child, &top, &mut moved_up, 0)?;
            }
        }
    }

    fn remove_below(&self, name: &[u8], top: &Dir, moved_up: &mut u64, depth: usize) -> io::Result<()> {
        match self.kind(name)? {
            None => return Ok(()),
            Some(Kind::Directory) => self.permit(name, 0o700)?,
            Some(_) => return self.unlink(name, AtFlags::empty()),
        }
        if depth >= DEEP {
            return self.move_up(name, top, moved_up);
        }
        let sub = self.sub(name)?;
        loop {
            let names = sub.some_names(REMOVED_AT_ONCE)?;
            if names.is_empty() {
                return self.unlink(name, AtFlags::REMOVEDIR);
            }
            for child in names {
                sub.remove_below(&child, top, moved_up, depth + 1)?;
            }
        }
    }

    fn move_up(&self, name: &[u8], top: &Dir, moved_up: &mut u64) -> io::Result<()> {
        loop {
            *moved_up += 1;
            let free = format!(".removing-{moved_up}");
            match renameat(&self.0, os(name), &top.0, free.as_str()) {
                Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                other => return Ok(other?),
            }
        }
    }

    /// Removes a directory if nothing is in it.
    pub(crate) fn remove_if_empty(&self, name: &[u8]) -> io::Result<()> {
        match unlinkat(&self.0, os(name), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn unlink(&self, name: &[u8], flags: AtFlags) -> io::Result<()> {
        match unlinkat(&self.0, os(name), flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

pub(super) fn os(name: &[u8]) -> &OsStr {
    OsStr::from_bytes(name)
}

pub(super) fn kind_of(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            Kind::File { executable: stat.st_mode & 0o100 != 0, size: u64::try_from(stat.st_size).unwrap_or(u64::MAX) }
        }
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        FileType::Socket => Kind::Special("socket"),
        FileType::Fifo => Kind::Special("named pipe"),
        FileType::BlockDevice | FileType::CharacterDevice => Kind::Special("device"),
        FileType::Unknown => Kind::Special("file of unknown kind"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn removal_unlinks_symlinks_and_leaves_their_targets() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("outside/deep")).unwrap();
        fs::write(dir.path().join("outside/deep/keep"), "x").unwrap();
        fs::create_dir_all(dir.path().join("in/sub")).unwrap();
        std::os::unix::fs::symlink("../../outside", dir.path().join("in/sub/link")).unwrap();
        Dir::open(dir.path()).unwrap().remove(b"in").unwrap();
        assert!(!dir.path().join("in").exists());
        assert!(dir.path().join("outside/deep/keep").exists());
    }

    #[test]
    fn a_tree_deeper_than_the_handle_limit_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let top = Dir::open(root.path()).unwrap();
        let mut dir = top.make_sub(b"deep").unwrap();
        for _ in 0..1200 {
            dir = dir.make_sub(b"d").unwrap();
        }
        dir.write(b"file", b"x", 0o644).unwrap();
        top.remove(b"deep").unwrap();
        assert!(top.names().unwrap().is_empty());
    }

    #[test]
    fn a_directory_without_permissions_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("locked/inner");
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("file"), "x").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        Dir::open(root.path()).unwrap().remove(b"locked").unwrap();
        assert!(!root.path().join("locked").exists());
    }

    #[test]
    fn a_linked_directory_is_not_entered() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.path().join("link")).unwrap();
        let top = Dir::open(root.path()).unwrap();
        assert!(top.sub(b"link").is_err());
        assert!(top.parent_of(b"link/file").unwrap().is_none());
        let (dir, name) = top.make_parent_of(b"link/file").unwrap();
        dir.write(name, b"x", 0o644).unwrap();
        assert!(!root.path().join("real/file").exists());
    }
}
