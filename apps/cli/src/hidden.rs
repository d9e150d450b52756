//! The parts of the binary that run as processes of their own: supervisor, sandbox entry and agent.
//! They have no runtime's threads around them when they begin, and end with exit codes of their own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::report::{Format, Report};

/// The supervisor of one agent attempt.
pub(crate) fn shim() -> ExitCode {
    runner::shim::main_from_stdin()
}

/// The first process inside a sandbox.
pub(crate) fn inside(arguments: Vec<std::ffi::OsString>) -> ExitCode {
    runner::sandbox::inside::main(arguments)
}

/// Our own agent. `door` is the broker's socket.
pub(crate) fn agent(session: PathBuf, door: &Path) -> ExitCode {
    let nonce = match agent::Nonce::receive() {
        Ok(nonce) => nonce,
        Err(error) => {
            Report { format: Format::Human }.note(&format!("the agent cannot be told by what it hands in: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let options = agent::Options { session, door: door.parent().unwrap_or(door).to_owned(), nonce };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        let work = Box::pin(agent::run(options));
        runtime.block_on(work).map_err(|error| chain(&error))
    });
    match ended {
        Ok(_) => ExitCode::SUCCESS,
        Err(message) => {
            Report { format: Format::Human }.note(&message);
            ExitCode::FAILURE
        }
    }
}

/// The same conversation on a person's terminal.
pub(crate) fn sit(session: PathBuf, door: &Path) -> ExitCode {
    // Nothing is handed in from a person's terminal.
    let nonce = agent::Nonce::new("");
    let options = agent::Options { session, door: door.parent().unwrap_or(door).to_owned(), nonce };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = runtime.map_err(|error| error.to_string()).and_then(|runtime| {
        let mut out = std::io::stdout();
        let sat = runtime.block_on(agent::sit(options, &mut out)).map_err(|error| chain(&error));
        runtime.shutdown_background();
        sat
    });
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            Report { format: Format::Human }.note(&message);
            ExitCode::FAILURE
        }
    }
}

/// Carries the streams of a tool server between an agent program and its host.
pub(crate) fn relay(session: &Path) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let carried = runtime.and_then(|runtime| {
        let carried = runtime.block_on(agent::relay(session));
        // A read of standard input that is under way would keep the process.
        runtime.shutdown_background();
        carried
    });
    match carried {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            Report { format: Format::Human }.note(&format!("the host of this agent cannot be reached: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
