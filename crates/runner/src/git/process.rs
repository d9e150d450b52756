//! Feeding, reading and waiting for a git process without a pipe that fills up or a wait that
//! never ends. Knows nothing of git itself.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use super::GitError;
use super::run::{code_of, for_people};

/// A running git that takes input piece by piece.
pub(crate) struct Conversation {
    pub(crate) child: Child,
    pub(crate) args: String,
}

impl Conversation {
    pub(crate) fn stdin(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().expect("stdin is open until `end`")
    }

    pub(crate) fn stdout(&mut self) -> ChildStdout {
        self.child.stdout.take().expect("stdout is taken once")
    }

    /// Ends it when it has not ended by itself by then; who reads from it sees the end of its output, and `end` fails.
    pub(crate) fn limit_time(&self, timeout: Duration) -> Result<(), GitError> {
        let process = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty());
        let process = process.map_err(|error| GitError::Start(error.into()))?;
        thread::spawn(move || {
            if matches!(ended_by(&process, timeout), Ok(false)) {
                // It may have ended by itself in this moment.
                let _ = pidfd_send_signal(&process, Signal::KILL);
            }
        });
        Ok(())
    }

    /// Closes its input and waits; any exit code but 0 is an error.
    pub(crate) fn end(mut self) -> Result<(), GitError> {
        drop(self.child.stdin.take());
        let stderr = drain(self.child.stderr.take()).map_err(GitError::Start)?;
        let status = self.child.wait().map_err(GitError::Start)?;
        if status.success() {
            return Ok(());
        }
        Err(GitError::Failed { args: self.args.clone(), code: code_of(status), stderr: for_people(&stderr) })
    }

    pub(crate) fn broke(&self, error: &io::Error) -> GitError {
        GitError::Unreadable { args: self.args.clone(), detail: error.to_string() }
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // After `end` there is nothing left to kill; before it, nobody wants the answer.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) type Collected = Option<(ExitStatus, Vec<u8>, Vec<u8>)>;

/// Feeds, reads and waits at once, so that no pipe can fill up. `None`: time ran out.
pub(crate) fn collect(mut child: Child, input: Option<&[u8]>, timeout: Option<Duration>) -> io::Result<Collected> {
    let stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    thread::scope(|scope| {
        let stdout = scope.spawn(move || drain(stdout));
        let stderr = scope.spawn(move || drain(stderr));
        scope.spawn(move || {
            if let (Some(mut stdin), Some(input)) = (stdin, input) {
                // A git that stops reading says why by its exit code.
                let _ = stdin.write_all(input);
            }
        });
        let in_time = ended_in_time(&child, timeout)?;
        if !in_time {
            // It may have ended by itself in this moment.
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        }
        let status = child.wait()?;
        let stdout = stdout.join().expect("reading a pipe does not panic")?;
        let stderr = stderr.join().expect("reading a pipe does not panic")?;
        Ok(in_time.then_some((status, stdout, stderr)))
    })
}

fn drain(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn ended_in_time(child: &Child, timeout: Option<Duration>) -> io::Result<bool> {
    let Some(timeout) = timeout else {
        return Ok(true);
    };
    ended_by(&pidfd_open(Pid::from_child(child), PidfdFlags::empty())?, timeout)
}

fn ended_by(process: &OwnedFd, timeout: Duration) -> io::Result<bool> {
    let end = Instant::now() + timeout;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let limit = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&limit)) {
            // A signal to this process, such as the end of another child.
            Err(Errno::INTR) => {}
            ready => return Ok(ready? > 0),
        }
    }
}
