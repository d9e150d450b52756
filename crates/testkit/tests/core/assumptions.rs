//! Deadlines of questions, what is assumed at them, and how that is taken back.

use domain::{AgentEnd, AtDeadline, Command, Decision, HoldKind, NoteKind, Outcome, Rejection};
use testkit::moves::question;
use testkit::{History, samples};

use crate::kit::{agent, begin, end, good, held, keeps_every_rule, open, until, yes};

fn fire(history: &mut History) {
    let timer = history.run.timer().unwrap().id;
    history.take(Command::TimerFired { timer }).unwrap();
    assert_eq!(history.take(Command::TimerFired { timer }).map(drop), Err(Rejection::TimerGone));
}

fn asks(history: &mut History, rule: AtDeadline) {
    agent(history, AgentEnd::Asked { questions: vec![question(rule)] });
}

fn overturn(history: &mut History, assumption: u32) -> Result<(), Rejection> {
    let answer = vec!["the other".to_owned()];
    history.take(Command::Overturn { assumption, answer, by: samples::actor("ada") }).map(drop)
}

/// A staged run that assumed something while scoping and something while researching, and plans.
fn assumed_twice() -> History {
    let mut history = begin("staged", samples::config());
    for stage in ["scoping", "research"] {
        until(&mut history, stage);
        asks(&mut history, AtDeadline::Assume);
        fire(&mut history);
        until(&mut history, &format!("{stage}: approval"));
        yes(&mut history);
    }
    history
}

#[test]
fn at_its_deadline_a_question_waits_escalates_or_is_assumed() {
    for (rule, kind) in [(AtDeadline::Wait, HoldKind::Clarification), (AtDeadline::Escalate, HoldKind::Approval)] {
        let mut history = begin("autonomous", samples::config());
        until(&mut history, "planning");
        asks(&mut history, rule);
        fire(&mut history);
        assert_eq!((held(&history).0, history.run.timer()), (kind, None));
        keeps_every_rule(&history);
    }
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "planning");
    asks(&mut history, AtDeadline::Assume);
    fire(&mut history);
    assert_eq!(history.run.assumptions[0].answer, ["the first"]);
    assert_eq!(open(&history), ["run_agent"]);
}

#[test]
fn a_guess_that_cannot_be_mended_is_never_made() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "planning");
    let question = domain::Question { reversible: false, ..question(AtDeadline::Assume) };
    agent(&mut history, AgentEnd::Asked { questions: vec![question] });
    fire(&mut history);
    assert_eq!(held(&history).0, HoldKind::Approval);
}

#[test]
fn a_spent_quota_goes_on_by_itself_when_the_window_opens() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "planning");
    let at = history.now + jiff::SignedDuration::from_hours(2);
    agent(&mut history, AgentEnd::QuotaSpent { reason: "5 hours".to_owned(), resets_at: Some(at) });
    assert_eq!(history.run.timer().map(|timer| timer.at), Some(at));
    fire(&mut history);
    assert_eq!(open(&history), ["run_agent"]);
}

#[test]
fn overturning_while_an_agent_works_stops_it_and_goes_back() {
    let mut history = assumed_twice();
    until(&mut history, "planning");
    overturn(&mut history, 1).unwrap();
    assert_eq!(history.run.visible(), "scoping");
    let note = history.run.notes.last().unwrap();
    assert_eq!((note.kind, note.stage.as_str()), (NoteKind::Correction, "scoping"));
    assert_eq!(overturn(&mut history, 1), Err(Rejection::NoAssumption(1)));
    good(&mut history);
    assert_eq!(history.run.stages[0].wip, None, "the tree of the stopped planner is not the scoper's");
    keeps_every_rule(&history);
}

#[test]
fn overturning_what_comes_later_never_skips_what_is_being_redone() {
    let mut history = assumed_twice();
    until(&mut history, "planning");
    overturn(&mut history, 1).unwrap();
    overturn(&mut history, 2).unwrap();
    assert_eq!(history.run.visible(), "scoping");
    keeps_every_rule(&history);
}

#[test]
fn of_two_corrections_the_earlier_stage_is_gone_back_to() {
    let mut history = assumed_twice();
    assert_eq!(open(&history), ["publish"]);
    overturn(&mut history, 1).unwrap();
    overturn(&mut history, 2).unwrap();
    good(&mut history);
    assert_eq!(history.run.visible(), "scoping");
}

#[test]
fn overturning_on_a_hold_goes_back_at_once_and_while_finishing_it_is_too_late() {
    let mut history = assumed_twice();
    until(&mut history, "planning: approval");
    let mut other = history.clone();
    overturn(&mut other, 2).unwrap();
    assert_eq!(other.run.visible(), "research");
    yes(&mut history);
    until(&mut history, "review: approval");
    yes(&mut history);
    assert_eq!(overturn(&mut history, 1), Err(Rejection::TooLate));
}

#[test]
fn a_yes_to_merge_does_not_outlive_the_work_it_was_said_to() {
    let mut config = samples::config();
    config.git.review = true;
    let mut history = begin("autonomous", config);
    until(&mut history, "planning");
    asks(&mut history, AtDeadline::Assume);
    fire(&mut history);
    until(&mut history, "finishing: review");
    yes(&mut history);
    end(&mut history, Outcome::NotLanded { reason: "a conflict".to_owned(), paths: Vec::new() });
    overturn(&mut history, 1).unwrap();
    assert_eq!(history.run.visible(), "planning");
    until(&mut history, "finishing");
    while history.run.hold().is_none() {
        good(&mut history);
    }
    assert_eq!(history.run.visible(), "finishing: review", "the new work is looked at again");
    history.decide("ada", Decision::Cancel { reason: None }).unwrap();
    keeps_every_rule(&history);
}
