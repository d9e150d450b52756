//! File access in folders that an agent can write: session folders, workspaces, spools. Everything goes through
//! directory handles; a tidy test keeps `std::fs` out of the modules that touch such folders.

mod dir;
mod file;
#[cfg(test)]
mod hostile_tests;
mod usage;

pub(crate) use dir::{Dir, Kind};
pub(crate) use file::{FileError, read_trusted};
