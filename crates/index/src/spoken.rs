//! A chunk as it is told to an embedding model: where it is, what it is called, how it begins. Pure.

use sha2::{Digest as _, Sha256};

use crate::chunk::Chunk;

/// Bytes of a chunk that a model is told. Small local models read some 500 tokens and no further, and what a thing is
/// for stands at its beginning.
const MOST_BYTES: usize = 2_000;

/// What tells one told text from another.
pub type Digest = [u8; 16];

pub(crate) fn text(path: &str, chunk: &Chunk) -> String {
    let mut text = format!("{path}\n{}\n", chunk.symbol.as_deref().unwrap_or_default());
    text.push_str(&chunk.body);
    text.truncate(text.floor_char_boundary(MOST_BYTES));
    text
}

pub(crate) fn digest(text: &str) -> Digest {
    let mut short = [0; 16];
    short.copy_from_slice(&Sha256::digest(text.as_bytes())[..16]);
    short
}
