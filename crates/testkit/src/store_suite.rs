//! What every store must do, one function per sentence. `store_suite!` makes a named test of each.

use domain::{Command, EffectId, Event, Outcome, RunId, Status};
use engine::{
    Append, Appended, Batch, CommandKey, Committed, EntryRule, FeedItem, Fence, Lease, LeaseWish, Leased, NodeId,
    RunFilter, Store,
};
use jiff::Timestamp;

pub use crate::entry_suite::*;
use crate::{History, samples};

/// Makes one test per sentence for the store an expression makes.
#[macro_export]
macro_rules! store_suite {
    ($make:expr) => {
        $crate::store_suite!(@each $make;
            events_come_back_as_they_were_written
            an_append_on_an_old_version_is_a_conflict_and_writes_nothing
            the_rest_of_a_batch_is_written_beside_a_conflict
            two_appends_of_one_batch_may_follow_each_other
            a_second_run_with_the_same_short_id_is_refused
            starting_a_run_that_exists_is_a_conflict
            a_repeated_key_answers_with_the_first_run_and_version
            the_key_of_a_refused_append_is_free_again
            a_report_under_an_old_lease_is_fenced_and_writes_nothing
            a_report_under_a_lease_taken_back_is_fenced
            a_report_for_an_effect_that_is_gone_is_fenced
            a_fresh_effect_inserted_with_its_lease_has_the_first_epoch
            every_lease_of_an_effect_has_a_higher_epoch
            a_live_lease_is_given_to_nobody_else
            an_expired_lease_is_given_on
            a_renewed_lease_does_not_expire
            effects_are_leased_oldest_first
            heavy_and_light_effects_have_their_own_limits
            only_the_lowest_open_effect_of_a_run_is_leased
            no_effect_is_leased_beside_a_live_one_of_its_run
            the_feed_is_ordered_and_resumes_after_a_position
            what_a_fork_inherited_is_in_its_log_and_not_told_again
            the_feed_of_some_types_leaves_none_of_them_out
            rows_are_listed_newest_first_and_paged
            rows_are_filtered_by_status_and_project
            rows_are_filtered_by_playbook_text_and_age
            ids_are_found_by_their_beginning
            a_run_has_one_timer_and_it_falls_due
            a_bad_append_fails_the_whole_batch
            no_more_runs_of_a_user_are_let_in_than_the_limit
            runs_are_let_in_in_the_order_they_were_asked_for
            a_priority_is_worth_ten_minutes
            a_low_run_gets_in_although_high_ones_keep_coming
            a_user_at_the_limit_holds_up_nobody_else
            with_too_many_runs_waiting_for_a_person_none_of_that_user_is_let_in
            a_child_run_is_not_counted_and_never_waits
            entries_take_light_slots_after_what_has_begun
            a_light_wish_without_a_rule_lets_nobody_in
            an_entry_whose_lease_ran_out_is_let_in_again_and_nobody_beside_it
            a_queued_run_knows_what_keeps_it_out
        );
    };
    (@each $make:expr; $($name:ident)*) => {
        $(#[test] fn $name() { $crate::store_suite::$name(&*$make); })*
    };
}

type Dyn = dyn Store;

fn put(store: &Dyn, appends: Vec<Append>) -> Committed {
    store.commit(&Batch { appends, lease: None }).expect("the store takes a batch")
}

fn put_one(store: &Dyn, append: Append) -> Appended {
    put(store, vec![append]).appended.remove(0)
}

/// A run with its first append written.
fn begin(store: &Dyn, n: u64) -> History {
    begin_at(store, n, samples::at(0))
}

fn begin_at(store: &Dyn, n: u64, now: Timestamp) -> History {
    let mut history = History::unopened(samples::run_id(n));
    history.now = now;
    let append = history.take(start()).expect("a sample start is taken");
    assert_eq!(put_one(store, append), Appended::Done);
    history
}

fn start() -> Command {
    Command::Start(Box::new(samples::start(samples::config())))
}

fn opened(n: u64) -> Outcome {
    Outcome::BranchOpened { base: samples::commit(n) }
}

fn cancel() -> Command {
    Command::Cancel { by: samples::actor("bob"), reason: None }
}

fn wish(node: &str, now: i64, heavy: usize, light: usize) -> LeaseWish {
    let (now, until) = (samples::at(now), samples::at(now + 1000));
    LeaseWish {
        node: NodeId(node.to_owned()),
        now,
        until,
        heavy,
        light,
        entry: Some(EntryRule { per_user: 9, waiting: 9 }),
    }
}

fn lease(store: &Dyn, wish: LeaseWish) -> Vec<Leased> {
    store.commit(&Batch { appends: Vec::new(), lease: Some(wish) }).expect("the store takes a wish").leased
}

fn ids(leased: &[Leased]) -> Vec<EffectId> {
    leased.iter().map(|leased| leased.id.clone()).collect()
}

fn effect(run: &RunId, number: u32) -> EffectId {
    EffectId { run: run.clone(), number }
}

fn first_lease(until: i64) -> Lease {
    Lease { node: NodeId("a".to_owned()), until: samples::at(until), epoch: 1 }
}

pub fn events_come_back_as_they_were_written(store: &Dyn) {
    let mut history = begin(store, 1);
    for append in history.go_on() {
        assert_eq!(put_one(store, append), Appended::Done);
    }
    let id = &history.run.id;
    assert_eq!(store.events(id, 0).unwrap_or_default(), history.log);
    assert_eq!(store.events(id, 5).unwrap_or_default(), history.log[5..]);
    assert_eq!(store.row(id).ok().flatten(), Some(engine::Row::of(&history.run)));
    assert_eq!(history.run.phase, domain::Phase::Ended { ending: domain::Ending::Completed });
    assert_eq!(store.outbox(Some(id)).unwrap_or_default(), Vec::new());
    assert_eq!(store.next_timer().ok(), Some(None));
}

pub fn an_append_on_an_old_version_is_a_conflict_and_writes_nothing(store: &Dyn) {
    let mut history = begin(store, 1);
    let mut late = history.clone();
    let first = history.report(1, opened(1)).expect("the branch is awaited");
    assert_eq!(put_one(store, first), Appended::Done);
    let second = late.take(cancel()).expect("an open run can be cancelled");
    let before = store.outbox(None).unwrap_or_default();
    assert_eq!(put_one(store, second), Appended::Conflict);
    assert_eq!(store.events(&history.run.id, 0).unwrap_or_default(), history.log);
    assert_eq!(store.row(&history.run.id).ok().flatten(), Some(engine::Row::of(&history.run)));
    assert_eq!(store.outbox(None).unwrap_or_default(), before);
    assert_eq!(store.position().ok(), Some(history.log.len() as u64));
}

pub fn the_rest_of_a_batch_is_written_beside_a_conflict(store: &Dyn) {
    let mut one = begin(store, 1);
    let mut stale = one.clone();
    let mut two = begin(store, 2);
    let good = one.report(1, opened(1)).expect("the branch is awaited");
    let bad = stale.take(cancel()).expect("an open run can be cancelled");
    let other = two.take(cancel()).expect("an open run can be cancelled");
    let committed = put(store, vec![good, bad, other]);
    assert_eq!(committed.appended, [Appended::Done, Appended::Conflict, Appended::Done]);
    assert_eq!(store.events(&two.run.id, 0).unwrap_or_default(), two.log);
    assert_eq!(committed.position, (one.log.len() + two.log.len()) as u64);
}

pub fn two_appends_of_one_batch_may_follow_each_other(store: &Dyn) {
    let mut history = History::unopened(samples::run_id(1));
    let first = history.take(start()).expect("a sample start is taken");
    let second = history.report(1, opened(1)).expect("the branch is awaited");
    assert_eq!(put(store, vec![first, second]).appended, [Appended::Done, Appended::Done]);
    assert_eq!(store.events(&history.run.id, 0).unwrap_or_default(), history.log);
}

pub fn a_second_run_with_the_same_short_id_is_refused(store: &Dyn) {
    begin(store, 1);
    let mut namesake = History::unopened(samples::namesake(1));
    let append = namesake.take(start()).expect("a sample start is taken");
    assert_eq!(put_one(store, append), Appended::ShortIdTaken);
    assert_eq!(store.row(&namesake.run.id).ok(), Some(None));
}

pub fn starting_a_run_that_exists_is_a_conflict(store: &Dyn) {
    let history = begin(store, 1);
    let again = History::unopened(history.run.id.clone()).take(start()).expect("a sample start is taken");
    assert_eq!(put_one(store, again), Appended::Conflict);
}

pub fn a_repeated_key_answers_with_the_first_run_and_version(store: &Dyn) {
    let key = CommandKey("k".to_owned());
    let mut one = History::unopened(samples::run_id(1));
    let first = Append { key: Some(key.clone()), ..one.take(start()).expect("a sample start is taken") };
    let mut two = History::unopened(samples::run_id(2));
    let again = Append { key: Some(key.clone()), ..two.take(start()).expect("a sample start is taken") };
    let repeated = Appended::Repeated(one.run.id.clone(), one.run.version);
    assert_eq!(put(store, vec![first, again.clone()]).appended, [Appended::Done, repeated.clone()]);
    assert_eq!(put_one(store, again), repeated);
    assert_eq!(store.command(&key).ok(), Some(Some((one.run.id.clone(), one.run.version))));
    assert_eq!(store.row(&two.run.id).ok(), Some(None));
}

pub fn the_key_of_a_refused_append_is_free_again(store: &Dyn) {
    let history = begin(store, 1);
    let key = CommandKey("k".to_owned());
    let again = History::unopened(history.run.id.clone()).take(start()).expect("a sample start is taken");
    assert_eq!(put_one(store, Append { key: Some(key.clone()), ..again }), Appended::Conflict);
    assert_eq!(store.command(&key).ok(), Some(None));
}

pub fn a_report_under_an_old_lease_is_fenced_and_writes_nothing(store: &Dyn) {
    let mut history = begin(store, 1);
    assert_eq!(lease(store, wish("a", 0, 9, 9)).len(), 1);
    assert_eq!(lease(store, wish("b", 5000, 9, 9)).len(), 1);
    let before = history.clone();
    let report = history.report(1, opened(1)).expect("the branch is awaited");
    let old = Append { fence: Some(Fence { number: 1, epoch: 1 }), ..report.clone() };
    let new = Append { fence: Some(Fence { number: 1, epoch: 2 }), ..report };
    assert_eq!(put_one(store, old), Appended::Fenced);
    assert_eq!(store.events(&before.run.id, 0).unwrap_or_default(), before.log);
    assert_eq!(put_one(store, new), Appended::Done);
    assert_eq!(store.events(&history.run.id, 0).unwrap_or_default(), history.log);
}

pub fn a_report_under_a_lease_taken_back_is_fenced(store: &Dyn) {
    let mut history = begin(store, 1);
    assert_eq!(lease(store, wish("a", 0, 9, 9)).len(), 1);
    assert_eq!(store.release_all_leases().ok(), Some(1));
    assert_eq!(store.release_all_leases().ok(), Some(0));
    let report = history.report(1, opened(1)).expect("the branch is awaited");
    assert_eq!(put_one(store, Append { fence: Some(Fence { number: 1, epoch: 1 }), ..report }), Appended::Fenced);
    let again = lease(store, wish("b", 1, 9, 9));
    assert_eq!(again.iter().map(|leased| leased.lease.epoch).collect::<Vec<_>>(), [2]);
}

pub fn a_report_for_an_effect_that_is_gone_is_fenced(store: &Dyn) {
    let mut history = begin(store, 1);
    assert_eq!(lease(store, wish("a", 0, 9, 9)).len(), 1);
    let mut late = history.clone();
    let cancelled = history.take(cancel()).expect("an open run can be cancelled");
    let report = late.report(1, opened(1)).expect("the branch is awaited");
    let report = Append { fence: Some(Fence { number: 1, epoch: 1 }), ..report };
    assert_eq!(put(store, vec![cancelled, report]).appended, [Appended::Done, Appended::Fenced]);
}

pub fn a_fresh_effect_inserted_with_its_lease_has_the_first_epoch(store: &Dyn) {
    let mut history = History::unopened(samples::run_id(1));
    let mut append = history.take(start()).expect("a sample start is taken");
    append.added[0].2 = Some(first_lease(1000));
    assert_eq!(put_one(store, append), Appended::Done);
    let open = store.outbox(Some(&history.run.id)).unwrap_or_default();
    assert_eq!(open.iter().map(|open| open.lease.clone()).collect::<Vec<_>>(), [Some(first_lease(1000))]);
    assert_eq!(open[0].requested_at, samples::at(0));
    assert_eq!(lease(store, wish("b", 500, 9, 9)), []);
    let report = history.report(1, opened(1)).expect("the branch is awaited");
    assert_eq!(put_one(store, Append { fence: Some(Fence { number: 1, epoch: 1 }), ..report }), Appended::Done);
}

pub fn every_lease_of_an_effect_has_a_higher_epoch(store: &Dyn) {
    begin(store, 1);
    for round in 0..4_u32 {
        let leased = lease(store, wish("a", i64::from(round) * 5000, 9, 9));
        assert_eq!(leased.iter().map(|leased| leased.lease.epoch).collect::<Vec<_>>(), [u64::from(round) + 1]);
    }
}

pub fn a_live_lease_is_given_to_nobody_else(store: &Dyn) {
    begin(store, 1);
    assert_eq!(lease(store, wish("a", 0, 9, 9)).len(), 1);
    assert_eq!(lease(store, wish("b", 999, 9, 9)), []);
}

pub fn an_expired_lease_is_given_on(store: &Dyn) {
    begin(store, 1);
    assert_eq!(lease(store, wish("a", 0, 9, 9)).len(), 1);
    let second = lease(store, wish("b", 1000, 9, 9));
    assert_eq!(second.iter().map(|leased| leased.lease.node.0.as_str()).collect::<Vec<_>>(), ["b"]);
}

pub fn a_renewed_lease_does_not_expire(store: &Dyn) {
    begin(store, 1);
    assert_eq!(lease(store, wish("a", 0, 9, 9)).len(), 1);
    assert_eq!(store.renew(&NodeId("b".to_owned()), samples::at(9000)).ok(), Some(0));
    assert_eq!(store.renew(&NodeId("a".to_owned()), samples::at(9000)).ok(), Some(1));
    assert_eq!(lease(store, wish("b", 8999, 9, 9)), []);
    assert_eq!(lease(store, wish("b", 9000, 9, 9)).len(), 1);
}

pub fn effects_are_leased_oldest_first(store: &Dyn) {
    let late = begin_at(store, 1, samples::at(30));
    let early = begin_at(store, 2, samples::at(10));
    let middle = begin_at(store, 3, samples::at(20));
    let same = begin_at(store, 4, samples::at(20));
    let two = ids(&lease(store, wish("a", 40, 0, 2)));
    assert_eq!(two, [effect(&early.run.id, 1), effect(&middle.run.id, 1)]);
    let rest = ids(&lease(store, wish("a", 40, 0, 9)));
    assert_eq!(rest, [effect(&same.run.id, 1), effect(&late.run.id, 1)]);
}

pub fn heavy_and_light_effects_have_their_own_limits(store: &Dyn) {
    for n in 1..=3 {
        let mut history = begin(store, n);
        let append = history.report(1, opened(n)).expect("the branch is awaited");
        assert_eq!(put_one(store, append), Appended::Done);
    }
    for n in 4..=6 {
        begin_at(store, n, samples::at(10));
    }
    let words = |leased: &[Leased]| leased.iter().map(|leased| leased.effect.word()).collect::<Vec<_>>();
    assert_eq!(words(&lease(store, wish("a", 5000, 2, 1))), ["open_branch", "run_agent", "run_agent"]);
    assert_eq!(words(&lease(store, wish("a", 5000, 0, 9))), ["open_branch", "open_branch"]);
    assert_eq!(words(&lease(store, wish("a", 5000, 9, 0))), ["run_agent"]);
}

/// A run whose timed-out agent is being stopped while the next one is already wished for.
fn two_open_effects(store: &Dyn, n: u64) -> History {
    let mut history = begin(store, n);
    let mut appends = vec![history.report(1, opened(n)).expect("the branch is awaited")];
    appends.push(history.take(Command::TimerFired { timer: 2 }).expect("an agent's clock is set"));
    let more = domain::Decision::Extend { minutes: 5 };
    appends.push(history.decide("ada", more).expect("a timeout can be extended"));
    assert!(put(store, appends).appended.iter().all(|appended| *appended == Appended::Done));
    assert_eq!(history.run.open_effects.len(), 2);
    history
}

pub fn only_the_lowest_open_effect_of_a_run_is_leased(store: &Dyn) {
    let mut history = two_open_effects(store, 1);
    let first = lease(store, wish("a", 9000, 9, 9));
    assert_eq!(ids(&first), [effect(&history.run.id, 3)]);
    assert_eq!(lease(store, wish("a", 9001, 9, 9)), []);
    let stopped = history.report(3, Outcome::AgentStopped { wip: None }).expect("the stop is awaited");
    let batch = Batch { appends: vec![stopped], lease: Some(wish("a", 9002, 9, 9)) };
    let committed = store.commit(&batch).expect("the store takes a batch");
    assert_eq!(ids(&committed.leased), [effect(&history.run.id, 4)]);
}

pub fn no_effect_is_leased_beside_a_live_one_of_its_run(store: &Dyn) {
    let mut history = begin(store, 1);
    let mut appends = vec![history.report(1, opened(1)).expect("the branch is awaited")];
    appends.push(history.take(Command::TimerFired { timer: 2 }).expect("an agent's clock is set"));
    let more = domain::Decision::Extend { minutes: 5 };
    let mut extended = history.decide("ada", more).expect("a timeout can be extended");
    extended.added[0].2 = Some(first_lease(9000));
    appends.push(extended);
    assert!(put(store, appends).appended.iter().all(|appended| *appended == Appended::Done));
    assert_eq!(lease(store, wish("b", 8999, 9, 9)), []);
    assert_eq!(ids(&lease(store, wish("b", 9000, 9, 9))), [effect(&history.run.id, 3)]);
}

pub fn the_feed_is_ordered_and_resumes_after_a_position(store: &Dyn) {
    let mut one = begin(store, 1);
    let two = begin(store, 2);
    assert_eq!(put_one(store, one.report(1, opened(1)).expect("the branch is awaited")), Appended::Done);
    let all = store.feed(0, 100).unwrap_or_default();
    assert_eq!(all.len(), one.log.len() + two.log.len());
    assert!(all.windows(2).all(|pair| pair[0].position < pair[1].position));
    let second = store.feed(all[1].position, 1).unwrap_or_default();
    assert_eq!(second, all[2..3]);
    assert_eq!(all[2].run, two.run.id);
    assert_eq!(store.position().ok(), all.last().map(|item| item.position));
}

pub fn what_a_fork_inherited_is_in_its_log_and_not_told_again(store: &Dyn) {
    let mut origin = begin(store, 1);
    for append in origin.go_on() {
        assert_eq!(put_one(store, append), Appended::Done);
    }
    let points = domain::fork_points(&origin.run.id, &origin.log);
    let at = points.last().expect("a run passes points").at;
    let log = origin.log.iter().filter(|recorded| recorded.sequence <= at).cloned().collect();
    let (before, by) = (store.position().expect("it is read"), samples::actor("eve"));
    let mut fork = History::unopened(samples::run_id(40));
    fork.now = origin.now;
    let asked = domain::Fork { origin: origin.run.id.clone(), log, changes: domain::ForkChanges::default(), by };
    let append = fork.take(Command::Fork(Box::new(asked))).expect("a point can be forked");
    assert_eq!(put_one(store, append), Appended::Done);
    assert_eq!(store.events(&fork.run.id, 0).expect("it is read"), fork.log, "with the times of the origin");
    assert_eq!(store.row(&fork.run.id).expect("it is read"), Some(engine::Row::of(&fork.run)));
    let told = store.feed(before, 100).expect("it is read");
    assert!(told.iter().all(|item| item.run == fork.run.id));
    let told: Vec<u64> = told.iter().map(|item| item.recorded.sequence).collect();
    assert_eq!(told, [1, at + 1, at + 2]);
    let started = store.feed_of(&["RUN_STARTED", "STAGE_STARTED"], before, 100).expect("it is read");
    let wanted =
        |item: &&FeedItem| matches!(item.recorded.event, Event::RunStarted { .. } | Event::StageStarted { .. });
    assert_eq!(started.iter().filter(wanted).count(), 1);
    let entered = lease(store, wish("a", 100_000, 0, 9));
    assert_eq!(ids(&entered), [effect(&fork.run.id, fork.run.effects_requested)], "it is let in like any other");
}

pub fn the_feed_of_some_types_leaves_none_of_them_out(store: &Dyn) {
    let mut one = begin(store, 1);
    begin(store, 2);
    assert_eq!(put_one(store, one.report(1, opened(1)).expect("the branch is awaited")), Appended::Done);
    let wanted =
        |item: &FeedItem| matches!(item.recorded.event, Event::RunStarted { .. } | Event::BranchCreated { .. });
    let all: Vec<FeedItem> = store.feed(0, 100).unwrap_or_default().into_iter().filter(wanted).collect();
    assert_eq!(all.len(), 3);
    let (mut found, mut after) = (Vec::new(), 0);
    loop {
        let page = store.feed_of(&["RUN_STARTED", "BRANCH_CREATED"], after, 1).unwrap_or_default();
        let Some(last) = page.last() else { break };
        after = last.position;
        found.extend(page.into_iter().filter(wanted));
    }
    assert_eq!(found, all);
}

pub fn rows_are_listed_newest_first_and_paged(store: &Dyn) {
    let runs: Vec<RunId> = [3, 1, 2].iter().map(|n| begin(store, *n).run.id).collect();
    let list = |filter: RunFilter| -> Vec<RunId> {
        store.rows(&filter).unwrap_or_default().into_iter().map(|row| row.id).collect()
    };
    assert_eq!(list(RunFilter::default()), [runs[2].clone(), runs[1].clone(), runs[0].clone()]);
    let page = RunFilter { before: Some(runs[2].clone()), limit: 1, ..RunFilter::default() };
    assert_eq!(list(page), [runs[1].clone()]);
    let nowhere = RunFilter { before: Some(samples::run_id(99)), ..RunFilter::default() };
    assert_eq!(list(nowhere), []);
}

pub fn rows_are_filtered_by_status_and_project(store: &Dyn) {
    let one = begin(store, 1);
    let mut two = begin(store, 2);
    assert_eq!(put_one(store, two.take(cancel()).expect("an open run can be cancelled")), Appended::Done);
    let list = |filter: RunFilter| -> Vec<RunId> {
        store.rows(&filter).unwrap_or_default().into_iter().map(|row| row.id).collect()
    };
    let status = |statuses: Vec<Status>| RunFilter { statuses, ..RunFilter::default() };
    assert_eq!(list(status(vec![Status::Cancelled])), [two.run.id.clone()]);
    assert_eq!(list(status(vec![Status::Queued, Status::Stuck])), [one.run.id]);
    let project = |text: &str| RunFilter { project: Some(text.to_owned()), ..RunFilter::default() };
    assert_eq!(list(project("/home/ada/shop")).len(), 2);
    assert_eq!(list(project("/home/ada")), []);
}

pub fn rows_are_filtered_by_playbook_text_and_age(store: &Dyn) {
    let (one, two) = (begin(store, 1).run, begin(store, 2).run);
    let list = |filter: RunFilter| store.rows(&filter).unwrap_or_default().len();
    let playbook = |name: &str| RunFilter { playbook: Some(name.to_owned()), ..RunFilter::default() };
    assert_eq!((list(playbook(&one.opened().playbook.name)), list(playbook("none"))), (2, 0));
    let text = |text: &str| RunFilter { text: Some(text.to_owned()), ..RunFilter::default() };
    let request = one.opened().request.to_ascii_uppercase();
    assert_eq!((list(text(&request)), list(text("%")), list(text("no such words"))), (2, 0, 0));
    let newest = store.rows(&RunFilter::default()).unwrap_or_default()[0].created_at;
    let since = |since| RunFilter { since: Some(since), ..RunFilter::default() };
    assert!(list(since(newest)) >= 1);
    assert_eq!(list(since(newest + jiff::SignedDuration::from_millis(1))), 0);
    assert_ne!(one.id, two.id);
}

pub fn ids_are_found_by_their_beginning(store: &Dyn) {
    let one = begin(store, 1).run.id;
    let two = begin(store, 2).run.id;
    assert_eq!(store.ids_with_prefix(one.short(), 9).unwrap_or_default(), std::slice::from_ref(&one));
    assert_eq!(store.ids_with_prefix("", 9).unwrap_or_default(), [one.clone(), two]);
    assert_eq!(store.ids_with_prefix("", 1).unwrap_or_default(), [one]);
    assert_eq!(store.ids_with_prefix("%", 9).unwrap_or_default(), []);
}

pub fn a_run_has_one_timer_and_it_falls_due(store: &Dyn) {
    let mut history = begin(store, 1);
    assert_eq!(put_one(store, history.report(1, opened(1)).expect("the branch is awaited")), Appended::Done);
    let timer = history.run.timer().expect("an agent works");
    assert_eq!(store.next_timer().ok(), Some(Some(timer.at)));
    let early = timer.at - jiff::SignedDuration::from_millis(1);
    assert_eq!(store.due_timers(early, 9).unwrap_or_default(), []);
    let due = engine::DueTimer { run: history.run.id.clone(), timer: timer.id, due: timer.at };
    assert_eq!(store.due_timers(timer.at, 9).unwrap_or_default(), [due]);
    let fired = history.take(Command::TimerFired { timer: timer.id }).expect("the clock is set");
    assert_eq!(put_one(store, fired), Appended::Done);
    assert_eq!(store.next_timer().ok(), Some(None));
}

pub fn a_bad_append_fails_the_whole_batch(store: &Dyn) {
    let mut one = begin(store, 1);
    let good = one.take(cancel()).expect("an open run can be cancelled");
    let mut bad = History::unopened(samples::run_id(2)).take(start()).expect("a sample start is taken");
    bad.events.remove(0);
    let before = store.position().ok();
    assert!(store.commit(&Batch { appends: vec![good.clone(), bad], lease: None }).is_err());
    assert_eq!(store.position().ok(), before);
    assert_eq!(put_one(store, good), Appended::Done);
}
