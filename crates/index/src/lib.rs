//! Search of a repository by meaning: its files are cut into symbols and chunks, and ranked by the words in them and,
//! where somebody brings vectors, by how near these are to the question's.
//!
//! One SQLite file holds where things are, which words they have and the vectors; it holds no text. What is shown to anybody is
//! read from the repository itself, so an old or foreign index can rank badly but cannot put words in a file's mouth.
//! Never leaves the folder it is given, never follows a link out of it, never downloads anything, and never asks a
//! model: who has one asks for what [`Index::missing_vectors`] lists and brings it to [`Index::store_vectors`].

mod chunk;
mod language;
mod plain;
mod refresh;
mod search;
mod spoken;
mod store;
mod synonyms;
mod vectors;
mod words;

pub use refresh::Refreshed;
pub use search::{Hit, Scope};
pub use spoken::Digest;
pub use store::{Index, IndexError};
pub use vectors::{Missing, Unembedded};
