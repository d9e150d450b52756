//! SQLite as the place where facts are kept: one file, one writer, readers apart.
//! Never decides anything: it writes what it is handed, all of an append or nothing.
#![warn(missing_docs)]
#![warn(clippy::wildcard_enum_match_arm)]

mod answers;
mod chain;
mod channels;
mod deliveries;
mod diary;
mod encode;
mod entry;
mod fault;
mod lease;
mod post;
mod project;
mod read;
mod schema;
mod sqlite;
mod write;

pub use answers::{Keyed, Known};
pub use deliveries::{Delivery, DeliveryRow, NewDelivery, Standing};
pub use diary::Diary;
pub use encode::{decode, encode};
pub use post::Post;
pub use sqlite::{Options, Sqlite};
