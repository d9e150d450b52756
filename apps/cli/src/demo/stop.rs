//! Stops the server of the demo's own data directory, and waits until it is gone.

use std::time::Duration;

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use crate::{failure::Failure, home::Home, start};

/// How long a server may take to end.
const PATIENCE: Duration = Duration::from_secs(15);

/// Does nothing if no server of this directory answers: a stale pid may be anybody's by now.
pub(super) async fn server(home: &Home) -> Result<(), Failure> {
    let Some(info) = home.server() else { return Ok(()) };
    if start::running(home, "demo").await.is_none() {
        return Ok(());
    }
    let Some(pid) = i32::try_from(info.pid).ok().and_then(Pid::from_raw) else { return Ok(()) };
    let stopped = tokio::task::spawn_blocking(move || end(pid)).await;
    let stopped = stopped.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    stopped.map_err(|error| {
        let message = format!("the demo's server (pid {}) did not stop: {error}", info.pid);
        Failure::unavailable("server_running", message, format!("stop it yourself: kill {}", info.pid))
    })
}

fn end(pid: Pid) -> std::io::Result<()> {
    let process = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(rustix::io::Errno::SRCH) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    match pidfd_send_signal(&process, Signal::TERM) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => {}
        Err(error) => return Err(error.into()),
    }
    let patience = Timespec { tv_sec: i64::try_from(PATIENCE.as_secs()).unwrap_or(15), tv_nsec: 0 };
    match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience))? {
        0 => Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "it took too long")),
        _ => Ok(()),
    }
}
