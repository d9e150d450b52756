//! Every path a model names is opened beneath the workspace, by the kernel's own rules.
//! Never follows a way out, and never writes through a symbolic link or into `.git`.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Why a path could not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error("path leaves the workspace: `{0}`; use a path beneath the workspace")]
    Leaves(String),
    #[error("`{0}` does not exist in the workspace")]
    Missing(String),
    #[error("`{0}` is a directory; use list_directory")]
    IsDirectory(String),
    #[error("`{0}` is not a directory")]
    NotADirectory(String),
    #[error("`{0}` is not a regular file")]
    NotAFile(String),
    #[error("`{0}` is or goes through a symbolic link; write to the real path instead")]
    Symlink(String),
    #[error("`{0}` is inside `.git`; only git itself may write there")]
    GitInside(String),
    #[error("`{path}`: {source}")]
    Io { path: String, source: io::Error },
}

/// The folder an agent works in, held open.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    fd: OwnedFd,
    /// Writes in one folder share the name of their temporary file.
    writing: Mutex<()>,
}

const READ: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);
const WRITE: ResolveFlags = READ.union(ResolveFlags::NO_SYMLINKS);

impl Workspace {
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let fd = rustix::fs::open(root, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { root: root.to_owned(), fd, writing: Mutex::new(()) })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The path as the model means it: beneath the workspace, without `.` and `..`.
    pub(crate) fn relative(&self, path: &str) -> Result<PathBuf, PathError> {
        let given = Path::new(path);
        let inside = if given.is_absolute() {
            given.strip_prefix(&self.root).map_err(|_| PathError::Leaves(path.to_owned()))?
        } else {
            given
        };
        let mut clean = PathBuf::new();
        for component in inside.components() {
            match component {
                Component::Normal(name) => clean.push(name),
                Component::CurDir => {}
                Component::ParentDir if clean.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(PathError::Leaves(path.to_owned()));
                }
            }
        }
        if clean.as_os_str().is_empty() { Ok(PathBuf::from(".")) } else { Ok(clean) }
    }

    /// Opens a regular file for reading.
    pub(crate) fn open_file(&self, path: &str) -> Result<File, PathError> {
        // Without NONBLOCK a planted FIFO would hold the agent for ever.
        let fd = self.open_at(path, OFlags::RDONLY | OFlags::NONBLOCK, READ)?;
        let stat = rustix::fs::fstat(&fd).map_err(|errno| io_error(path, errno))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(File::from(fd)),
            FileType::Directory => Err(PathError::IsDirectory(path.to_owned())),
            _ => Err(PathError::NotAFile(path.to_owned())),
        }
    }

    /// Opens a directory for listing.
    pub(crate) fn open_directory(&self, path: &str) -> Result<OwnedFd, PathError> {
        self.open_at(path, OFlags::RDONLY | OFlags::DIRECTORY, READ)
    }

    /// Whether the path is there, and what it is.
    pub(crate) fn kind(&self, path: &str) -> Result<FileType, PathError> {
        let fd = self.open_at(path, OFlags::PATH, READ)?;
        let stat = rustix::fs::fstat(&fd).map_err(|errno| io_error(path, errno))?;
        Ok(FileType::from_raw_mode(stat.st_mode))
    }

    /// Replaces or creates a file in one step, so that no reader and no crash sees half of it.
    /// Keeps the mode of a file that was there.
    pub(crate) fn write(&self, path: &str, content: &[u8]) -> Result<(), PathError> {
        let clean = self.outside_git(path)?;
        let Some(name) = clean.file_name().filter(|_| clean != Path::new(".")) else {
            return Err(PathError::IsDirectory(path.to_owned()));
        };
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let parent = self.create_parents(clean.parent().unwrap_or(Path::new("")))?;
        let mode = match rustix::fs::statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Some(Mode::from_raw_mode(stat.st_mode)),
                FileType::Symlink => return Err(PathError::Symlink(path.to_owned())),
                FileType::Directory => return Err(PathError::IsDirectory(path.to_owned())),
                _ => return Err(PathError::NotAFile(path.to_owned())),
            },
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(io_error(path, errno)),
        };
        publish(&parent, name, mode, content).map_err(|source| PathError::Io { path: path.to_owned(), source })
    }

    /// Whether a file that is there could be replaced: not through links, not in `.git`.
    pub(crate) fn may_write(&self, path: &str) -> Result<(), PathError> {
        self.outside_git(path)?;
        self.open_at(path, OFlags::PATH, WRITE).map(drop)
    }

    fn outside_git(&self, path: &str) -> Result<PathBuf, PathError> {
        let clean = self.relative(path)?;
        let is_git = |name: &std::ffi::OsStr| name.eq_ignore_ascii_case(".git");
        match clean.components().next().is_some_and(|first| is_git(first.as_os_str())) {
            true => Err(PathError::GitInside(path.to_owned())),
            false => Ok(clean),
        }
    }

    fn create_parents(&self, parent: &Path) -> Result<OwnedFd, PathError> {
        let mut made = PathBuf::from(".");
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let mut fd = self.open_at(".", flags, WRITE)?;
        for component in parent.components() {
            made.push(component);
            let shown = made.strip_prefix(".").unwrap_or(&made).display().to_string();
            match rustix::fs::mkdirat(&fd, component.as_os_str(), Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(io_error(&shown, errno)),
            }
            fd = self.open_at(&shown, flags, WRITE)?;
        }
        Ok(fd)
    }

    fn open_at(&self, path: &str, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd, PathError> {
        let clean = self.relative(path)?;
        // The kernel answers AGAIN when a rename somewhere raced with the check for `..`.
        for _ in 0..16 {
            match rustix::fs::openat2(&self.fd, &clean, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
                Err(Errno::AGAIN) => {}
                Ok(fd) => return Ok(fd),
                Err(errno) => return Err(refusal(path, errno, resolve)),
            }
        }
        Err(io_error(path, Errno::AGAIN))
    }
}

fn publish(parent: &OwnedFd, name: &std::ffi::OsStr, mode: Option<Mode>, content: &[u8]) -> io::Result<()> {
    // One fixed name: after a kill in here the unanswered call runs again in the same folder and clears it away.
    let temporary = ".holdpoint-write.tmp";
    match rustix::fs::unlinkat(parent, temporary, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(parent, temporary, flags, Mode::from_raw_mode(0o666))?);
    let written = (|| {
        file.write_all(content)?;
        // Without this a power cut after the rename could leave the new name with nothing in it.
        file.sync_data()?;
        if let Some(mode) = mode {
            rustix::fs::fchmod(&file, mode)?;
        }
        rustix::fs::renameat(parent, temporary, parent, name)?;
        Ok(())
    })();
    if written.is_err() {
        // The first error is the one to tell; the leftover is removed by the next write.
        let _ = rustix::fs::unlinkat(parent, temporary, AtFlags::empty());
    }
    written
}

fn refusal(path: &str, errno: Errno, resolve: ResolveFlags) -> PathError {
    let path = path.to_owned();
    match errno {
        Errno::XDEV => PathError::Leaves(path),
        Errno::NOENT => PathError::Missing(path),
        Errno::LOOP if resolve.contains(ResolveFlags::NO_SYMLINKS) => PathError::Symlink(path),
        // With NO_SYMLINKS and O_DIRECTORY a link in last place is reported as "not a directory".
        Errno::NOTDIR => PathError::NotADirectory(path),
        other => io_error(&path, other),
    }
}

fn io_error(path: &str, errno: Errno) -> PathError {
    PathError::Io { path: path.to_owned(), source: errno.into() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn workspace() -> (tempfile::TempDir, Workspace) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("work");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(folder.path().join("secret"), "s").unwrap();
        std::fs::write(root.join("a.txt"), "a").unwrap();
        let workspace = Workspace::open(&root).unwrap();
        (folder, workspace)
    }

    #[test]
    fn no_spelling_of_a_path_leaves_the_workspace() {
        let (folder, workspace) = workspace();
        symlink("../secret", workspace.root().join("out")).unwrap();
        symlink("..", workspace.root().join("up")).unwrap();
        symlink("/proc/self/root", workspace.root().join("magic")).unwrap();
        let absolute = folder.path().join("secret").display().to_string();
        for path in ["../secret", "x/../../secret", "out", "up/secret", "magic/etc/passwd", "/etc/passwd", &absolute] {
            let refused = workspace.open_file(path).unwrap_err().to_string();
            assert!(refused.contains("leaves the workspace"), "{path}: {refused}");
        }
    }

    #[test]
    fn links_that_stay_inside_and_absolute_paths_of_the_workspace_are_read() {
        let (_folder, workspace) = workspace();
        symlink("a.txt", workspace.root().join("link")).unwrap();
        let absolute = workspace.root().join("a.txt").display().to_string();
        for path in ["a.txt", "./x/../a.txt", "link", &absolute] {
            assert!(workspace.open_file(path).is_ok(), "{path}");
        }
    }

    #[test]
    fn a_write_goes_neither_through_links_nor_into_git_nor_out() {
        let (folder, workspace) = workspace();
        symlink("../secret", workspace.root().join("out")).unwrap();
        symlink("..", workspace.root().join("up")).unwrap();
        std::fs::create_dir(workspace.root().join(".git")).unwrap();
        symlink(".git", workspace.root().join("dotgit")).unwrap();
        for path in ["out", "up/secret", "../secret", ".git/config", ".GIT/x", "x/../.git/y", "dotgit/hooks/z", "."] {
            assert!(workspace.write(path, b"planted").is_err(), "{path}");
        }
        assert_eq!(std::fs::read(folder.path().join("secret")).unwrap(), b"s");
        assert_eq!(std::fs::read_dir(workspace.root().join(".git")).unwrap().count(), 0);
    }

    #[test]
    fn a_write_makes_folders_keeps_the_mode_and_leaves_no_temporary_file() {
        let (_folder, workspace) = workspace();
        let script = workspace.root().join("a.txt");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o750)).unwrap();
        workspace.write("a.txt", b"new").unwrap();
        workspace.write("deep/er/b.txt", b"b").unwrap();
        assert_eq!(std::fs::read(&script).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&script).unwrap().permissions().mode() & 0o777, 0o750);
        assert_eq!(std::fs::read(workspace.root().join("deep/er/b.txt")).unwrap(), b"b");
        assert_eq!(std::fs::read_dir(workspace.root()).unwrap().count(), 2);
    }

    #[test]
    fn a_fifo_is_refused_and_does_not_block() {
        let (_folder, workspace) = workspace();
        rustix::fs::mkfifoat(workspace.fd_for_listing(), "pipe", Mode::from_raw_mode(0o600)).unwrap();
        assert!(matches!(workspace.open_file("pipe"), Err(PathError::NotAFile(_))));
        assert!(matches!(workspace.open_file("nothing"), Err(PathError::Missing(_))));
    }

    impl Workspace {
        fn fd_for_listing(&self) -> OwnedFd {
            self.open_directory(".").unwrap()
        }
    }
}
