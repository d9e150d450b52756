//! Search of a repository by meaning: its files are cut into symbols and chunks, and ranked by the words in them.
//!
//! One SQLite file holds where things are and which words they have; it holds no text. What is shown to anybody is
//! read from the repository itself, so an old or foreign index can rank badly but cannot put words in a file's mouth.
//! Never leaves the folder it is given, never follows a link out of it, never downloads anything.

mod chunk;
mod language;
mod plain;
mod refresh;
mod search;
mod store;
mod synonyms;
mod words;

pub use refresh::Refreshed;
pub use search::{Hit, Scope};
pub use store::{Index, IndexError};
