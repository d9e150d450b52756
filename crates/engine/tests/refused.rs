//! A no that rests on a decision of the same batch, whose transaction then fails: nothing of it may count.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::{Command, Effect, EffectId, Outcome, Recorded, RunId};
use engine::{
    Batch, CommandKey, Committed, DueTimer, EffectRunner, Engine, EntryRule, FeedItem, Job, NodeId, OutboxRow, Parts,
    QueueState, Refusal, Row, RunFilter, Slots, Store, StoreError,
};
use jiff::Timestamp;
use testkit::{AgreeableRunner, MemoryStore, samples};
use tokio::sync::{Notify, mpsc};

/// A store whose writes wait at a gate, and of which one can be made to fail.
struct Gated {
    inner: MemoryStore,
    gate: Mutex<()>,
    /// Told before each write.
    at_gate: mpsc::UnboundedSender<()>,
    /// Writes that pass before one fails.
    until_failure: Mutex<Option<u32>>,
}

impl Store for Gated {
    fn commit(&self, batch: &Batch) -> Result<Committed, StoreError> {
        let _ = self.at_gate.send(());
        drop(self.gate.lock().unwrap());
        let mut left = self.until_failure.lock().unwrap();
        if *left == Some(0) {
            *left = None;
            return Err(StoreError::Full);
        }
        *left = left.map(|left| left - 1);
        self.inner.commit(batch)
    }

    fn events(&self, run: &RunId, after: u64) -> Result<Vec<Recorded>, StoreError> {
        self.inner.events(run, after)
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

/// The first run's planner ends when it is told; everything else is done at once.
struct Waits {
    begun: Notify,
    go: Notify,
}

impl EffectRunner for Waits {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let planner = matches!(&job.effect, Effect::RunAgent(task) if task.stage == "planning");
        let EffectId { run, .. } = &job.id;
        if !planner || *run != samples::run_id(1) {
            return Arc::new(AgreeableRunner::default()).run(job);
        }
        Box::pin(async move {
            self.begun.notify_one();
            self.go.notified().await;
            Arc::new(AgreeableRunner::default()).run(job).await
        })
    }
}

#[tokio::test]
async fn a_report_refused_for_the_sake_of_what_was_not_stored_is_told_again() {
    let (at_gate, mut knocks) = mpsc::unbounded_channel();
    let (inner, gate, until_failure) = (MemoryStore::default(), Mutex::new(()), Mutex::new(None));
    let store = Arc::new(Gated { inner, gate, at_gate, until_failure });
    let runner = Arc::new(Waits { begun: Notify::new(), go: Notify::new() });
    let engine = Engine::start(Parts {
        store: store.clone(),
        runner: runner.clone(),
        clock: Arc::new(Timestamp::now),
        slots: Slots { heavy: 4, light: 4 },
        entry: EntryRule::default(),
        node: NodeId("here".to_owned()),
        sole_process: true,
    })
    .unwrap();
    let start = || Command::Start(Box::new(samples::start(samples::config())));
    engine.submit(samples::run_id(1), start(), None).await.unwrap();
    runner.begun.notified().await;
    while knocks.try_recv().is_ok() {}

    // The desk stands at the gate with another run; meanwhile a person cancels, and then the planner ends.
    let (closed, opened) = std::sync::mpsc::channel();
    let at_the_gate = {
        let store = store.clone();
        std::thread::spawn(move || {
            let guard = store.gate.lock().unwrap();
            closed.send(()).unwrap();
            std::thread::park();
            drop(guard);
        })
    };
    opened.recv().unwrap();
    let other = tokio::spawn({
        let engine = engine.clone();
        async move { engine.submit(samples::run_id(2), start(), None).await }
    });
    knocks.recv().await.unwrap();
    let cancelled = tokio::spawn({
        let engine = engine.clone();
        let cancel = Command::Cancel { by: samples::actor("ada"), reason: None };
        async move { engine.submit(samples::run_id(1), cancel, None).await }
    });
    tokio::task::yield_now().await;
    runner.go.notify_one();
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    *store.until_failure.lock().unwrap() = Some(1);
    at_the_gate.thread().unpark();
    at_the_gate.join().unwrap();
    other.await.unwrap().unwrap();
    assert!(matches!(cancelled.await.unwrap(), Err(Refusal::Store(StoreError::Full))));

    let mut positions = engine.positions();
    let ended = async {
        while !engine.load(&samples::run_id(1)).await.unwrap().unwrap().is_ended() {
            positions.changed().await.unwrap();
        }
    };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("the planner's work is not forgotten");
}
