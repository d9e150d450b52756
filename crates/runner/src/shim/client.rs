//! The server's side of an attempt: start it or find it, follow it, wait for it, stop it.
//! Whatever instant a server dies at, calling `start_or_adopt` again never starts a second agent.

use std::{
    error::Error,
    fs::File,
    io,
    os::fd::OwnedFd,
    os::unix::net::UnixListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use futures_util::{Stream, stream};
use jiff::Timestamp;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use tokio::{io::AsyncWriteExt, sync::oneshot, time::sleep};

use super::{
    control::Conversation,
    launch::Launch,
    sockets,
    spool::{self, Exit, How, Seen, SpoolError},
};
pub use super::{control::Message, stop::stop};
use crate::sandbox;

/// Between two tries to talk to whoever took the lock a moment ago.
const MOMENT: Duration = Duration::from_millis(20);
/// Tries before giving up on a lock whose holder does not listen.
const TRIES: u32 = 500;

/// An attempt cannot be started or followed.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    /// The spool is unusable.
    #[error(transparent)]
    Spool(#[from] SpoolError),
    /// The preparation failed; nothing was started.
    #[error("the attempt could not be prepared")]
    Prepare(#[source] Box<dyn Error + Send + Sync>),
    /// The supervisor's process could not be started.
    #[error("the supervisor `{}` could not be started", program.display())]
    Spawn {
        /// The binary.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It was started and ended before it had started an agent.
    #[error("the supervisor ended before it started the agent: {log}")]
    NeverStarted {
        /// What it left in its log.
        log: String,
    },
    /// The lock is held and nobody answers.
    #[error("`{}` is held by a process that does not answer", .0.display())]
    Unreachable(PathBuf),
    /// Processes of a stopped attempt could not be ended.
    #[error("the processes of the attempt could not be ended")]
    Stop(#[source] io::Error),
}

/// How an attempt ended, as far as can be known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// With a published exit.
    Exited(Exit),
    /// Its shim was killed.
    Lost,
}

/// An attempt that runs or has ended.
#[derive(Debug, Clone)]
pub struct Attempt {
    spool: PathBuf,
}

/// Starts the attempt, or finds the one that an earlier call started. `prepare` is called only
/// when no agent was ever started, while the lock keeps everybody else out.
pub async fn start_or_adopt<P, F, E>(spool: &Path, prepare: P) -> Result<Attempt, ShimError>
where
    P: FnOnce() -> F,
    F: Future<Output = Result<Launch, E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    spool::create(spool)?;
    let attempt = Attempt { spool: spool.to_owned() };
    for _ in 0..TRIES {
        if let Some(lock) = try_lock(spool)? {
            let state = spool::seen_under_lock(spool)?;
            if state == Seen::NeverStarted {
                launch(spool, lock, prepare).await?;
            }
            return Ok(attempt);
        }
        if greeted(spool).await || matches!(spool::look(spool)?, Seen::Exited(_)) {
            return Ok(attempt);
        }
        // The holder is just taking or leaving the lock: there is nothing to wait on yet.
        sleep(MOMENT).await;
    }
    Err(ShimError::Unreachable(spool.join(spool::LOCK)))
}

impl Attempt {
    /// The attempt of a spool, running or not.
    pub fn of_spool(spool: &Path) -> Self {
        Self { spool: spool.to_owned() }
    }

    /// What the spool says now.
    pub fn look(&self) -> Result<Seen, ShimError> {
        Ok(spool::look(&self.spool)?)
    }

    /// How the agent is held; `None` before it was started.
    pub fn marker(&self) -> Result<Option<spool::ShimMarker>, ShimError> {
        Ok(spool::read(&self.spool, spool::MARKER)?)
    }

    /// Waits for the end. Nothing is polled: the shim's socket ends with it, and so does its lock.
    pub async fn wait(&self) -> Result<Ended, ShimError> {
        let mut seen = spool::look(&self.spool)?;
        while seen == Seen::Running {
            if let Ok(mut conversation) = Conversation::open(&self.spool) {
                while let Some(message) = conversation.next().await {
                    if message == Message::Exited {
                        break;
                    }
                }
            }
            seen = settled(&self.spool).await?;
        }
        match seen {
            Seen::Exited(exit) => Ok(Ended::Exited(exit)),
            Seen::Lost => Ok(Ended::Lost),
            Seen::NeverStarted | Seen::Running => Err(never_started(&self.spool)),
        }
    }

    /// Messages about a growing spool; ends with the attempt. The first ones tell what is there
    /// already, so nothing is missed by following late.
    pub fn follow(&self) -> impl Stream<Item = Message> + Send + Unpin + use<> {
        let conversation = Conversation::open(&self.spool).ok();
        Box::pin(stream::unfold(conversation, async |conversation| {
            let mut conversation = conversation?;
            let message = conversation.next().await?;
            Some((message, Some(conversation)))
        }))
    }

    /// Ends the attempt with all its processes.
    pub async fn stop(&self) -> Result<Ended, ShimError> {
        stop(&self.spool).await
    }
}

async fn launch<P, F, E>(spool: &Path, lock: File, prepare: P) -> Result<(), ShimError>
where
    P: FnOnce() -> F,
    F: Future<Output = Result<Launch, E>>,
    E: Into<Box<dyn Error + Send + Sync>>,
{
    if spool::stop_requested(spool) {
        return Ok(spool::publish(spool, spool::EXIT, &stopped_before_start())?);
    }
    // Listening starts before anything slow, so that another server can wait for what comes.
    let control = sockets::listen(&spool.join(spool::CONTROL)).map_err(spool::file_error(spool, spool::CONTROL))?;
    let mut order = prepare().await.map_err(|error| ShimError::Prepare(error.into()))?;
    order.spool = spool.to_owned();
    hand_over(&order, lock, control).await?;
    if greeted(spool).await {
        return Ok(());
    }
    match settled(spool).await? {
        Seen::Exited(_) | Seen::Lost | Seen::Running => Ok(()),
        Seen::NeverStarted => Err(never_started(spool)),
    }
}

/// Starts the shim, gives it the lock and the socket, and tells it what to do.
async fn hand_over(order: &Launch, lock: File, control: UnixListener) -> Result<(), ShimError> {
    let failed = |source| ShimError::Spawn { program: order.program.clone(), source };
    let document = serde_json::to_vec(order).map_err(|error| failed(error.into()))?;
    let log = spool::open_stream(&order.spool, spool::LOG)?;
    let mut command = Command::new(&order.program);
    command
        .arg("shim")
        .env_clear()
        .envs(sandbox::for_shim())
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log);
    let descriptors: Vec<OwnedFd> = vec![lock.into(), control.into()];
    sandbox::hand_down(&mut command, descriptors).map_err(failed)?;
    let mut command = tokio::process::Command::from(command);
    let mut shim = command.spawn().map_err(failed)?;
    // The command owns copies of the lock and the socket; they must live in the shim alone.
    drop(command);
    if let Some(mut stdin) = shim.stdin.take() {
        // When it does not take all, it has ended, and its log says why.
        let _ = stdin.write_all(&document).await;
    }
    // It outlives the server by design; while the server lives, it must not stay a zombie.
    tokio::spawn(async move { shim.wait().await });
    Ok(())
}

/// Whether a shim answered. Waits for as long as somebody holds the socket without answering:
/// a server that still prepares, or a shim that still starts.
async fn greeted(spool: &Path) -> bool {
    match Conversation::open(spool) {
        Ok(mut conversation) => conversation.next().await == Some(Message::Started),
        Err(_) => false,
    }
}

fn try_lock(spool: &Path) -> Result<Option<File>, ShimError> {
    let lock = spool::open_lock(spool)?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(lock)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(spool::file_error(spool, spool::LOCK)(error.into()).into()),
    }
}

/// The state once the lock is free, or earlier when the exit is published.
pub(super) async fn settled(spool: &Path) -> Result<Seen, ShimError> {
    let seen = spool::look(spool)?;
    if seen != Seen::Running {
        return Ok(seen);
    }
    let lock = spool::open_lock(spool)?;
    let (freed, wait) = oneshot::channel();
    // A thread of its own and not the runtime's: nobody's shutdown may wait for an agent.
    thread::spawn(move || {
        while flock(&lock, FlockOperation::LockShared) == Err(Errno::INTR) {}
        let _ = freed.send(());
    });
    // The thread always sends before it ends.
    let _ = wait.await;
    Ok(spool::look(spool)?)
}

/// In place of the log of a supervisor that was killed.
pub(crate) const NO_MESSAGE: &str = "it left no message";

fn never_started(spool: &Path) -> ShimError {
    let log = std::fs::read_to_string(spool.join(spool::LOG)).unwrap_or_default();
    let log = match log.trim() {
        "" => NO_MESSAGE.to_owned(),
        text => text.to_owned(),
    };
    ShimError::NeverStarted { log }
}

fn stopped_before_start() -> Exit {
    Exit { exit: How::Stopped, ended_at: Timestamp::now(), stop_requested: true, dropped_bytes: 0 }
}
