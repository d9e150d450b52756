//! The loop over a real store, with runners that do nothing in the world.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on stops")]

use std::future::{Future, pending, ready};
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::{Command, Decide, Decision, Gate, HoldKind, Outcome, Rejection, Run, RunId, Status, check_log};
use engine::{
    CommandKey, EffectRunner, Engine, EntryRule, Job, NodeId, Parts, Receipt, Refusal, Slots, Store, StoreError,
};
use jiff::{SignedDuration, Timestamp};
use store::{Options, Sqlite};
use testkit::{AgreeableRunner, samples};

/// A clock that tests move.
#[derive(Clone)]
struct Hands(Arc<Mutex<Timestamp>>);

impl Hands {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(samples::at(0))))
    }

    fn forward(&self, by: SignedDuration) {
        let mut now = self.0.lock().unwrap();
        *now = now.checked_add(by).unwrap();
    }

    fn clock(&self) -> engine::Clock {
        let now = Arc::clone(&self.0);
        Arc::new(move || *now.lock().unwrap())
    }
}

/// A runner whose effects never end.
struct Sleeper;

impl EffectRunner for Sleeper {
    fn run(self: Arc<Self>, _: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        Box::pin(pending())
    }
}

fn start(store: Arc<dyn Store>, runner: Arc<dyn EffectRunner>, hands: &Hands) -> Engine {
    Engine::start(Parts { clock: hands.clock(), ..parts(store, runner) }).unwrap()
}

fn parts(store: Arc<dyn Store>, runner: Arc<dyn EffectRunner>) -> Parts {
    Parts {
        store,
        runner,
        clock: Arc::new(Timestamp::now),
        slots: Slots { heavy: 8, light: 8 },
        entry: EntryRule::default(),
        node: NodeId("here".to_owned()),
        sole_process: true,
    }
}

fn sqlite(folder: &Path) -> Arc<dyn Store> {
    Arc::new(Sqlite::open(&folder.join("holdpoint.db")).unwrap())
}

fn manual() -> domain::RunConfig {
    let mut config = samples::config();
    config.trust.planning = Gate::Manual;
    config
}

async fn begin(engine: &Engine, n: u64, config: domain::RunConfig) -> Result<Receipt, Refusal> {
    engine.submit(samples::run_id(n), Command::Start(Box::new(samples::start(config))), None).await
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

fn approve(run: &Run, who: &str) -> Command {
    let hold = run.hold().unwrap();
    Command::Decide(Decide {
        hold: hold.id,
        digest: hold.digest.clone(),
        decision: Decision::Approve { notes: None },
        by: samples::actor(who),
    })
}

#[tokio::test]
async fn a_run_on_full_trust_ends_by_itself_and_its_log_keeps_every_rule() {
    let folder = tempfile::tempdir().unwrap();
    let (store, runner) = (sqlite(folder.path()), Arc::new(AgreeableRunner::default()));
    let engine = start(Arc::clone(&store), runner.clone(), &Hands::new());
    begin(&engine, 1, samples::config()).await.unwrap();
    let run = until(&engine, &samples::run_id(1), Run::is_ended).await;
    assert_eq!(Status::of(&run), Status::Completed);
    assert_eq!(check_log(&run.id, &store.events(&run.id, 0).unwrap()), []);
    assert!(runner.counts().values().all(|count| *count == 1), "{:?}", runner.counts());
    assert_eq!(store.outbox(None).unwrap(), []);
}

#[tokio::test]
async fn a_run_waits_over_a_restart_and_a_month_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::new();
    let id = samples::run_id(1);
    let engine = start(sqlite(folder.path()), Arc::new(AgreeableRunner::default()), &hands);
    begin(&engine, 1, manual()).await.unwrap();
    until(&engine, &id, |run| run.hold().is_some()).await;
    engine.stop().await;

    hands.forward(SignedDuration::from_hours(31 * 24));
    let store = sqlite(folder.path());
    let engine = start(Arc::clone(&store), Arc::new(AgreeableRunner::default()), &hands);
    let waiting = engine.load(&id).await.unwrap().unwrap();
    assert_eq!(store.outbox(None).unwrap(), [], "a waiting run wants nothing done");
    engine.submit(id.clone(), approve(&waiting, "ada"), None).await.unwrap();
    let run = until(&engine, &id, Run::is_ended).await;
    assert_eq!(Status::of(&run), Status::Completed);
    assert!(run.ended_at.unwrap().duration_since(run.opened().at) > SignedDuration::from_hours(30 * 24));
}

#[tokio::test]
async fn of_two_decisions_at_once_one_counts_and_the_other_is_told_who_was_first() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(sqlite(folder.path()), Arc::new(AgreeableRunner::default()), &Hands::new());
    let id = samples::run_id(1);
    begin(&engine, 1, manual()).await.unwrap();
    let waiting = until(&engine, &id, |run| run.hold().is_some()).await;
    let (ada, bob) = tokio::join!(
        engine.submit(id.clone(), approve(&waiting, "ada"), None),
        engine.submit(id.clone(), approve(&waiting, "bob"), None),
    );
    let (first, second) = if ada.is_ok() { ("ada", bob) } else { ("bob", ada) };
    match second {
        Err(Refusal::Rejected(Rejection::AlreadyDecided { by, .. })) => assert_eq!(by, first),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_command_repeated_under_its_key_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(sqlite(folder.path()), Arc::new(AgreeableRunner::default()), &Hands::new());
    let key = Some(CommandKey("once".to_owned()));
    let command = || Command::Start(Box::new(samples::start(manual())));
    let first = engine.submit(samples::run_id(1), command(), key.clone()).await.unwrap();
    let again = engine.submit(samples::run_id(2), command(), key).await.unwrap();
    assert_eq!((first.repeated, again.repeated), (false, true));
    assert_eq!(again.run.id, samples::run_id(1));
    assert!(engine.load(&samples::run_id(2)).await.unwrap().is_none());
}

#[tokio::test]
async fn after_a_restart_open_effects_are_taken_up_and_no_old_report_counts() {
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::new();
    let engine = start(sqlite(folder.path()), Arc::new(Sleeper), &hands);
    for n in 1..=20 {
        begin(&engine, n, samples::config()).await.unwrap();
    }
    engine.stop().await;

    let runner = Arc::new(AgreeableRunner::default());
    let store = sqlite(folder.path());
    let engine = start(Arc::clone(&store), runner.clone(), &hands);
    for n in 1..=20 {
        let run = until(&engine, &samples::run_id(n), Run::is_ended).await;
        assert_eq!(check_log(&run.id, &store.events(&run.id, 0).unwrap()), []);
    }
    assert!(runner.counts().values().all(|count| *count == 1));
}

#[tokio::test]
async fn a_stage_that_runs_out_of_time_is_stopped_and_a_person_asked() {
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::new();
    let engine = start(sqlite(folder.path()), Arc::new(PlannerSleeps), &hands);
    let id = samples::run_id(1);
    begin(&engine, 1, samples::config()).await.unwrap();
    until(&engine, &id, |run| run.timer().is_some()).await;
    engine.stop().await;

    hands.forward(SignedDuration::from_mins(11));
    let engine = start(sqlite(folder.path()), Arc::new(PlannerSleeps), &hands);
    let run = until(&engine, &id, |run| run.hold().is_some() && run.open_effects.is_empty()).await;
    assert_eq!(run.hold().map(|hold| hold.kind), Some(HoldKind::Timeout));
    assert!(run.timer().is_none());
}

/// Its first agents find the window of their model closed for an instant; everything else is done.
struct ClosedWindows(AtomicU32);

impl EffectRunner for ClosedWindows {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let is_agent = matches!(job.effect, domain::Effect::RunAgent(_));
        if !is_agent || self.0.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_err() {
            return Arc::new(AgreeableRunner::default()).run(job);
        }
        let resets_at = Some(Timestamp::now() + SignedDuration::from_millis(200));
        let end = domain::AgentEnd::QuotaSpent { reason: "spent".to_owned(), resets_at };
        Box::pin(ready(Outcome::AgentEnded { end, tier: None, program: None, wip: None }))
    }
}

#[tokio::test]
async fn clocks_fire_on_time_one_after_another_while_the_engine_runs() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(folder.path());
    let engine = Engine::start(parts(Arc::clone(&store), Arc::new(ClosedWindows(3.into())))).unwrap();
    begin(&engine, 1, samples::config()).await.unwrap();
    let id = samples::run_id(1);
    // Far below the time after which the clocks are looked at anyway.
    let ended = tokio::time::timeout(Duration::from_secs(10), until(&engine, &id, Run::is_ended)).await;
    assert_eq!(Status::of(&ended.expect("a closed window opens in an instant")), Status::Completed);
    let passed = |recorded: &&domain::Recorded| matches!(recorded.event, domain::Event::DeadlinePassed { .. });
    assert_eq!(store.events(&id, 0).unwrap().iter().filter(passed).count(), 3);
}

/// Agents never end; everything else is done.
struct PlannerSleeps;

impl EffectRunner for PlannerSleeps {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        match job.effect {
            domain::Effect::RunAgent(_) => Box::pin(pending()),
            _ => Arc::new(AgreeableRunner::default()).run(job),
        }
    }
}

#[tokio::test]
async fn cancelling_stops_the_work_and_only_clean_up_follows() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(folder.path());
    let engine = start(Arc::clone(&store), Arc::new(PlannerSleeps), &Hands::new());
    let id = samples::run_id(1);
    begin(&engine, 1, samples::config()).await.unwrap();
    until(&engine, &id, |run| run.timer().is_some()).await;
    engine.submit(id.clone(), Command::Cancel { by: samples::actor("ada"), reason: None }, None).await.unwrap();
    let run = until(&engine, &id, |run| run.is_ended() && run.open_effects.is_empty()).await;
    assert_eq!(Status::of(&run), Status::Cancelled);
    assert_eq!(check_log(&id, &store.events(&id, 0).unwrap()), []);
    assert_eq!(engine.busy(), 0);
}

#[tokio::test]
async fn a_full_disk_refuses_the_command_and_the_engine_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("holdpoint.db");
    drop(Sqlite::open(&path).unwrap());
    let pages = u32::try_from(path.metadata().unwrap().len() / 4096).unwrap();
    let options = Options { max_pages: Some(pages + 4), ..Options::default() };
    let store: Arc<dyn Store> = Arc::new(Sqlite::open_with(&path, options).unwrap());
    let engine = start(store, Arc::new(Sleeper), &Hands::new());
    let mut refused = None;
    for n in 1..100 {
        if let Err(refusal) = begin(&engine, n, samples::config()).await {
            refused = Some(refusal);
            break;
        }
    }
    assert!(matches!(refused, Some(Refusal::Store(StoreError::Full))), "{refused:?}");
    assert!(engine.load(&samples::run_id(1)).await.unwrap().is_some(), "what was taken is there");
}

#[tokio::test]
async fn runs_beyond_the_slots_wait_their_turn_and_all_end() {
    let folder = tempfile::tempdir().unwrap();
    let store = sqlite(folder.path());
    let parts = Parts {
        store: Arc::clone(&store),
        runner: Arc::new(AgreeableRunner::default()),
        clock: Hands::new().clock(),
        slots: Slots { heavy: 2, light: 2 },
        entry: EntryRule { per_user: 60, waiting: 60 },
        node: NodeId("here".to_owned()),
        sole_process: true,
    };
    let engine = Engine::start(parts).unwrap();
    let starts = (1..=60).map(|n| begin(&engine, n, samples::config()));
    for started in futures_util::future::join_all(starts).await {
        started.unwrap();
    }
    for n in 1..=60 {
        until(&engine, &samples::run_id(n), Run::is_ended).await;
    }
    assert_eq!(store.outbox(None).unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_keeps_the_times_of_its_origin_and_goes_on_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let hands = Hands::new();
    let open = || -> Arc<dyn Store> { Arc::new(Sqlite::open(&folder.path().join("holdpoint.db")).unwrap()) };
    let store = open();
    let engine = start(Arc::clone(&store), Arc::new(AgreeableRunner::default()), &hands);
    let origin = samples::run_id(1);
    let mut config = samples::config();
    config.trust.planning = Gate::Manual;
    engine.submit(origin.clone(), Command::Start(Box::new(samples::start(config))), None).await.unwrap();
    let mut positions = engine.positions();
    while engine.load(&origin).await.unwrap().unwrap().hold().is_none() {
        positions.changed().await.unwrap();
    }
    engine.stop().await;
    hands.forward(SignedDuration::from_hours(48));
    let engine = start(Arc::clone(&store), Arc::new(Sleeper), &hands);
    let (fork, log) = (samples::run_id(2), store.events(&origin, 0).unwrap());
    let decision = Some(Decision::Approve { notes: None });
    let changes = domain::ForkChanges { decision, ..domain::ForkChanges::default() };
    let asked = domain::Fork { origin, log: log.clone(), changes, by: samples::actor("eve") };
    engine.submit(fork.clone(), Command::Fork(Box::new(asked)), None).await.unwrap();
    let inherited = store.events(&fork, 1).unwrap();
    assert_eq!(inherited[..log.len() - 1], log[1..], "number by number, with the times it happened");
    assert_eq!(inherited.last().unwrap().at, samples::at(0) + SignedDuration::from_hours(48));
    engine.stop().await;
    drop((engine, store));
    let store = open();
    let engine = start(Arc::clone(&store), Arc::new(AgreeableRunner::default()), &hands);
    let mut positions = engine.positions();
    while !engine.load(&fork).await.unwrap().unwrap().is_ended() {
        positions.changed().await.unwrap();
    }
    assert_eq!(check_log(&fork, &store.events(&fork, 0).unwrap()), []);
    assert_eq!(domain::check_fork(&store.events(&fork, 0).unwrap(), &log), []);
    engine.stop().await;
}
