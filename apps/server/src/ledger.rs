//! Keeps the stories of all runs up to date by reading on in the feed whenever somebody asks. The first question reads
//! all of it, later ones what came since.

use std::sync::Mutex;

use engine::{Store, StoreError};

use crate::figures::{Stories, TYPES};

const BATCH: usize = 4096;

/// The stories of all runs, and how far they are told.
#[derive(Default)]
pub(crate) struct Ledger {
    read: Mutex<(u64, Stories)>,
}

impl Ledger {
    /// Looks at the stories as they are now. Blocks.
    pub(crate) fn look<T>(&self, store: &dyn Store, look: impl FnOnce(&Stories) -> T) -> Result<T, StoreError> {
        let mut read = self.read.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (at, stories) = &mut *read;
        // Everything up to here is told once the feed of our types is empty; events after it are told next time.
        let newest = store.position()?;
        while *at < newest {
            let items = store.feed_of(TYPES, *at, BATCH)?;
            for item in &items {
                stories.tell(&item.run, &item.recorded);
            }
            *at = items.last().map_or(newest, |item| item.position);
        }
        Ok(look(stories))
    }
}
