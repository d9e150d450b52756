//! Whole attempts against a broker on a real socket.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod calls;
mod fake;
mod flows;
mod goals;
mod kills;
mod people;
mod project;
mod renames;
mod room;
mod servers;
mod troubles;
