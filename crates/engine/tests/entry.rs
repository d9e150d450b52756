//! Runs that wait to be let in, over a real store: they begin as soon as they may, and only then.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::future::{Future, pending};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use domain::{Command, Decide, Decision, Effect, Event, Gate, Outcome, Phase, Priority, Run, RunId, Status};
use engine::{Blocked, EffectRunner, Engine, EntryRule, Job, NodeId, Parts, QueueState, Slots, Store, StoreError};
use store::Sqlite;
use testkit::{AgreeableRunner, samples};

/// Agents never end; everything else is done.
struct BusyAgents;

impl EffectRunner for BusyAgents {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        match job.effect {
            Effect::RunAgent(_) => Box::pin(pending()),
            _ => Arc::new(AgreeableRunner::default()).run(job),
        }
    }
}

struct Place {
    folder: tempfile::TempDir,
    rule: EntryRule,
}

impl Place {
    fn new(per_user: u32, waiting: u32) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), rule: EntryRule { per_user, waiting } }
    }

    fn engine(&self, runner: Arc<dyn EffectRunner>, slots: Slots) -> Engine {
        let parts = Parts {
            store: sqlite(self.folder.path()).unwrap(),
            runner,
            clock: Arc::new(|| samples::at(0)),
            slots,
            entry: self.rule,
            node: NodeId("here".to_owned()),
            sole_process: true,
        };
        Engine::start(parts).unwrap()
    }

    fn busy(&self) -> Engine {
        self.engine(Arc::new(BusyAgents), Slots { heavy: 8, light: 8 })
    }

    fn agreeable(&self) -> Engine {
        self.engine(Arc::new(AgreeableRunner::default()), Slots { heavy: 8, light: 8 })
    }
}

fn sqlite(folder: &Path) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(Sqlite::open(&folder.join("holdpoint.db"))?))
}

async fn begin(engine: &Engine, n: u64, change: impl FnOnce(&mut domain::Start)) -> RunId {
    let mut start = samples::start(samples::config());
    change(&mut start);
    engine.submit(samples::run_id(n), Command::Start(Box::new(start)), None).await.unwrap();
    samples::run_id(n)
}

fn manual(start: &mut domain::Start) {
    start.config.trust.planning = Gate::Manual;
}

/// Waits, by the feed of positions, until a run satisfies a condition.
async fn until(engine: &Engine, id: &RunId, wanted: impl Fn(&Run) -> bool) -> Run {
    let mut positions = engine.positions();
    loop {
        positions.mark_unchanged();
        if let Some(run) = engine.load(id).await.unwrap().filter(&wanted) {
            return run;
        }
        positions.changed().await.unwrap();
    }
}

fn is_working(run: &Run) -> bool {
    matches!(run.phase, Phase::Working { .. })
}

async fn cancel(engine: &Engine, id: &RunId) {
    let cancel = Command::Cancel { by: samples::actor("ada"), reason: None };
    engine.submit(id.clone(), cancel, None).await.unwrap();
}

/// Runs whose branch was made, in that order.
fn order_of_entry(store: &dyn Store) -> Vec<RunId> {
    let feed = store.feed(0, 10_000).unwrap();
    let made = feed.into_iter().filter(|item| matches!(item.recorded.event, Event::BranchCreated { .. }));
    made.map(|item| item.run).collect()
}

#[tokio::test]
async fn a_run_that_is_let_in_is_leased_in_the_transaction_that_starts_it() {
    struct Nothing;
    impl EffectRunner for Nothing {
        fn run(self: Arc<Self>, _: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
            Box::pin(pending())
        }
    }
    let place = Place::new(1, 9);
    let engine = place.engine(Arc::new(Nothing), Slots { heavy: 1, light: 4 });
    let (one, two) = (begin(&engine, 1, |_| {}).await, begin(&engine, 2, |_| {}).await);
    let leased = |id: &RunId| engine.store().outbox(Some(id)).unwrap()[0].lease.is_some();
    assert_eq!((leased(&one), leased(&two)), (true, false));
    assert_eq!(engine.busy(), 1);
    assert_eq!(Status::of(&engine.load(&two).await.unwrap().unwrap()), Status::Queued);
}

#[tokio::test]
async fn a_queued_run_begins_when_another_of_its_user_ends() {
    let place = Place::new(1, 9);
    let engine = place.busy();
    let (one, two) = (begin(&engine, 1, |_| {}).await, begin(&engine, 2, |_| {}).await);
    until(&engine, &one, is_working).await;
    let blocked_by = Blocked::UserLimit { limit: 1 };
    let waits = QueueState { ahead: 0, active: 1, waiting: 0, blocked_by };
    assert_eq!(engine.queue(&two).await.unwrap(), Some(waits));
    let other = begin(&engine, 3, |start| start.by = samples::actor("bob")).await;
    until(&engine, &other, is_working).await;
    cancel(&engine, &one).await;
    until(&engine, &two, is_working).await;
    assert_eq!(engine.queue(&two).await.unwrap(), None);
}

#[tokio::test]
async fn a_decision_lets_in_the_run_that_waited_for_fewer_reviews() {
    let place = Place::new(9, 1);
    let engine = place.agreeable();
    let mut held = Vec::new();
    for n in 1..=2 {
        let id = begin(&engine, n, manual).await;
        held.push(until(&engine, &id, |run| run.hold().is_some()).await);
    }
    let third = begin(&engine, 3, manual).await;
    let state = engine.queue(&third).await.unwrap().unwrap();
    assert_eq!((state.waiting, state.blocked_by), (2, Blocked::Reviews { limit: 1 }));
    let hold = held[0].hold().unwrap();
    let decide = Decide {
        hold: hold.id,
        digest: hold.digest.clone(),
        decision: Decision::Approve { notes: None },
        by: samples::actor("ada"),
    };
    engine.submit(held[0].id.clone(), Command::Decide(decide), None).await.unwrap();
    until(&engine, &third, |run| run.hold().is_some()).await;
}

#[tokio::test]
async fn the_queue_and_its_order_outlive_a_restart() {
    let place = Place::new(1, 9);
    let engine = place.busy();
    for (n, priority) in [(1, Priority::Normal), (2, Priority::Low), (3, Priority::Normal), (4, Priority::High)] {
        begin(&engine, n, |start| start.config.priority = priority).await;
    }
    until(&engine, &samples::run_id(1), is_working).await;
    engine.stop().await;

    let engine = place.agreeable();
    for n in 1..=4 {
        until(&engine, &samples::run_id(n), Run::is_ended).await;
    }
    let expected = [1, 4, 3, 2].map(samples::run_id);
    assert_eq!(order_of_entry(engine.store().as_ref()), expected);
}

#[tokio::test]
async fn a_queued_run_can_be_cancelled_and_gives_up_its_place() {
    let place = Place::new(1, 9);
    let engine = place.busy();
    let ids = [begin(&engine, 1, |_| {}).await, begin(&engine, 2, |_| {}).await, begin(&engine, 3, |_| {}).await];
    until(&engine, &ids[0], is_working).await;
    cancel(&engine, &ids[1]).await;
    assert_eq!(engine.queue(&ids[2]).await.unwrap().map(|state| state.ahead), Some(0));
    cancel(&engine, &ids[0]).await;
    until(&engine, &ids[2], is_working).await;
    assert_eq!(order_of_entry(engine.store().as_ref()), [ids[0].clone(), ids[2].clone()]);
}

#[tokio::test]
async fn many_runs_go_through_few_places_and_never_more_at_once() {
    let place = Place::new(3, 99);
    let engine = place.engine(Arc::new(AgreeableRunner::default()), Slots { heavy: 4, light: 1 });
    let starts = (1..=40).map(|n| begin(&engine, n, |_| {}));
    let ids = futures_util::future::join_all(starts).await;
    for id in &ids {
        until(&engine, id, Run::is_ended).await;
    }
    let mut active = 0_i32;
    for item in engine.store().feed(0, 100_000).unwrap() {
        match item.recorded.event {
            Event::BranchCreated { .. } => active += 1,
            Event::RunCompleted { .. } | Event::RunFailed { .. } | Event::RunCancelled { .. } => active -= 1,
            _ => {}
        }
        assert!(active <= 3, "{active} at once");
    }
}
