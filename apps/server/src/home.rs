//! The data directory: one server at a time, tokens only their owner can read, and where the server is.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use wire::ServerInfo;

use crate::people::new_secret;

/// A data directory that this process alone serves.
pub struct Home {
    path: PathBuf,
    /// Held for as long as the process lives; the kernel gives it back after a kill.
    _lock: File,
}

/// Why the data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// A file or folder refuses.
    #[error("cannot use `{}`: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another server has it.
    #[error("a server for this data directory runs already")]
    Taken {
        /// Where it is, once it has said so.
        server: Option<ServerInfo>,
    },
}

impl Home {
    /// Makes the directory if it is missing, and takes the lock.
    pub fn take(path: &Path) -> Result<Self, HomeError> {
        let at = |source| HomeError::File { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(at)?;
        let mode = std::fs::metadata(path).map_err(at)?.permissions().mode();
        if mode & 0o077 != 0 {
            std::fs::set_permissions(path, Permissions::from_mode(0o700)).map_err(at)?;
        }
        let lock_path = path.join("server.lock");
        let lock = open_private(&lock_path, OpenOptions::new().create(true).truncate(false).write(true))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(Errno::WOULDBLOCK) => Err(HomeError::Taken { server: read_server(path) }),
            Err(errno) => Err(HomeError::File { path: lock_path, source: errno.into() }),
        }
    }

    /// Where the database is.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.path.join("holdpoint.db")
    }

    /// Where users and logins are kept.
    #[must_use]
    pub fn people(&self) -> PathBuf {
        self.path.join("people.json")
    }

    /// Where conversations are kept.
    #[must_use]
    pub fn conversations(&self) -> PathBuf {
        self.path.join("conversations.db")
    }

    /// Where answers to keyed requests and notices are kept.
    #[must_use]
    pub fn post(&self) -> PathBuf {
        self.path.join("post.db")
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The token file, made if there is no usable one. A token that others could read is replaced.
    pub fn token(&self) -> Result<PathBuf, HomeError> {
        self.token_in("token")
    }

    /// The file of the token that decides nothing, likewise.
    pub fn agent_token(&self) -> Result<PathBuf, HomeError> {
        self.token_in("mcp-token")
    }

    fn token_in(&self, name: &str) -> Result<PathBuf, HomeError> {
        let path = self.path.join(name);
        if !usable_token(&path)? {
            replace(&path, new_secret().as_bytes())?;
        }
        Ok(path)
    }

    /// Says where the server is.
    pub fn announce(&self, info: &ServerInfo) -> Result<(), HomeError> {
        let text = serde_json::to_string(info).expect("three plain fields always serialise");
        replace(&self.path.join("server.json"), text.as_bytes())
    }

    /// Takes the word back, unless it is another's by now.
    pub fn withdraw(&self, info: &ServerInfo) {
        if read_server(&self.path).as_ref() == Some(info) {
            // A leftover file is harmless: the lock, not the file, says whether a server runs.
            let _ = std::fs::remove_file(self.path.join("server.json"));
        }
    }
}

/// Replaces a file of the data directory: a crash leaves the old one or the new one.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), HomeError> {
    let new = path.with_extension("new");
    let at = |source| HomeError::File { path: path.to_owned(), source };
    let mut file = open_private(&new, OpenOptions::new().create(true).truncate(true).write(true))?;
    file.set_permissions(Permissions::from_mode(0o600)).map_err(at)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(at)?;
    std::fs::rename(&new, path).map_err(at)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(at)
}

/// What `server.json` says, if it can be read.
fn read_server(home: &Path) -> Option<ServerInfo> {
    serde_json::from_slice(&std::fs::read(home.join("server.json")).ok()?).ok()
}

pub(crate) fn open_private(path: &Path, options: &mut OpenOptions) -> Result<File, HomeError> {
    let opened = options.mode(0o600).custom_flags(nofollow()).open(path);
    opened.map_err(|source| HomeError::File { path: path.to_owned(), source })
}

fn nofollow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()
}

fn usable_token(path: &Path) -> Result<bool, HomeError> {
    let at = |source| HomeError::File { path: path.to_owned(), source };
    let file = match OpenOptions::new().read(true).custom_flags(nofollow()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(at(error)),
    };
    if file.metadata().map_err(at)?.permissions().mode() & 0o077 != 0 {
        tracing::warn!("the token could be read by other users; it is replaced");
        return Ok(false);
    }
    let mut text = String::new();
    let read = file.take(128).read_to_string(&mut text);
    Ok(read.is_ok() && text.trim_end().len() == 64 && text.trim_end().bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_server_is_told_where_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home");
        let first = Home::take(&path).unwrap();
        let info = ServerInfo { url: "http://127.0.0.1:1".to_owned(), pid: 7, version: "1".to_owned() };
        first.announce(&info).unwrap();
        let Err(HomeError::Taken { server }) = Home::take(&path) else { panic!("taken twice") };
        assert_eq!(server, Some(info.clone()));
        first.withdraw(&info);
        assert!(!path.join("server.json").exists());
    }

    #[test]
    fn another_servers_word_is_not_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::take(folder.path()).unwrap();
        let other = ServerInfo { url: "http://127.0.0.1:2".to_owned(), pid: 8, version: "1".to_owned() };
        home.announce(&other).unwrap();
        home.withdraw(&ServerInfo { pid: 9, ..other });
        assert!(folder.path().join("server.json").exists());
    }

    #[test]
    fn the_token_is_made_once_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::take(&folder.path().join("deep/home")).unwrap();
        let path = home.token().unwrap();
        let first = std::fs::read_to_string(&path).unwrap();
        assert_eq!(first.len(), 64);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(home.path()).unwrap().permissions().mode() & 0o777, 0o700);
        home.token().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
        let agents = home.agent_token().unwrap();
        assert_ne!(std::fs::read_to_string(&agents).unwrap(), first);
        assert_eq!(std::fs::metadata(&agents).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_token_that_others_could_read_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::take(folder.path()).unwrap();
        let path = home.token().unwrap();
        let first = std::fs::read_to_string(&path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        home.token().unwrap();
        assert_ne!(std::fs::read_to_string(&path).unwrap(), first);
    }

    #[test]
    fn a_data_directory_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let Err(error) = Home::take(&file.join("home")) else { panic!("made a folder in a file") };
        assert!(error.to_string().contains("file/home"), "{error}");
    }
}
