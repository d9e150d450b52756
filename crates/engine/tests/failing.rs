//! What fails in the engine: storage ends the writer and says so; a bug ends no more than the run or effect it is in.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use domain::{AgentEnd, Command, Effect, HoldKind, Outcome, Run, RunId, Severity, Status, Verdict, Work};
use engine::{Batch, EffectRunner, Engine, EntryRule, Job, NodeId, Parts, Refusal, Slots, Store, StoreError, Writer};
use jiff::Timestamp;
use testkit::{AgreeableRunner, FaultyStore, History, StoreFault, agree, samples};

fn begin(store: Arc<FaultyStore>, runner: Arc<dyn EffectRunner>) -> Engine {
    Engine::start(Parts {
        store,
        runner,
        clock: Arc::new(Timestamp::now),
        // One of each: whatever keeps a slot for ever stops everybody.
        slots: Slots { heavy: 1, light: 1 },
        entry: EntryRule::default(),
        node: NodeId("here".to_owned()),
        sole_process: true,
    })
    .unwrap()
}

fn start() -> Command {
    Command::Start(Box::new(samples::start(samples::config())))
}

/// Waits until the writer has ended, and says how.
async fn ended(engine: &Engine) -> Writer {
    let mut writer = engine.writer();
    let ended = tokio::time::timeout(Duration::from_secs(60), writer.wait_for(|state| *state != Writer::Running)).await;
    ended.expect("the writer ends").unwrap().clone()
}

#[tokio::test]
async fn a_disk_that_fails_ends_the_writer_and_nothing_is_taken_after_it() {
    let store = Arc::new(FaultyStore::default());
    let engine = begin(store.clone(), Arc::new(AgreeableRunner::default()));
    engine.submit(samples::run_id(1), start(), None).await.unwrap();
    store.fail(StoreFault::Commit(StoreError::Disk("fsync: Input/output error".to_owned())));
    let refused = engine.submit(samples::run_id(2), start(), None).await;
    assert!(matches!(refused, Err(Refusal::Store(StoreError::Disk(_)) | Refusal::Stopped)), "{refused:?}");
    let Writer::Failed(reason) = ended(&engine).await else { panic!("it did not fail") };
    assert!(reason.contains("fsync"), "{reason}");
    let after = engine.submit(samples::run_id(3), start(), None).await;
    assert!(matches!(after, Err(Refusal::Stopped)), "{after:?}");
}

#[tokio::test]
async fn a_panic_in_the_writer_ends_it_and_is_told() {
    let store = Arc::new(FaultyStore::default());
    let engine = begin(store.clone(), Arc::new(AgreeableRunner::default()));
    store.fail(StoreFault::Panic);
    let refused = engine.submit(samples::run_id(1), start(), None).await;
    assert!(matches!(refused, Err(Refusal::Stopped)), "{refused:?}");
    let Writer::Failed(reason) = ended(&engine).await else { panic!("it did not fail") };
    assert!(reason.contains("a bug in the store"), "{reason}");
}

#[tokio::test]
async fn a_writer_that_was_asked_to_end_did_not_fail() {
    let engine = begin(Arc::new(FaultyStore::default()), Arc::new(AgreeableRunner::default()));
    engine.stop().await;
    assert_eq!(ended(&engine).await, Writer::Stopped);
}

/// Waits, by the feed of positions, until a run satisfies a condition.
async fn until(engine: &Engine, id: &RunId, wanted: impl Fn(&Run) -> bool) -> Run {
    let mut positions = engine.positions();
    let reached = async {
        loop {
            positions.mark_unchanged();
            if let Some(run) = engine.load(id).await.unwrap().filter(&wanted) {
                return run;
            }
            positions.changed().await.expect("the writer lives");
        }
    };
    tokio::time::timeout(Duration::from_secs(60), reached).await.expect("the run gets there")
}

/// A start whose judge sends failures to a stage that does not exist: the core panics on the first of them.
fn broken_start() -> Command {
    let mut start = samples::start(samples::config());
    for stage in &mut start.playbook.stages {
        if let Work::Judge { on_fail, .. } = &mut stage.work {
            "nowhere".clone_into(on_fail);
        }
    }
    Command::Start(Box::new(start))
}

/// Judges say FAIL to the first run; everything else is done well.
struct Strict;

impl EffectRunner for Strict {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let mut outcome = agree(&job.run, job.id.number, &job.effect);
        if let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut outcome
            && let Some(review) = &mut submission.review
            && job.id.run == samples::run_id(1)
        {
            *review = samples::review(Verdict::Fail, Severity::Minor);
        }
        Box::pin(ready(outcome))
    }
}

#[tokio::test]
async fn a_panic_while_deciding_makes_that_run_wait_with_a_report_and_the_others_go_on() {
    let engine = begin(Arc::new(FaultyStore::default()), Arc::new(Strict));
    engine.submit(samples::run_id(1), broken_start(), None).await.unwrap();
    let held = until(&engine, &samples::run_id(1), |run| run.hold().is_some()).await;
    let hold = held.hold().unwrap();
    assert_eq!(hold.kind, HoldKind::Stuck);
    assert!(hold.summary.contains("on_fail names one of its stages"), "{}", hold.summary);
    engine.submit(samples::run_id(2), start(), None).await.unwrap();
    let other = until(&engine, &samples::run_id(2), Run::is_ended).await;
    assert_eq!(Status::of(&other), Status::Completed);
    assert_eq!(*engine.writer().borrow(), Writer::Running);
}

/// Panics on the first run's planner.
struct Clumsy;

impl EffectRunner for Clumsy {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let clumsy = matches!(job.effect, Effect::RunAgent(_)) && job.id.run == samples::run_id(1);
        Box::pin(async move {
            assert!(!clumsy, "the runner tripped");
            agree(&job.run, job.id.number, &job.effect)
        })
    }
}

#[tokio::test]
async fn a_panicked_effect_is_a_failed_one_and_frees_its_slot() {
    let engine = begin(Arc::new(FaultyStore::default()), Arc::new(Clumsy));
    engine.submit(samples::run_id(1), start(), None).await.unwrap();
    let held = until(&engine, &samples::run_id(1), |run| run.hold().is_some()).await;
    let hold = held.hold().unwrap();
    assert_eq!(hold.kind, HoldKind::Stuck);
    assert!(hold.summary.contains("the runner tripped"), "{}", hold.summary);
    engine.submit(samples::run_id(2), start(), None).await.unwrap();
    until(&engine, &samples::run_id(2), Run::is_ended).await;
    assert_eq!(engine.busy(), 0);
}

#[tokio::test]
async fn a_run_that_cannot_even_be_read_is_left_alone_and_the_others_go_on() {
    let store = Arc::new(FaultyStore::default());
    let mut history = History::unopened(samples::run_id(1));
    let started = history.take(start()).unwrap();
    let opened = history.report(1, Outcome::BranchOpened { base: samples::commit(1) }).unwrap();
    store.commit(&Batch { appends: vec![started, opened], lease: None }).unwrap();
    store.lose_first_event(&samples::run_id(1));
    let engine = begin(store, Arc::new(AgreeableRunner::default()));
    engine.submit(samples::run_id(2), start(), None).await.unwrap();
    until(&engine, &samples::run_id(2), Run::is_ended).await;
    let cancel = Command::Cancel { by: samples::actor("ada"), reason: None };
    let refused = engine.submit(samples::run_id(1), cancel, None).await;
    assert!(matches!(refused, Err(Refusal::Quarantined(_))), "{refused:?}");
    let report = engine.quarantined(&samples::run_id(1)).unwrap();
    assert!(report.contains("every log begins with RUN_STARTED"), "{report}");
}
