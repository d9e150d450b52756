//! Delegation: order, room, money, failures, conflicts, and words to children.

use domain::{
    AgentEnd, AtDeadline, Command, Decision, DecisionKind, Effect, Ending, Event, HoldKind, Micros, OnFailure, Outcome,
    Rejection, RunConfig, TaskStatus,
};
use testkit::moves::{child_report, question};
use testkit::{History, samples};

use crate::kit::{
    agent, begin, child, count, end, executing, good, good_until_held, held, keeps_every_rule, open, retry,
    start_children, statuses, task, until, yes,
};
use TaskStatus::{Failed, Merged, Ready, Skipped, Waiting, Working};

fn conflict(history: &mut History, marked: bool) {
    let marked = marked.then(|| samples::commit(99));
    end(history, Outcome::ChildConflicts { paths: vec!["src/a.rs".to_owned()], marked });
}

fn policy(on_failure: OnFailure) -> RunConfig {
    RunConfig { on_failure: Some(on_failure), ..samples::config() }
}

/// Two tasks side by side, of which the first conflicts when merged and its agent could not resolve it.
fn conflicted() -> History {
    let mut history = executing(samples::config(), vec![task("a", &[]), task("b", &[])]);
    start_children(&mut history);
    child(&mut history, "a", Ending::Completed);
    conflict(&mut history, true);
    start_children(&mut history);
    child(&mut history, "a", Ending::Failed);
    history
}

#[test]
fn a_task_starts_when_what_it_needs_is_merged() {
    let mut history = executing(samples::config(), vec![task("a", &[]), task("b", &["a"])]);
    start_children(&mut history);
    assert_eq!(statuses(&history), [Working, Waiting]);
    child(&mut history, "a", Ending::Completed);
    assert_eq!(statuses(&history)[1], Waiting, "done is not merged");
    good(&mut history);
    start_children(&mut history);
    assert_eq!(statuses(&history), [Merged, Working]);
    keeps_every_rule(&history);
}

#[test]
fn no_more_agents_work_than_there_is_room_for() {
    let config = RunConfig { max_concurrency: Some(2), ..samples::config() };
    let mut history = executing(config, ["a", "b", "c"].map(|id| task(id, &[])).to_vec());
    start_children(&mut history);
    assert_eq!(statuses(&history), [Working, Working, Waiting]);
    child(&mut history, "b", Ending::Completed);
    good(&mut history);
    start_children(&mut history);
    assert_eq!(statuses(&history), [Working, Merged, Working]);
}

#[test]
fn tasks_that_touch_the_same_files_wait_for_each_other() {
    let mut twin = task("b", &[]);
    twin.files = vec!["src/a.rs".to_owned()];
    let mut history = executing(samples::config(), vec![task("a", &[]), twin, task("c", &[])]);
    start_children(&mut history);
    assert_eq!(statuses(&history), [Working, Waiting, Working]);
    keeps_every_rule(&history);
}

#[test]
fn a_failed_task_is_tried_once_more_with_the_error_and_then_left_out_with_what_needs_it() {
    let mut history = executing(samples::config(), vec![task("a", &[]), task("b", &["a"]), task("c", &[])]);
    start_children(&mut history);
    child(&mut history, "a", Ending::Failed);
    let again = history.run.open_effects.values().find_map(|effect| match effect {
        Effect::StartChild(child) if child.task == "a" => Some(child.clone()),
        _ => None,
    });
    assert_eq!(again.unwrap().problem.as_deref(), Some("the checks failed"));
    start_children(&mut history);
    child(&mut history, "a", Ending::Failed);
    child(&mut history, "c", Ending::Completed);
    good(&mut history);
    assert_eq!(statuses(&history), [Failed, Skipped, Merged]);
    assert!(history.run.code().unwrap().title.contains("1 failed, 1 left out"));
    keeps_every_rule(&history);
}

#[test]
fn policies_continue_and_stop_do_not_try_again() {
    for (on_failure, place) in [(OnFailure::Continue, "execution"), (OnFailure::Stop, "failed")] {
        let mut history = executing(policy(on_failure), vec![task("a", &[]), task("b", &[])]);
        start_children(&mut history);
        child(&mut history, "a", Ending::Failed);
        assert_eq!((history.run.visible().as_str(), statuses(&history)[0]), (place, Failed));
        let told = open(&history).contains(&"tell_child");
        assert_eq!(told, on_failure == OnFailure::Stop, "the other child is ended with the run");
        keeps_every_rule(&history);
    }
}

#[test]
fn when_no_task_could_be_done_a_person_is_asked_and_may_try_all_again() {
    let mut history = executing(policy(OnFailure::Continue), vec![task("a", &[]), task("b", &["a"])]);
    start_children(&mut history);
    child(&mut history, "a", Ending::Cancelled);
    assert_eq!(held(&history).0, HoldKind::Stuck);
    history.decide("ada", retry()).unwrap();
    start_children(&mut history);
    assert_eq!(statuses(&history), [Working, Waiting]);
    keeps_every_rule(&history);
}

#[test]
fn a_conflict_is_the_agents_first_and_then_a_persons() {
    let history = conflicted();
    let all = [DecisionKind::Resolve, DecisionKind::Retry, DecisionKind::Cancel];
    assert_eq!(held(&history), (HoldKind::Conflict, all.to_vec()));
    assert_eq!(history.run.hold().unwrap().task.as_deref(), Some("a"));
    keeps_every_rule(&history);
}

#[test]
fn a_person_who_resolved_a_conflict_retries_and_what_was_made_is_merged() {
    let mut history = conflicted();
    history.decide("ada", retry()).unwrap();
    let merge = history.run.open_effects.values().find_map(|effect| match effect {
        Effect::MergeChild(merge) => Some(merge.clone()),
        _ => None,
    });
    assert!(merge.unwrap().look_first);
    good(&mut history);
    assert_eq!(statuses(&history)[0], Merged);
    keeps_every_rule(&history);
}

#[test]
fn a_conflict_given_to_an_agent_waits_for_room() {
    let config = RunConfig { max_concurrency: Some(1), ..samples::config() };
    let mut history = executing(config, vec![task("a", &[]), task("b", &[])]);
    start_children(&mut history);
    child(&mut history, "a", Ending::Completed);
    assert_eq!(open(&history), ["merge_child", "start_child"]);
    conflict(&mut history, false);
    assert_eq!(held(&history).1, [DecisionKind::Retry, DecisionKind::Cancel], "without markers nothing to resolve");
    history.decide("ada", retry()).unwrap();
    start_children(&mut history);
    conflict(&mut history, true);
    assert_eq!(statuses(&history)[1], Working);
    assert!(!open(&history).contains(&"start_child"), "`b` takes the only agent");
    child(&mut history, "b", Ending::Completed);
    keeps_every_rule(&history);
}

#[test]
fn shares_never_sum_above_what_is_left_and_without_money_a_person_is_asked() {
    let config = RunConfig { budget: Some(Micros(3000)), ..samples::config() };
    let mut history = executing(config, ["a", "b", "c"].map(|id| task(id, &[])).to_vec());
    let given = history.run.tasks.iter().filter_map(|task| task.budget).fold(Micros(0), Micros::plus);
    assert!(given <= Micros(3000) && given > Micros(2900), "{given}");
    start_children(&mut history);
    let report = child_report(&history.run, history.run.task("a").unwrap(), Ending::Failed);
    history.take(Command::ChildEnded(domain::ChildReport { cost: Micros(5000), ..report })).unwrap();
    assert_eq!(held(&history).0, HoldKind::Budget);
    history.decide("ada", Decision::Raise { by: Micros(9000) }).unwrap();
    assert!(open(&history).contains(&"start_child"));
    keeps_every_rule(&history);
}

#[test]
fn at_four_fifths_the_parent_asks_before_the_next_task_and_no_child_is_asked() {
    let config = RunConfig { budget: Some(Micros(3000)), max_concurrency: Some(1), ..samples::config() };
    let mut history = executing(config, ["a", "b"].map(|id| task(id, &[])).to_vec());
    start_children(&mut history);
    let report = child_report(&history.run, history.run.task("a").unwrap(), Ending::Failed);
    history.take(Command::ChildEnded(domain::ChildReport { cost: Micros(2500), ..report })).unwrap();
    assert_eq!(held(&history).0, HoldKind::Budget);
    assert!(held(&history).1.contains(&DecisionKind::Approve));
    history.decide("ada", Decision::Approve { notes: None }).unwrap();
    assert!(open(&history).contains(&"start_child"));
    keeps_every_rule(&history);
}

#[test]
fn the_word_of_a_child_may_come_before_that_of_its_start() {
    let mut history = executing(samples::config(), vec![task("a", &[])]);
    child(&mut history, "a", Ending::Completed);
    assert_eq!(statuses(&history), [TaskStatus::Merging]);
    start_children(&mut history);
    assert_eq!(count(&history, |event| matches!(event, Event::ChildStarted { .. })), 1);
    let late = child_report(&history.run, history.run.task("a").unwrap(), Ending::Completed);
    assert_eq!(history.take(Command::ChildEnded(late)).map(drop), Err(Rejection::ChildNotOpen));
    keeps_every_rule(&history);
}

#[test]
fn cancel_pause_and_resume_are_told_to_every_child() {
    let mut history = executing(samples::config(), vec![task("a", &[]), task("b", &[])]);
    start_children(&mut history);
    let by = samples::actor("ada");
    history.take(Command::Pause { by: by.clone(), reason: None }).unwrap();
    assert_eq!((held(&history).0, open(&history)), (HoldKind::Paused, vec!["tell_child"; 2]));
    child(&mut history, "a", Ending::Completed);
    assert_eq!(statuses(&history)[0], Ready, "nothing is merged while it is paused");
    history.decide("ada", Decision::Resume).unwrap();
    history.take(Command::Cancel { by, reason: None }).unwrap();
    assert_eq!(open(&history), ["clean_up", "tell_child"]);
    keeps_every_rule(&history);
}

#[test]
fn a_failing_proof_adds_a_task_that_mends_it_under_a_name_of_its_own() {
    let mut history = executing(samples::config(), vec![task("repair-2", &[])]);
    start_children(&mut history);
    child(&mut history, "repair-2", Ending::Completed);
    until(&mut history, "testing");
    end(&mut history, Outcome::Proved { proof: samples::proof(3, 1) });
    let ids: Vec<&str> = history.run.tasks.iter().map(|task| task.task.id.as_str()).collect();
    assert_eq!(ids, ["repair-2", "repair-1"]);
    assert_eq!(history.run.tasks[1].attempt, 2, "no child run is taken for an earlier one");
    keeps_every_rule(&history);
}

#[test]
fn a_failed_publish_is_published_again_and_no_task_tried_anew() {
    let mut history = executing(policy(OnFailure::Continue), vec![task("a", &[]), task("b", &[])]);
    start_children(&mut history);
    child(&mut history, "a", Ending::Failed);
    child(&mut history, "b", Ending::Completed);
    good(&mut history);
    end(&mut history, Outcome::Failed { message: "away".to_owned(), hint: None });
    history.decide("ada", retry()).unwrap();
    assert_eq!(open(&history), ["publish"]);
}

/// A team run that assumed something while planning and has begun its first task.
fn assumed() -> History {
    let mut history = begin("team", RunConfig { skip_clarification: true, ..samples::config() });
    until(&mut history, "planning");
    agent(&mut history, AgentEnd::Asked { questions: vec![question(AtDeadline::Assume)] });
    let timer = history.run.timer().unwrap().id;
    history.take(Command::TimerFired { timer }).unwrap();
    good_until_held(&mut history);
    yes(&mut history);
    until(&mut history, "execution");
    start_children(&mut history);
    history
}

fn overturn(history: &mut History) {
    let answer = vec!["the other".to_owned()];
    history.take(Command::Overturn { assumption: 1, answer, by: samples::actor("ada") }).unwrap();
}

#[test]
fn planned_anew_under_the_same_names_old_children_are_ended_and_new_ones_are_others() {
    let mut history = assumed();
    let old = history.run.task("one").unwrap().child.clone().unwrap();
    overturn(&mut history);
    assert_eq!((history.run.visible().as_str(), open(&history)), ("planning", vec!["tell_child", "run_agent"]));
    good_until_held(&mut history);
    yes(&mut history);
    until(&mut history, "execution");
    start_children(&mut history);
    assert_ne!(history.run.task("one").unwrap().child, Some(old.clone()));
    let late = domain::ChildReport {
        child: old,
        ..child_report(&history.run, history.run.task("one").unwrap(), Ending::Completed)
    };
    assert_eq!(history.take(Command::ChildEnded(late)).map(drop), Err(Rejection::ChildNotOpen));
    keeps_every_rule(&history);
}

#[test]
fn a_merge_that_fails_after_the_stage_was_left_asks_nobody() {
    let mut history = assumed();
    child(&mut history, "one", Ending::Completed);
    overturn(&mut history);
    end(&mut history, Outcome::Failed { message: "away".to_owned(), hint: None });
    assert_eq!(history.run.visible(), "planning");
    keeps_every_rule(&history);
}
