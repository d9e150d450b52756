//! The spool directory of one attempt: its files, how they are published, and what they say.
//! A reader never sees half a record: files appear by rename, streams grow by whole lines.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::dir_fd::{Dir, FileError};
use crate::durable;
use crate::sandbox::{GroupLimits, Tier};

/// Held from before the launch until the shim's end.
pub const LOCK: &str = "shim.lock";
/// Written before the agent is started.
pub const MARKER: &str = "shim.json";
/// Standard output of the agent, line by line.
pub const OUTPUT: &str = "output.jsonl";
/// Standard error of the agent: its beginning and its end.
pub const ERRORS: &str = "stderr.log";
/// Model calls, written by the broker.
pub const CALLS: &str = "calls.jsonl";
/// What the agent's host handed in, as it was said to the broker; no process of the sandbox can write it.
pub const HANDED_IN: &str = "handed-in.json";
/// How the attempt ended.
pub const EXIT: &str = "exit.json";
/// Where the server listens to the shim.
pub const CONTROL: &str = "control.sock";
/// A request to stop that survives everything.
pub const STOP: &str = "stop";
/// What the shim itself had to complain about.
pub const LOG: &str = "shim.log";
/// Directory of the broker's socket, the only part of the spool an agent sees.
pub const DOOR: &str = "door";

/// Bytes of what is handed in; the broker takes no more.
const MOST_HANDED_IN: u64 = 16 << 20;

/// The spool cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// An input or output error.
    #[error("the spool file `{}` cannot be used", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A published file is not what was published.
    #[error("the spool file `{}` is damaged", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

/// Says that an agent may have been started, by whom and how it is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShimMarker {
    /// Process id of the shim.
    pub pid: i32,
    /// Its start time in ticks since boot.
    pub start_time: u64,
    /// The boot it belongs to.
    pub boot_id: String,
    /// The tier in use.
    pub tier: Tier,
    /// When it was written.
    pub started_at: Timestamp,
    /// Which limits of all its processes together hold.
    #[serde(default)]
    pub limits: GroupLimits,
}

/// How the agent's process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// By itself, with a code.
    Code(i32),
    /// By a signal that was not asked for.
    Signal(i32),
    /// Because a stop was asked for.
    Stopped,
    /// It never ran; the text says why, for people.
    LaunchFailed(String),
    /// It was ended because it filled the disk; the text says what it filled, for people.
    DiskQuota(String),
}

/// The end of an attempt. When this is published no process of it is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// How it ended.
    pub exit: How,
    /// When.
    pub ended_at: Timestamp,
    /// Whether a stop had been asked for.
    pub stop_requested: bool,
    /// Bytes of output that were over the caps.
    pub dropped_bytes: u64,
}

/// What a spool tells about its attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// No agent was ever started: it may be launched.
    NeverStarted,
    /// Its shim, or a server that is about to start it, holds the lock.
    Running,
    /// It ended.
    Exited(Exit),
    /// Its shim was killed; how the agent ended is not known.
    Lost,
}

/// Reads the state of the attempt with this spool.
pub fn look(spool: &Path) -> Result<Seen, SpoolError> {
    if let Some(exit) = read(spool, EXIT)? {
        return Ok(Seen::Exited(exit));
    }
    if !spool.join(LOCK).exists() {
        return Ok(Seen::NeverStarted);
    }
    let lock = open_lock(spool)?;
    match flock(&lock, FlockOperation::NonBlockingLockShared) {
        Ok(()) => seen_under_lock(spool),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(Seen::Running),
        Err(error) => Err(file_error(spool, LOCK)(error.into())),
    }
}

/// The same for a caller that holds the lock, so that nothing runs.
pub(super) fn seen_under_lock(spool: &Path) -> Result<Seen, SpoolError> {
    if let Some(exit) = read(spool, EXIT)? {
        return Ok(Seen::Exited(exit));
    }
    let marker: Option<ShimMarker> = read(spool, MARKER)?;
    Ok(match marker {
        Some(_) => Seen::Lost,
        None => Seen::NeverStarted,
    })
}

/// Makes the spool and its door, for nobody but this user.
pub(super) fn create(spool: &Path) -> Result<(), SpoolError> {
    durable::create_folders(&spool.join(DOOR)).map_err(file_error(spool, DOOR))
}

/// Opens the lock file; whether anybody holds it is not asked.
pub(super) fn open_lock(spool: &Path) -> Result<File, SpoolError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(spool.join(LOCK))
        .map_err(file_error(spool, LOCK))
}

/// Opens a growing file of the spool.
pub(super) fn open_stream(spool: &Path, name: &str) -> Result<File, SpoolError> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(spool.join(name)).map_err(file_error(spool, name))
}

/// Publishes a file so that it is whole or absent, even after a power loss.
pub(super) fn publish<T: Serialize>(spool: &Path, name: &str, value: &T) -> Result<(), SpoolError> {
    let mut bytes =
        serde_json::to_vec(value).map_err(|source| SpoolError::Damaged { path: spool.join(name), source })?;
    bytes.push(b'\n');
    publish_bytes(spool, name, &bytes).map_err(file_error(spool, name))
}

/// What was handed in; `None` when nothing was.
pub(crate) fn handed_in(spool: &Path) -> Result<Option<Vec<u8>>, SpoolError> {
    let read = || -> Result<Vec<u8>, FileError> { Dir::open(spool)?.read_file(HANDED_IN, MOST_HANDED_IN) };
    match read() {
        Ok(bytes) => Ok(Some(bytes)),
        Err(FileError::Missing) => Ok(None),
        Err(error) => Err(file_error(spool, HANDED_IN)(error.into())),
    }
}

pub(super) fn publish_bytes(spool: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    // A name of its own keeps two who ask for a stop at once out of each other's way.
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    let temporary = spool.join(format!(".{name}.{}.{write}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    durable::rename(&temporary, &spool.join(name))
}

/// Reads a published file; `None` when it is not there.
pub(super) fn read<T: DeserializeOwned>(spool: &Path, name: &str) -> Result<Option<T>, SpoolError> {
    let bytes = match fs::read(spool.join(name)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(file_error(spool, name)(error)),
    };
    let value =
        serde_json::from_slice(&bytes).map_err(|source| SpoolError::Damaged { path: spool.join(name), source })?;
    Ok(Some(value))
}

/// Whether a stop was asked for.
pub(super) fn stop_requested(spool: &Path) -> bool {
    spool.join(STOP).exists()
}

/// Asks for a stop, durably.
pub(super) fn request_stop(spool: &Path) -> Result<(), SpoolError> {
    publish(spool, STOP, &Timestamp::now())
}

pub(super) fn file_error(spool: &Path, name: &str) -> impl FnOnce(io::Error) -> SpoolError {
    let path = spool.join(name);
    move |source| SpoolError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(exit: How) -> Exit {
        Exit { exit, ended_at: "2026-01-02T03:04:05Z".parse().unwrap(), stop_requested: false, dropped_bytes: 0 }
    }

    #[test]
    fn exits_are_written_in_the_words_other_programs_read() {
        let line = |how| serde_json::to_value(exit(how)).unwrap()["exit"].to_string();
        assert_eq!(line(How::Code(3)), r#"{"code":3}"#);
        assert_eq!(line(How::Signal(9)), r#"{"signal":9}"#);
        assert_eq!(line(How::Stopped), r#""stopped""#);
        assert_eq!(line(How::LaunchFailed("no".into())), r#"{"launch_failed":"no"}"#);
        assert_eq!(line(How::DiskQuota("much".into())), r#"{"disk_quota":"much"}"#);
    }

    #[test]
    fn a_spool_without_marker_may_be_launched_and_one_with_marker_is_lost() {
        let spool = tempfile::tempdir().unwrap();
        assert_eq!(look(spool.path()).unwrap(), Seen::NeverStarted);
        let marker = ShimMarker {
            pid: 1,
            start_time: 2,
            boot_id: "b".into(),
            tier: Tier::Sandboxed,
            started_at: Timestamp::UNIX_EPOCH,
            limits: GroupLimits::default(),
        };
        create(spool.path()).unwrap();
        let lock = open_lock(spool.path()).unwrap();
        publish(spool.path(), MARKER, &marker).unwrap();
        assert_eq!(look(spool.path()).unwrap(), Seen::Lost);
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        assert_eq!(look(spool.path()).unwrap(), Seen::Running);
        publish(spool.path(), EXIT, &exit(How::Code(0))).unwrap();
        assert_eq!(look(spool.path()).unwrap(), Seen::Exited(exit(How::Code(0))));
    }

    #[test]
    fn a_damaged_marker_is_an_error_and_never_a_free_spool() {
        let spool = tempfile::tempdir().unwrap();
        create(spool.path()).unwrap();
        drop(open_lock(spool.path()).unwrap());
        fs::write(spool.path().join(MARKER), "{").unwrap();
        assert!(matches!(look(spool.path()), Err(SpoolError::Damaged { .. })));
    }
}
