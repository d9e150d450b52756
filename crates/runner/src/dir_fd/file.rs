//! Files below a directory handle, where an agent may have put anything under any name: no symlink is followed on the
//! way, only regular files are opened, opening never waits, and every read has a limit.

use std::fs::{File, FileTimes};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2, renameat};
use rustix::io::Errno;

use super::dir::{Dir, Kind, kind_of, os};

/// How often an open is tried again that the kernel gave up because somebody renames beside it.
const RACES: usize = 16;

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("it is not there")]
    Missing,
    #[error("it is a {0}, not a regular file")]
    NotRegular(&'static str),
    #[error("it has more than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error(transparent)]
    Io(io::Error),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::Io(error) }
    }
}

impl From<Errno> for FileError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::Missing,
            Errno::LOOP | Errno::XDEV => Self::NotRegular("symlink"),
            Errno::ISDIR => Self::NotRegular("directory"),
            // A pipe without a reader, or a socket.
            Errno::NXIO => Self::NotRegular("special file"),
            other => Self::Io(other.into()),
        }
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io(error) => error,
            FileError::Missing => io::ErrorKind::NotFound.into(),
            error @ (FileError::NotRegular(_) | FileError::TooLarge { .. }) => {
                Self::new(io::ErrorKind::InvalidInput, error)
            }
        }
    }
}

impl Dir {
    /// Opens a directory of ours, made with its parents where they are missing. An agent can write in it, but not in
    /// the folder that holds it.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Self::open(path)
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self, path: impl AsRef<[u8]>) -> Result<File, FileError> {
        self.open_regular(path.as_ref(), OFlags::RDONLY)
    }

    /// The whole content of a regular file.
    pub(crate) fn read_file(&self, path: impl AsRef<[u8]>, limit: u64) -> Result<Vec<u8>, FileError> {
        let file = self.open_file(path)?;
        // A sparse file of any size takes no disk, so its length is looked at before its content.
        if file.metadata()?.len() > limit {
            return Err(FileError::TooLarge { limit });
        }
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > limit {
            true => Err(FileError::TooLarge { limit }),
            false => Ok(bytes),
        }
    }

    /// The first bytes of a regular file.
    pub(crate) fn read_start(&self, path: impl AsRef<[u8]>, most: u64) -> Result<Vec<u8>, FileError> {
        let mut bytes = Vec::new();
        self.open_file(path)?.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The last bytes of a regular file.
    pub(crate) fn read_end(&self, path: impl AsRef<[u8]>, most: u64) -> Result<Vec<u8>, FileError> {
        let mut file = self.open_file(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Appends to a regular file that has no second name, and syncs it. Creates none.
    pub(crate) fn append(&self, path: impl AsRef<[u8]>, bytes: &[u8]) -> Result<(), FileError> {
        let mut file = self.open_regular(path.as_ref(), OFlags::WRONLY | OFlags::APPEND)?;
        if file.metadata()?.nlink() != 1 {
            return Err(FileError::NotRegular("file with several names"));
        }
        file.write_all(bytes)?;
        Ok(file.sync_all()?)
    }

    /// Writes a new file in place of whatever has this name, and syncs it.
    pub(crate) fn write_synced(&self, name: &[u8], bytes: &[u8], mode: u32) -> io::Result<()> {
        let mut file = self.create_new(name, mode)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Copies a file in under a temporary name and renames it, so that a crash leaves the old one or the new one. Keeps
    /// the time of its last change.
    pub(crate) fn copy_in(&self, mut from: &File, name: &[u8], temporary: &[u8]) -> io::Result<()> {
        let copied = (|| {
            let mut file = self.create_new(temporary, 0o600)?;
            io::copy(&mut from, &mut file)?;
            file.set_times(FileTimes::new().set_modified(from.metadata()?.modified()?))?;
            file.sync_all()?;
            self.rename(temporary, self, name)
        })();
        if copied.is_err() {
            // The first error is the one to tell.
            let _ = self.remove(temporary);
        }
        copied
    }

    /// Renames, so that the new name is there after a power cut; a link that has it is replaced, a directory is not.
    pub(crate) fn rename(&self, name: &[u8], to: &Dir, new: &[u8]) -> io::Result<()> {
        renameat(self.fd(), os(name), to.fd(), os(new))?;
        match rustix::fs::fsync(to.fd()) {
            // How a file system says that it has no such thing as syncing a folder.
            Err(rustix::io::Errno::INVAL) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn open_regular(&self, path: &[u8], access: OFlags) -> Result<File, FileError> {
        let file = File::from(self.open_beneath(path, access)?);
        match kind_of(&rustix::fs::fstat(&file)?) {
            Kind::File { .. } => Ok(file),
            Kind::Directory => Err(FileError::NotRegular("directory")),
            Kind::Symlink => Err(FileError::NotRegular("symlink")),
            Kind::Special(what) => Err(FileError::NotRegular(what)),
        }
    }

    fn open_beneath(&self, path: &[u8], access: OFlags) -> Result<rustix::fd::OwnedFd, FileError> {
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..RACES {
            match openat2(self.fd(), os(path), flags, Mode::empty(), resolve) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                // Before Linux 5.6, or where a filter does not know it: the same, step by step.
                Err(Errno::NOSYS) => {
                    let Some((parent, name)) = self.parent_of(path)? else { return Err(FileError::Missing) };
                    return Ok(rustix::fs::openat(parent.fd(), os(name), flags, Mode::empty())?);
                }
                opened => return Ok(opened?),
            }
        }
        Err(FileError::Io(Errno::AGAIN.into()))
    }
}

/// A file of the user's own, which no agent can write: links are followed.
pub(crate) fn read_trusted(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(FileError::NotRegular("directory or special file"));
    }
    if metadata.len() > limit {
        return Err(FileError::TooLarge { limit });
    }
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
