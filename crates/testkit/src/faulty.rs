//! A store that can be made to fail: what a disk, or a bug, does to the engine.

use std::sync::Mutex;

use domain::{Recorded, RunId};
use engine::{
    Batch, CommandKey, Committed, DueTimer, EntryRule, FeedItem, NodeId, OutboxRow, QueueState, Row, RunFilter, Store,
    StoreError,
};
use jiff::Timestamp;

use crate::MemoryStore;

/// A store in memory whose writes fail as told.
#[derive(Default)]
pub struct FaultyStore {
    inner: MemoryStore,
    fault: Mutex<Option<StoreFault>>,
    headless: Mutex<Option<RunId>>,
}

/// How writes fail.
#[derive(Debug, Clone)]
pub enum StoreFault {
    /// Every commit is refused.
    Commit(StoreError),
    /// Every commit panics.
    Panic,
}

impl FaultyStore {
    /// Every write from now on fails so.
    pub fn fail(&self, fault: StoreFault) {
        *self.fault.lock().expect("no test panics while setting a fault") = Some(fault);
    }

    /// From now on the first event of a run is not told: a log that the core trusts never to see.
    pub fn lose_first_event(&self, run: &RunId) {
        *self.headless.lock().expect("no test panics while setting a fault") = Some(run.clone());
    }

    fn fault(&self) -> Option<StoreFault> {
        self.fault.lock().expect("no test panics while reading a fault").clone()
    }
}

impl Store for FaultyStore {
    fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
        match self.fault() {
            Some(StoreFault::Commit(error)) => Err(error),
            Some(StoreFault::Panic) => panic!("a bug in the store"),
            None => self.inner.commit(batch),
        }
    }

    fn events(&self, run: &RunId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        let mut events = self.inner.events(run, after)?;
        if self.headless.lock().expect("no test panics while reading a fault").as_ref() == Some(run) {
            events.retain(|recorded| recorded.sequence > 1);
        }
        Ok(events)
    }

    fn feed(&self, after: u64, limit: usize) -> Result<Vec<FeedItem>, StoreError> {
        self.inner.feed(after, limit)
    }

    fn position(&self) -> Result<u64, StoreError> {
        self.inner.position()
    }

    fn row(&self, run: &RunId) -> Result<Option<Row>, StoreError> {
        self.inner.row(run)
    }

    fn rows(&self, filter: &RunFilter) -> Result<Vec<Row>, StoreError> {
        self.inner.rows(filter)
    }

    fn ids_with_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<RunId>, StoreError> {
        self.inner.ids_with_prefix(prefix, limit)
    }

    fn command(&self, key: &CommandKey) -> Result<Option<(RunId, u64)>, StoreError> {
        self.inner.command(key)
    }

    fn due_timers(&self, now: Timestamp, limit: usize) -> Result<Vec<DueTimer>, StoreError> {
        self.inner.due_timers(now, limit)
    }

    fn next_timer(&self) -> Result<Option<Timestamp>, StoreError> {
        self.inner.next_timer()
    }

    fn release_all_leases(&self) -> Result<u64, StoreError> {
        self.inner.release_all_leases()
    }

    fn renew(&self, node: &NodeId, until: Timestamp) -> Result<u64, StoreError> {
        self.inner.renew(node, until)
    }

    fn outbox(&self, run: Option<&RunId>) -> Result<Vec<OutboxRow>, StoreError> {
        self.inner.outbox(run)
    }

    fn queue(&self, run: &RunId, rule: &EntryRule) -> Result<Option<QueueState>, StoreError> {
        self.inner.queue(run, rule)
    }
}
