//! Random interleavings of commands, leases and reports: SQLite answers as the store in memory does.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use domain::{Command, Decision, Priority};
use engine::{Append, Appended, Batch, CommandKey, EntryRule, Fence, LeaseWish, NodeId, RunFilter, Store};
use proptest::prelude::*;
use testkit::{History, MemoryStore, samples};

#[derive(Debug, Clone)]
enum Step {
    Start { run: u64, namesake: bool, key: Option<u8>, priority: Priority },
    Report { run: u64, stale: bool, epoch: Option<u64> },
    Fire { run: u64 },
    Extend { run: u64 },
    Cancel { run: u64, key: Option<u8> },
    Lease { node: u8, heavy: usize, light: usize, after: i64, entry: Option<EntryRule> },
    Renew { node: u8, after: i64 },
    Release,
}

fn step() -> impl Strategy<Value = Step> {
    let run = 1..7_u64;
    let priority = prop_oneof![Just(Priority::Low), Just(Priority::Normal), Just(Priority::High)];
    let rule = (1..3_u32, 0..3_u32).prop_map(|(per_user, waiting)| EntryRule { per_user, waiting });
    prop_oneof![
        3 => (run.clone(), prop::bool::weighted(0.2), prop::option::of(0..3_u8), priority)
            .prop_map(|(run, namesake, key, priority)| Step::Start { run, namesake, key, priority }),
        8 => (run.clone(), prop::bool::weighted(0.2), prop::option::of(0..4_u64))
            .prop_map(|(run, stale, epoch)| Step::Report { run, stale, epoch }),
        2 => run.clone().prop_map(|run| Step::Fire { run }),
        2 => run.clone().prop_map(|run| Step::Extend { run }),
        1 => (run, prop::option::of(0..3_u8)).prop_map(|(run, key)| Step::Cancel { run, key }),
        6 => (0..2_u8, 0..3_usize, 0..3_usize, 0..4000_i64, prop::option::weighted(0.8, rule))
            .prop_map(|(node, heavy, light, after, entry)| Step::Lease { node, heavy, light, after, entry }),
        1 => (0..2_u8, 0..4000_i64).prop_map(|(node, after)| Step::Renew { node, after }),
        1 => Just(Step::Release),
    ]
}

/// Both stores, and the runs as their one engine would see them.
struct Pair {
    memory: MemoryStore,
    sqlite: store::Sqlite,
    runs: Vec<History>,
    clock: i64,
}

impl Pair {
    fn both<T: std::fmt::Debug>(&self, ask: impl Fn(&dyn Store) -> T) -> T {
        let (expected, found) = (ask(&self.memory), ask(&self.sqlite));
        assert_eq!(format!("{expected:?}"), format!("{found:?}"));
        found
    }

    fn commit(&self, append: Option<Append>, lease: Option<LeaseWish>) -> Vec<Appended> {
        let batch = Batch { appends: append.into_iter().collect(), lease };
        self.both(|store| store.commit(&batch)).unwrap().appended
    }

    /// Hands in a command; the run moves on only when the stores took it.
    fn take(&mut self, run: u64, command: Command, change: impl FnOnce(&mut Append)) {
        let index = usize::try_from(run - 1).unwrap();
        let mut next = self.runs[index].clone();
        next.now = samples::at(self.clock);
        let Ok(mut append) = next.take(command) else { return };
        change(&mut append);
        if self.commit(Some(append), None) == [Appended::Done] {
            self.runs[index] = next;
        }
    }

    fn step(&mut self, step: Step) {
        self.clock += 500;
        let node = |node: u8| NodeId(format!("node-{node}"));
        let key = |key: Option<u8>| key.map(|key| CommandKey(format!("key-{key}")));
        match step {
            Step::Start { run, namesake: false, key: number, priority } => {
                let config = domain::RunConfig { priority, ..samples::config() };
                let by = samples::actor(["ada", "bob"][usize::from(run % 2 == 0)]);
                let start = domain::Start { by, ..samples::start(config) };
                self.take(run, Command::Start(Box::new(start)), |append| append.key = key(number));
            }
            Step::Start { run, namesake: true, key: number, priority: _ } => {
                let mut other = History::unopened(samples::namesake(run));
                // Without its run the name is free, and would be taken from the run that is to come.
                if self.runs[usize::try_from(run - 1).unwrap()].run.opened.is_none() {
                    return;
                }
                let append = other.take(Command::Start(Box::new(samples::start(samples::config())))).unwrap();
                self.commit(Some(Append { key: key(number), ..append }), None);
            }
            Step::Report { run, stale, epoch } => {
                let history = &self.runs[usize::try_from(run - 1).unwrap()];
                let Some((&number, effect)) = history.run.open_effects.iter().next() else { return };
                let outcome = testkit::agree(&history.run, number, effect);
                let report = Command::Report(domain::Report { effect: number, outcome });
                self.take(run, report, |append| {
                    append.fence = epoch.map(|epoch| Fence { number, epoch });
                    if stale {
                        append.expected -= 1;
                        append.events.iter_mut().for_each(|recorded| recorded.sequence -= 1);
                        append.row = None;
                    }
                });
            }
            Step::Fire { run } => {
                let timer = self.runs[usize::try_from(run - 1).unwrap()].run.timer();
                let timer = timer.map_or(0, |timer| timer.id);
                self.take(run, Command::TimerFired { timer }, |_| {});
            }
            Step::Extend { run } => {
                let Some(hold) = self.runs[usize::try_from(run - 1).unwrap()].run.hold().cloned() else { return };
                let decision = Decision::Extend { minutes: 1 };
                let by = samples::actor("ada");
                let decide = domain::Decide { hold: hold.id, digest: hold.digest, decision, by };
                self.take(run, Command::Decide(decide), |_| {});
            }
            Step::Cancel { run, key: number } => {
                let cancel = Command::Cancel { by: samples::actor("bob"), reason: None };
                self.take(run, cancel, |append| append.key = key(number));
            }
            Step::Lease { node: number, heavy, light, after, entry } => {
                let (now, until) = (samples::at(self.clock), samples::at(self.clock + after));
                self.commit(None, Some(LeaseWish { node: node(number), now, until, heavy, light, entry }));
            }
            Step::Renew { node: number, after } => {
                let until = samples::at(self.clock + after);
                self.both(|store| store.renew(&node(number), until)).unwrap();
            }
            Step::Release => drop(self.both(|store| store.release_all_leases()).unwrap()),
        }
    }

    fn compare(&self) {
        self.both(|store| store.feed(0, 10_000)).unwrap();
        self.both(|store| store.rows(&RunFilter::default())).unwrap();
        self.both(|store| store.outbox(None)).unwrap();
        self.both(|store| store.due_timers(jiff::Timestamp::MAX, 100)).unwrap();
        self.both(|store| store.next_timer()).unwrap();
        for history in &self.runs {
            self.both(|store| store.queue(&history.run.id, &EntryRule::default())).unwrap();
            assert_eq!(self.both(|store| store.events(&history.run.id, 0)).unwrap(), history.log);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_answers_as_the_store_in_memory_does(steps in prop::collection::vec(step(), 1..60)) {
        let directory = tempfile::tempdir().unwrap();
        let sqlite = store::Sqlite::open(&directory.path().join("holdpoint.db")).unwrap();
        let runs = (1..7).map(|n| History::unopened(samples::run_id(n))).collect();
        let mut pair = Pair { memory: MemoryStore::default(), sqlite, runs, clock: 0 };
        for step in steps {
            pair.step(step);
        }
        pair.compare();
    }
}
