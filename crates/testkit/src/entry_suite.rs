//! What every store must do about runs that wait to be let in; part of the store suite.

use domain::{Command, Decision, Effect, Gate, Outcome, Priority, RunId};
use engine::{Append, Appended, Batch, Blocked, Committed, EntryRule, LeaseWish, NodeId, QueueState, Store};

use crate::{History, samples};

type Dyn = dyn Store;

const MINUTE: i64 = 60_000;

/// Starts the n-th run of somebody.
fn ask(store: &Dyn, n: u64, user: &str, priority: Priority, at: i64) -> History {
    let config = domain::RunConfig { priority, ..samples::config() };
    let start = domain::Start { by: samples::actor(user), ..samples::start(config) };
    let mut history = History::unopened(samples::run_id(n));
    history.now = samples::at(at);
    let append = history.take(Command::Start(Box::new(start))).expect("a sample start is taken");
    put(store, append);
    history
}

fn put(store: &Dyn, append: Append) {
    let batch = Batch { appends: vec![append], lease: None };
    assert_eq!(store.commit(&batch).expect("the store takes a batch").appended, [Appended::Done]);
}

fn rule(per_user: u32, waiting: u32) -> Option<EntryRule> {
    Some(EntryRule { per_user, waiting })
}

/// Lets in what a rule lets in, with so many light slots.
fn look(store: &Dyn, at: i64, light: usize, entry: Option<EntryRule>) -> Committed {
    let (now, until) = (samples::at(at), samples::at(at + MINUTE));
    let wish = LeaseWish { node: NodeId("a".to_owned()), now, until, heavy: 0, light, entry };
    store.commit(&Batch { appends: Vec::new(), lease: Some(wish) }).expect("the store takes a wish")
}

fn let_in(store: &Dyn, at: i64, entry: Option<EntryRule>) -> Vec<RunId> {
    entered(&look(store, at, 99, entry))
}

fn entered(committed: &Committed) -> Vec<RunId> {
    let entries = committed.leased.iter().filter(|leased| leased.effect == Effect::OpenBranch);
    entries.map(|leased| leased.id.run.clone()).collect()
}

fn ids(runs: &[u64]) -> Vec<RunId> {
    runs.iter().map(|n| samples::run_id(*n)).collect()
}

/// The run's branch is made.
fn open(store: &Dyn, history: &mut History) {
    put(store, history.report(1, Outcome::BranchOpened { base: samples::commit(1) }).expect("the branch is awaited"));
}

fn cancel(store: &Dyn, history: &mut History) {
    let cancel = Command::Cancel { by: samples::actor("bob"), reason: None };
    put(store, history.take(cancel).expect("an open run can be cancelled"));
}

/// Starts a run that goes on until its plan waits for a person.
fn ask_and_wait(store: &Dyn, n: u64, user: &str) -> History {
    let mut config = samples::config();
    config.trust.planning = Gate::Manual;
    let start = domain::Start { by: samples::actor(user), ..samples::start(config) };
    let mut history = History::unopened(samples::run_id(n));
    put(store, history.take(Command::Start(Box::new(start))).expect("a sample start is taken"));
    for append in history.go_on() {
        put(store, append);
    }
    assert!(history.run.hold().is_some());
    history
}

pub fn no_more_runs_of_a_user_are_let_in_than_the_limit(store: &Dyn) {
    let mut runs: Vec<History> = (1..=4).map(|n| ask(store, n, "ada", Priority::Normal, 0)).collect();
    let first = look(store, 1, 99, rule(2, 9));
    assert_eq!((entered(&first), first.queued), (ids(&[1, 2]), 2));
    assert_eq!(let_in(store, 2, rule(2, 9)), []);
    open(store, &mut runs[0]);
    assert_eq!(let_in(store, 3, rule(2, 9)), [], "a run with a branch is as active as one that gets it");
    cancel(store, &mut runs[1]);
    let next = look(store, 4, 99, rule(2, 9));
    assert_eq!((entered(&next), next.queued), (ids(&[3]), 1));
    for append in runs[0].go_on() {
        put(store, append);
    }
    assert_eq!(let_in(store, 5, rule(2, 9)), ids(&[4]));
    assert_eq!(look(store, 6, 99, rule(2, 9)).queued, 0);
}

pub fn runs_are_let_in_in_the_order_they_were_asked_for(store: &Dyn) {
    for (n, at) in [(1, 30), (2, 10), (3, 20), (4, 20)] {
        ask(store, n, "ada", Priority::Normal, at);
    }
    assert_eq!(let_in(store, 40, rule(3, 9)), ids(&[2, 3, 4]));
    assert_eq!(let_in(store, 40, rule(4, 9)), ids(&[1]));
}

pub fn a_priority_is_worth_ten_minutes(store: &Dyn) {
    ask(store, 1, "ada", Priority::Low, 0);
    ask(store, 2, "ada", Priority::Normal, 10 * MINUTE - 1);
    ask(store, 3, "ada", Priority::Normal, 10 * MINUTE + 1);
    ask(store, 4, "ada", Priority::High, 20 * MINUTE - 2);
    ask(store, 5, "ada", Priority::High, 20 * MINUTE + 2);
    assert_eq!(let_in(store, 30 * MINUTE, rule(9, 9)), ids(&[4, 2, 1, 3, 5]));
}

pub fn a_low_run_gets_in_although_high_ones_keep_coming(store: &Dyn) {
    let low = ask(store, 1, "ada", Priority::Low, 0).run.id;
    // Each minute two more urgent runs come and one place is free: without an end of patience it never is its turn.
    for minute in 1..60 {
        for n in [2 * minute, 2 * minute + 1] {
            ask(store, n, "ada", Priority::High, i64::try_from(minute).unwrap_or(0) * MINUTE);
        }
        let now = i64::try_from(minute).unwrap_or(0) * MINUTE + 1;
        for run in let_in(store, now, rule(1, 9)) {
            if run == low {
                assert!(minute > 20, "a head start counts");
                return;
            }
            let log = store.events(&run, 0).expect("a run let in has a log");
            let mut history = History { run: domain::replay(run, log), log: Vec::new(), now: samples::at(now) };
            cancel(store, &mut history);
        }
    }
    panic!("the run was never let in");
}

pub fn a_user_at_the_limit_holds_up_nobody_else(store: &Dyn) {
    for n in 1..=3 {
        ask(store, n, "ada", Priority::High, 0);
    }
    ask(store, 4, "bob", Priority::Low, 5);
    assert_eq!(let_in(store, 10, rule(1, 9)), ids(&[1, 4]));
    ask(store, 5, "bob", Priority::Normal, 11);
    ask(store, 6, "eve", Priority::Normal, 12);
    assert_eq!(let_in(store, 20, rule(1, 9)), ids(&[6]));
}

pub fn with_too_many_runs_waiting_for_a_person_none_of_that_user_is_let_in(store: &Dyn) {
    let mut waiting: Vec<History> = (1..=3).map(|n| ask_and_wait(store, n, "ada")).collect();
    ask(store, 4, "ada", Priority::Normal, 0);
    ask(store, 5, "bob", Priority::Normal, 1);
    assert_eq!(let_in(store, 10, rule(9, 2)), ids(&[5]));
    put(store, waiting[0].decide("ada", Decision::Approve { notes: None }).expect("a plan can be approved"));
    assert_eq!(let_in(store, 11, rule(9, 2)), ids(&[4]), "as many as the limit may wait");
}

/// The first append of a run that works on a task of another.
fn child_of(parent: &RunId, n: u64) -> (History, Append) {
    let mut history = History::unopened(samples::run_id(n));
    let start = Command::Start(Box::new(samples::start(samples::config())));
    let mut append = history.take(start).expect("a sample start is taken");
    append.row.as_mut().expect("a start has a row").parent = Some(parent.clone());
    (history, append)
}

pub fn a_child_run_is_not_counted_and_never_waits(store: &Dyn) {
    let parent = ask(store, 1, "ada", Priority::Normal, 0).run.id;
    assert_eq!(let_in(store, 1, rule(1, 9)), ids(&[1]));
    for n in 2..=3 {
        let (_, append) = child_of(&parent, n);
        put(store, append);
    }
    ask(store, 4, "ada", Priority::Normal, 0);
    assert_eq!(store.queue(&samples::run_id(2), &EntryRule::default()).ok(), Some(None));
    assert_eq!(let_in(store, 2, None), ids(&[2, 3]), "a child's branch is a light effect like any other");
    assert_eq!(let_in(store, 3, rule(2, 9)), ids(&[4]), "children take no place");
    let row = store.row(&samples::run_id(2)).ok().flatten().expect("a child has a row");
    assert_eq!(row.parent, Some(parent));
}

pub fn entries_take_light_slots_after_what_has_begun(store: &Dyn) {
    let mut first = ask(store, 1, "ada", Priority::Normal, 0);
    ask(store, 2, "bob", Priority::High, 0);
    ask(store, 3, "eve", Priority::High, 0);
    // A cancelled run leaves its clean-up, a light effect.
    cancel(store, &mut first);
    let words = |committed: &Committed| committed.leased.iter().map(|one| one.effect.word()).collect::<Vec<_>>();
    let one = look(store, 10, 1, rule(9, 9));
    assert_eq!((words(&one), one.queued), (vec!["clean_up"], 2));
    let two = look(store, 11, 1, rule(9, 9));
    assert_eq!((words(&two), two.queued), (vec!["open_branch"], 1));
    assert_eq!(words(&look(store, 12, 0, rule(9, 9))), Vec::<&str>::new());
}

pub fn a_light_wish_without_a_rule_lets_nobody_in(store: &Dyn) {
    ask(store, 1, "ada", Priority::Normal, 0);
    assert_eq!(let_in(store, 1, None), []);
}

pub fn an_entry_whose_lease_ran_out_is_let_in_again_and_nobody_beside_it(store: &Dyn) {
    ask(store, 1, "ada", Priority::Normal, 0);
    ask(store, 2, "ada", Priority::Normal, 1);
    assert_eq!(let_in(store, 10, rule(1, 9)), ids(&[1]));
    assert_eq!(let_in(store, 9 + MINUTE, rule(1, 9)), []);
    let again = look(store, 10 + MINUTE, 99, rule(1, 9));
    let epochs: Vec<u64> = again.leased.iter().map(|one| one.lease.epoch).collect();
    assert_eq!((entered(&again), epochs, again.queued), (ids(&[1]), vec![2], 1));
    store.release_all_leases().expect("leases can be taken back");
    assert_eq!(let_in(store, 11 + MINUTE, rule(1, 9)), ids(&[1]), "it keeps its place over a restart");
}

pub fn a_queued_run_knows_what_keeps_it_out(store: &Dyn) {
    let mut one = ask(store, 1, "ada", Priority::Normal, 0);
    let mut two = ask(store, 2, "ada", Priority::Normal, 1);
    ask(store, 3, "ada", Priority::Normal, 2);
    ask(store, 4, "bob", Priority::High, 0);
    let state = |n: u64, rule: Option<EntryRule>| {
        store.queue(&samples::run_id(n), &rule.unwrap_or_default()).expect("the store can be asked")
    };
    assert_eq!(let_in(store, 10, rule(1, 9)), ids(&[4, 1]));
    assert_eq!(state(1, rule(1, 9)), None);
    assert_eq!(state(9, rule(1, 9)), None);
    let blocked_by = Blocked::UserLimit { limit: 1 };
    assert_eq!(state(3, rule(1, 9)), Some(QueueState { ahead: 1, active: 1, waiting: 0, blocked_by }));
    assert_eq!(state(3, rule(2, 9)).map(|state| state.blocked_by), Some(Blocked::Slots));
    ask_and_wait(store, 5, "ada");
    let blocked_by = Blocked::Reviews { limit: 0 };
    assert_eq!(state(3, rule(1, 0)), Some(QueueState { ahead: 1, active: 1, waiting: 1, blocked_by }));
    cancel(store, &mut one);
    cancel(store, &mut two);
    assert_eq!(state(2, rule(1, 9)), None);
    assert_eq!(state(3, rule(1, 9)).map(|state| (state.ahead, state.active)), Some((0, 0)));
}
