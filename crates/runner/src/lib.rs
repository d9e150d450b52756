//! The runner room.

pub mod git;
