//! Ending an attempt for sure: by its shim, by force when the shim does not react, and by the
//! marker when there is no shim any more.

use std::{io, path::Path, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use tokio::time::timeout;

use super::{
    client::{Ended, ShimError, settled},
    control::Conversation,
    spool::{self, Exit, How, Seen, ShimMarker},
    supervise::boot_id,
};
use crate::sandbox::{Marker, marked_processes, start_time};

/// What a shim gets: its own grace for the agent and the time to kill and publish.
const PATIENCE: Duration = Duration::from_secs(6);
/// The longest wait for one killed process to be gone.
const BURIAL: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };
/// Sweeps before giving up; each one kills everything that is there.
const SWEEPS: u32 = 50;

/// Ends the attempt with this spool and all processes that stem from it; returns when none is
/// left. An attempt that was never started will not start any more.
pub async fn stop(spool: &Path) -> Result<Ended, ShimError> {
    spool::create(spool)?;
    spool::request_stop(spool)?;
    if spool::look(spool)? == Seen::Running {
        let asked = timeout(PATIENCE, ask(spool)).await;
        if asked.is_err() {
            kill_shim(spool)?;
            settled(spool).await?;
        }
    }
    let owner = spool.to_owned();
    let swept = tokio::task::spawn_blocking(move || sweep(&owner)).await;
    swept.map_err(|error| ShimError::Stop(io::Error::other(error)))?.map_err(ShimError::Stop)?;
    match spool::look(spool)? {
        Seen::Exited(exit) => Ok(Ended::Exited(exit)),
        Seen::Lost => Ok(Ended::Lost),
        Seen::NeverStarted => Ok(Ended::Exited(Exit {
            exit: How::Stopped,
            ended_at: jiff::Timestamp::now(),
            stop_requested: true,
            dropped_bytes: 0,
        })),
        Seen::Running => Err(ShimError::Unreachable(spool.join(spool::LOCK))),
    }
}

async fn ask(spool: &Path) -> Result<(), ShimError> {
    if let Ok(mut conversation) = Conversation::open(spool) {
        // A shim that cannot be asked is on its way out.
        let _ = conversation.ask_to_stop().await;
        while conversation.next().await.is_some() {}
    }
    settled(spool).await.map(drop)
}

/// The shim of this boot with that start time, and no other process that got its number since.
fn kill_shim(spool: &Path) -> Result<(), ShimError> {
    let Some(marker): Option<ShimMarker> = spool::read(spool, spool::MARKER)? else {
        return Err(ShimError::Unreachable(spool.join(spool::LOCK)));
    };
    let Some(pid) = Pid::from_raw(marker.pid) else {
        return Ok(());
    };
    if marker.boot_id != boot_id() {
        return Ok(());
    }
    kill(pid, marker.start_time).map_err(ShimError::Stop)
}

/// Kills everything with the marker until nothing has it.
fn sweep(spool: &Path) -> io::Result<()> {
    let marker = Marker::of_spool(spool)?;
    for _ in 0..SWEEPS {
        let left = marked_processes(&marker)?;
        if left.is_empty() {
            return Ok(());
        }
        for (pid, started) in left {
            kill(pid, started)?;
        }
    }
    Err(io::Error::other("processes of the attempt come back faster than they can be ended"))
}

/// Kills exactly the process that started then, and waits for its end. The descriptor is taken
/// before the start time is looked at, so the number cannot change hands in between.
fn kill(pid: Pid, started: u64) -> io::Result<()> {
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if start_time(pid) != Some(started) {
        return Ok(());
    }
    match pidfd_send_signal(&process, Signal::KILL) {
        Ok(()) => {}
        Err(Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&BURIAL))?;
    Ok(())
}
