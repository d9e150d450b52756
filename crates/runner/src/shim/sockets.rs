//! Unix sockets at paths of any length. The kernel takes at most 107 bytes, so the directory is
//! opened first and the name is reached through it.

use std::{
    fs, io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};

/// Listens at `path`, replacing a socket that an earlier process left there.
pub(crate) fn listen(path: &Path) -> io::Result<UnixListener> {
    let (_directory, short) = shorten(path)?;
    match fs::remove_file(&short) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(&short)?;
    // The directory is private already; this says the same to whoever looks.
    fs::set_permissions(&short, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to the socket at `path`.
pub(crate) fn connect(path: &Path) -> io::Result<UnixStream> {
    let (_directory, short) = shorten(path)?;
    UnixStream::connect(short)
}

/// The short path is good for as long as the descriptor is held.
pub(crate) fn shorten(path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
    let incomplete = || io::Error::from(io::ErrorKind::InvalidInput);
    let directory = path.parent().ok_or_else(incomplete)?;
    let name = path.file_name().ok_or_else(incomplete)?;
    let opened = rustix::fs::open(directory, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let short = Path::new("/proc/self/fd").join(opened.as_raw_fd().to_string()).join(name);
    Ok((opened, short))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_can_live_at_a_path_longer_than_the_kernel_takes() {
        let root = tempfile::tempdir().unwrap();
        let deep = root.path().join("d".repeat(120));
        fs::create_dir(&deep).unwrap();
        let path = deep.join("control.sock");
        drop(listen(&path).unwrap());
        let _listener = listen(&path).unwrap();
        connect(&path).unwrap();
    }
}
