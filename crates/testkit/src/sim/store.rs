//! One engine's way to the store: it can be refused for a while, or be cut for good, as by a power cut.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};

use domain::{Recorded, RunId};
use engine::{
    Batch, CommandKey, Committed, DueTimer, EntryRule, FeedItem, NodeId, OutboxRow, QueueState, Row, RunFilter, Store,
    StoreError,
};
use jiff::Timestamp;

use crate::MemoryStore;

/// How the store behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mood {
    /// It takes everything.
    Well,
    /// Another process holds it.
    Busy,
    /// There is no space.
    Full,
    /// The engine behind it is dead: nothing of it is ever written again.
    Dead,
}

/// A store as one engine sees it.
pub(super) struct Line {
    store: Arc<MemoryStore>,
    mood: AtomicU8,
    last: Mutex<()>,
}

impl Line {
    /// A line to a store that is well.
    #[must_use]
    pub(super) fn new(store: Arc<MemoryStore>) -> Self {
        Self { store, mood: AtomicU8::new(0), last: Mutex::new(()) }
    }

    /// Sets how it behaves. After `Dead` nothing is written: a write that has begun is waited for.
    pub(super) fn set(&self, mood: Mood) {
        let _writing = self.last.lock().expect("no store call panics");
        self.mood.store(mood as u8, Ordering::SeqCst);
    }

    /// How it behaves.
    pub(super) fn mood(&self) -> Mood {
        match self.mood.load(Ordering::SeqCst) {
            0 => Mood::Well,
            1 => Mood::Busy,
            2 => Mood::Full,
            _ => Mood::Dead,
        }
    }

    fn check(&self) -> Result<(), StoreError> {
        match self.mood() {
            Mood::Well => Ok(()),
            Mood::Busy => Err(StoreError::Busy),
            Mood::Full => Err(StoreError::Full),
            Mood::Dead => Err(StoreError::Disk("the power is cut".to_owned())),
        }
    }
}

impl Store for Line {
    fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
        let _writing = self.last.lock().expect("no store call panics");
        self.check()?;
        self.store.commit(batch)
    }

    fn events(&self, run: &RunId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        // A full disk can still be read.
        self.check().or_else(|error| if matches!(error, StoreError::Full) { Ok(()) } else { Err(error) })?;
        self.store.events(run, after)
    }

    fn feed(&self, after: u64, limit: usize) -> Result<Vec<FeedItem>, StoreError> {
        self.store.feed(after, limit)
    }

    fn position(&self) -> Result<u64, StoreError> {
        self.store.position()
    }

    fn row(&self, run: &RunId) -> Result<Option<Row>, StoreError> {
        self.store.row(run)
    }

    fn rows(&self, filter: &RunFilter) -> Result<Vec<Row>, StoreError> {
        self.store.rows(filter)
    }

    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.store.ids_with_prefix(prefix, limit)
    }

    fn command(&self, key: &CommandKey) -> Result<Option<(RunId, u64)>, StoreError> {
        self.store.command(key)
    }

    fn due_timers(&self, now: Timestamp, limit: usize) -> Result<Vec<DueTimer>, StoreError> {
        self.check()?;
        self.store.due_timers(now, limit)
    }

    fn next_timer(&self) -> Result<Option<Timestamp>, StoreError> {
        self.check()?;
        self.store.next_timer()
    }

    fn release_all_leases(&self) -> Result<u64, StoreError> {
        self.check()?;
        self.store.release_all_leases()
    }

    fn renew(&self, node: &NodeId, until: Timestamp) -> Result<u64, StoreError> {
        let _writing = self.last.lock().expect("no store call panics");
        self.check()?;
        self.store.renew(node, until)
    }

    fn outbox(&self, run: Option<&RunId>) -> Result<Vec<OutboxRow>, StoreError> {
        self.store.outbox(run)
    }

    fn queue(&self, run: &RunId, rule: &EntryRule) -> Result<Option<QueueState>, StoreError> {
        self.check()?;
        self.store.queue(run, rule)
    }
}
