//! What fails in the engine: storage ends the writer and says so; a bug ends no more than the run or effect it is in.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::sync::Arc;
use std::time::Duration;

use domain::Command;
use engine::{EffectRunner, Engine, EntryRule, NodeId, Parts, Refusal, Slots, StoreError, Writer};
use jiff::Timestamp;
use testkit::{AgreeableRunner, FaultyStore, StoreFault, samples};

fn begin(store: Arc<FaultyStore>, runner: Arc<dyn EffectRunner>) -> Engine {
    Engine::start(Parts {
        store,
        runner,
        clock: Arc::new(Timestamp::now),
        slots: Slots { heavy: 2, light: 2 },
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
