//! The supervisor of one agent attempt. It outlives the server: whatever kills the server, the
//! agent goes on, its output is kept, and the next server finds it by its spool directory.

pub mod client;
mod control;
mod launch;
mod leash;
pub(crate) mod nonce;
mod pump;
mod quota;
pub(crate) mod sockets;
pub mod spool;
mod stop;
mod supervise;

pub use launch::{BROKER_URL, DOOR, HOLDPOINT, Input, Launch};
pub(crate) use spool::handed_in;
pub use spool::{Exit, How, Seen, ShimMarker, SpoolError, look};
pub use supervise::main_from_stdin;
