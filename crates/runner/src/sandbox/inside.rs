//! The first process of a cell: puts the remaining walls in place, starts the agent, collects
//! orphans, reports how the agent ended, and leaves nobody behind.
//!
//! Its standard input is the leash: a socket to the shim. A byte `t` on it asks the agent to end;
//! its end means that the shim is gone, and then nobody may go on.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    net::{Ipv4Addr, TcpListener},
    os::{
        fd::AsFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
    thread,
};

use rustix::{
    io::Errno,
    process::{
        DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process_group, set_dumpable_behavior, wait,
    },
};
use serde::{Deserialize, Serialize};

use super::{
    broker_streams::Supervisor,
    capabilities,
    descendants::{Marker, end_descendants},
    forward::forward,
    landlocked::{self, LandlockError, Paths},
    limits::Limits,
    syscalls::{self, FilterError},
    tier::Tier,
};
use crate::shim::{Input, nonce::Nonce};

/// Asks the agent to end.
pub(crate) const ASK_TO_END: u8 = b't';

/// What the init step says over the leash, one JSON object per line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// The walls stand and the agent runs.
    Started,
    /// The agent never ran.
    Failed(String),
    /// It ended with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

/// What the init step is told to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Orders {
    pub(super) tier: Tier,
    /// The broker's socket as the init step reaches it.
    pub(super) door: PathBuf,
    pub(super) forward: Option<u16>,
    pub(super) limits: Limits,
    pub(super) paths: Paths,
    pub(super) argv: Vec<OsString>,
    pub(super) input: Input,
    /// Of the attempt, for who looks for its processes.
    pub(super) marker: String,
}

/// Why an agent could not be started in its cell.
#[derive(Debug, thiserror::Error)]
enum InsideError {
    #[error("the arguments of the init step are wrong: {0}")]
    Arguments(&'static str),
    #[error("the limits could not be set")]
    Limits(#[source] Errno),
    #[error("the way to the broker could not be opened")]
    Forward(#[source] io::Error),
    #[error("the capabilities could not be given up")]
    Capabilities(#[source] Errno),
    #[error("the file rules could not be set")]
    Files(#[from] LandlockError),
    #[error("the system-call filter could not be set")]
    Calls(#[from] FilterError),
    #[error("the filter on sockets could not be set (a container's own supervisor of system calls may be in the way)")]
    Sockets(#[source] io::Error),
    #[error("`{program}` could not be started")]
    Start { program: String, source: io::Error },
    #[error("the leash is not usable")]
    Leash(#[source] io::Error),
    #[error("the nonce could not be passed on")]
    Nonce(#[source] io::Error),
}

/// `holdpoint inside …`: never for people.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let leash = match leash() {
        Ok(leash) => leash,
        Err(_) => return ExitCode::FAILURE,
    };
    // What it holds for a moment is for the agent's host alone, and not for what that starts.
    let hidden = set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|errno| InsideError::Nonce(errno.into()));
    let started = hidden
        .and_then(|()| Orders::from_arguments(args))
        .and_then(|orders| orders.carry_out(&leash))
        .and_then(|agent| Ok((agent, watch_leash(&leash, agent)?)));
    match started {
        Ok((agent, ())) => {
            say(&leash, &Said::Started);
            let status = wait_for(agent);
            say(&leash, &status);
            // Orphans are nobody's work; the exit must not wait for them.
            let _ = end_descendants();
            ExitCode::SUCCESS
        }
        Err(error) => {
            say(&leash, &Said::Failed(chain(&error)));
            ExitCode::FAILURE
        }
    }
}

fn leash() -> io::Result<UnixStream> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

fn say(mut leash: &UnixStream, said: &Said) {
    let line = serde_json::to_string(said).expect("an enum of strings and numbers is JSON");
    // When nobody listens any more the leash thread ends everything.
    let _ = leash.write_all(format!("{line}\n").as_bytes());
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Follows the leash in a thread: passes the request to end on, and ends everything with it.
fn watch_leash(leash: &UnixStream, agent: Pid) -> Result<(), InsideError> {
    let mut leash = leash.try_clone().map_err(InsideError::Leash)?;
    let follow = move || {
        let mut byte = [0];
        while let Ok(1) = leash.read(&mut byte) {
            if byte[0] == ASK_TO_END {
                // The group, because some programs only listen when their tools are asked too.
                let _ = kill_process_group(agent, Signal::TERM);
            }
        }
        let _ = end_descendants();
        std::process::exit(1);
    };
    thread::Builder::new().spawn(follow).map(drop).map_err(InsideError::Leash)
}

fn wait_for(agent: Pid) -> Said {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == agent => return said_of(status),
            Ok(_) | Err(Errno::INTR) => {}
            // The leash thread reaped it while ending everything.
            Err(_) => return Said::Signal(Signal::KILL.as_raw()),
        }
    }
}

fn said_of(status: WaitStatus) -> Said {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Said::Code(code),
        (None, Some(signal)) => Said::Signal(signal),
        (None, None) => Said::Signal(Signal::KILL.as_raw()),
    }
}

impl Orders {
    fn carry_out(self, mut leash: &UnixStream) -> Result<Pid, InsideError> {
        let nonce = match self.input {
            Input::Nothing => None,
            Input::Nonce => Some(Nonce::read(&mut leash).map_err(InsideError::Nonce)?),
        };
        // Fails only on kernels older than every feature used here.
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
        self.limits.apply(self.tier).map_err(InsideError::Limits)?;
        let listener = match self.forward {
            Some(port) => Some(TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(InsideError::Forward)?),
            None => None,
        };
        let sockets = match self.tier {
            Tier::Restricted => Some(Supervisor::start(self.door.clone()).map_err(InsideError::Sockets)?),
            Tier::Sandboxed | Tier::Unsandboxed => None,
        };
        // They hold for this thread and all it starts.
        match self.tier {
            Tier::Sandboxed | Tier::Restricted => {
                capabilities::drop_all().map_err(InsideError::Capabilities)?;
                landlocked::restrict(self.tier, &self.paths)?;
                syscalls::forbid(self.tier)?;
            }
            Tier::Unsandboxed => {}
        }
        if let Some(sockets) = sockets {
            sockets.filter().map_err(InsideError::Sockets)?;
        }
        if let Some(listener) = listener {
            forward(listener, self.door.clone()).map_err(InsideError::Forward)?;
        }
        self.start(nonce)
    }

    fn start(&self, nonce: Option<Nonce>) -> Result<Pid, InsideError> {
        let Some((program, arguments)) = self.argv.split_first() else {
            return Err(InsideError::Arguments("no program"));
        };
        let input = if nonce.is_some() { Stdio::piped() } else { Stdio::null() };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(input)
            .process_group(0)
            .spawn()
            .map_err(|source| InsideError::Start { program: program.to_string_lossy().into_owned(), source })?;
        if let (Some(nonce), Some(mut input)) = (nonce, child.stdin.take()) {
            // It fits into the pipe. One that ended before it read it needs none.
            let _ = input.write_all(nonce.line());
        }
        Ok(Pid::from_child(&child))
    }

    /// The command line that `from_arguments` reads back.
    pub(super) fn to_arguments(&self) -> Vec<OsString> {
        let mut line: Vec<OsString> = vec!["--tier".into(), self.tier.to_string().into()];
        line.extend(["--door".into(), self.door.clone().into()]);
        line.extend([Marker::OPTION.into(), self.marker.clone().into()]);
        if let Some(port) = self.forward {
            line.extend(["--forward".into(), format!("127.0.0.1:{port}").into()]);
        }
        if self.input == Input::Nonce {
            line.extend(["--input".into(), "nonce".into()]);
        }
        let limits = serde_json::to_string(&self.limits).expect("a struct of numbers is JSON");
        line.extend(["--limits".into(), limits.into()]);
        for path in &self.paths.writable {
            line.extend(["--write".into(), path.clone().into()]);
        }
        for path in &self.paths.readable {
            line.extend(["--read".into(), path.clone().into()]);
        }
        line.push("--".into());
        line.extend(self.argv.iter().cloned());
        line
    }

    fn from_arguments(args: impl IntoIterator<Item = OsString>) -> Result<Self, InsideError> {
        const WRONG: InsideError = InsideError::Arguments("unknown or incomplete option");
        let mut args = args.into_iter();
        let (mut tier, mut door, mut forward, mut limits) = (None, None, None, Limits::default());
        let (mut writable, mut readable) = (Vec::new(), Vec::new());
        let (mut input, mut marker) = (Input::Nothing, String::new());
        loop {
            let option = args.next().ok_or(WRONG)?;
            if option == "--" {
                break;
            }
            let value = args.next().ok_or(WRONG)?;
            match option.to_str().ok_or(WRONG)? {
                "--tier" => tier = Some(tier_named(&value).ok_or(WRONG)?),
                "--door" => door = Some(PathBuf::from(value)),
                "--forward" => forward = Some(port_of(&value).ok_or(WRONG)?),
                Marker::OPTION => marker = value.to_string_lossy().into_owned(),
                "--input" if value == "nonce" => input = Input::Nonce,
                "--limits" => limits = limits_of(&value).ok_or(WRONG)?,
                "--write" => writable.push(PathBuf::from(value)),
                "--read" => readable.push(PathBuf::from(value)),
                _ => return Err(WRONG),
            }
        }
        let door = door.ok_or(InsideError::Arguments("no door"))?;
        let tier = tier.ok_or(InsideError::Arguments("no tier"))?;
        Ok(Self {
            tier,
            paths: Paths { writable, readable, door: Paths::door_of(tier, &door) },
            door,
            forward,
            limits,
            argv: args.collect(),
            input,
            marker,
        })
    }
}

fn tier_named(value: &OsString) -> Option<Tier> {
    [Tier::Sandboxed, Tier::Restricted, Tier::Unsandboxed]
        .into_iter()
        .find(|tier| value.to_str() == Some(&tier.to_string()))
}

fn port_of(value: &OsString) -> Option<u16> {
    value.to_str()?.strip_prefix("127.0.0.1:")?.parse().ok()
}

fn limits_of(value: &OsString) -> Option<Limits> {
    serde_json::from_str(value.to_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_the_command_line() {
        let orders = Orders {
            tier: Tier::Sandboxed,
            door: "/run/holdpoint/door/broker.sock".into(),
            forward: Some(4180),
            limits: Limits::default(),
            paths: Paths {
                writable: vec!["/a b".into()],
                readable: vec!["/".into()],
                door: Some("/run/holdpoint/door".into()),
            },
            argv: vec!["sh".into(), "--".into(), "--tier".into()],
            input: Input::Nonce,
            marker: "m".to_owned(),
        };
        let back = Orders::from_arguments(orders.to_arguments()).unwrap();
        assert_eq!(back, orders);
    }

    #[test]
    fn a_torn_command_line_is_refused() {
        for args in [&["--tier"][..], &["--tier", "none", "--"], &["--", "sh"]] {
            let args = args.iter().map(OsString::from);
            assert!(Orders::from_arguments(args).is_err());
        }
    }
}
