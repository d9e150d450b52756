//! The parts of the binary that run as processes of their own: supervisor, sandbox entry and agent.

use std::path::PathBuf;

use crate::failure::Failure;

/// The supervisor of one agent attempt.
pub(crate) fn shim() -> Result<(), Failure> {
    Err(not_wired("shim"))
}

/// The first process inside a sandbox.
pub(crate) fn inside(_arguments: Vec<String>) -> Result<(), Failure> {
    Err(not_wired("inside"))
}

/// Our own agent.
pub(crate) fn agent(_session: PathBuf, _door: PathBuf) -> Result<(), Failure> {
    Err(not_wired("agent"))
}

/// The invariant checker over the real log.
pub(crate) fn verify() -> Result<(), Failure> {
    Err(not_wired("verify"))
}

/// Which isolation agents get on this machine, and what would make it better.
pub(crate) fn sandbox_tier() -> Option<String> {
    None
}

fn not_wired(part: &str) -> Failure {
    Failure::failed("not_wired", format!("`{part}` is not wired"), "build the whole workspace")
}
