//! What the model last saw of each file, so that an edit that no longer fits can be told why. Memory of one process.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Digests of contents by clean path.
#[derive(Debug, Default)]
pub(crate) struct Views(Mutex<HashMap<PathBuf, u64>>);

/// How a file stands to what was last seen of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum View {
    Never,
    Current,
    Stale,
}

impl Views {
    pub(super) fn saw(&self, path: PathBuf, content: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(path, digest(content));
    }

    pub(super) fn of(&self, path: &PathBuf, content: &str) -> View {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            None => View::Never,
            Some(seen) if *seen == digest(content) => View::Current,
            Some(_) => View::Stale,
        }
    }
}

fn digest(content: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    hasher.finish()
}
