//! The hands: everything that touches the world outside the database.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod git;
pub mod sandbox;
pub mod shim;
