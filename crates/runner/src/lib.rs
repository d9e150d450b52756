//! The hands: everything that touches the world outside the database.

pub mod git;
pub mod sandbox;
pub mod shim;
