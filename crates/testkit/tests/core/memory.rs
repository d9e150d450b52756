//! The entry for the project's memory is part of what a person approves with the code.

use domain::{AgentEnd, Decision, Digest, Event, Gate, HoldKind, Outcome, check_log};
use testkit::{History, samples};

use crate::kit::{agent, begin, end, good, held, keeps_every_rule, open, until, yes};

/// A run whose code waits for an approval.
fn code_on_hold() -> History {
    let mut config = samples::config();
    config.trust.implementation = Gate::Manual;
    let mut history = begin("autonomous", config);
    until(&mut history, "implementation: approval");
    history
}

/// The judge asks after the code was approved, and a person answers.
fn approved_then_asked() -> History {
    let mut history = code_on_hold();
    yes(&mut history);
    while !open(&history).contains(&"run_agent") {
        good(&mut history);
    }
    agent(&mut history, AgentEnd::Asked { questions: vec![samples::question("run this first?")] });
    assert_eq!(held(&history).0, HoldKind::Clarification);
    let options = history.run.hold().unwrap().question.clone().unwrap().options;
    let answer = options.first().cloned().unwrap_or_else(|| "yes".to_owned());
    history.decide("ada", Decision::Answer { answer: vec![answer] }).unwrap();
    while !open(&history).contains(&"write_record") {
        good(&mut history);
    }
    history
}

#[test]
fn a_hold_that_shows_code_shows_the_memory_entry_and_its_digest_covers_it() {
    let history = code_on_hold();
    let hold = history.run.hold().unwrap();
    let artifact = hold.artifact.as_ref().unwrap();
    let memory = hold.memory.as_ref().unwrap();
    assert_eq!(*memory, history.run.memory_entry());
    let stamp = format!("{}#{}", history.run.id, hold.id.0);
    let parts = [stamp.as_str(), artifact.commit.as_str(), artifact.digest.as_str()];
    assert_ne!(hold.digest, Digest::of(parts));
    assert_eq!(hold.digest, Digest::of(parts.into_iter().chain([memory.text().as_str()])));
}

#[test]
fn text_that_came_after_the_approval_of_the_code_is_not_written_to_memory() {
    let history = approved_then_asked();
    assert_eq!(history.run.answers.len(), 1);
    assert_eq!(history.run.memory_entry().lines, Vec::<String>::new());
}

#[test]
fn a_record_with_another_memory_entry_than_the_approved_one_breaks_a_rule() {
    let mut history = approved_then_asked();
    let mut other = history.clone();
    while !history.run.is_ended() {
        good(&mut history);
    }
    assert!(history.log.iter().any(|recorded| matches!(recorded.event, Event::BranchMerged { .. })));
    keeps_every_rule(&history);
    end(&mut other, Outcome::RecordWritten { commit: samples::commit(9), memory: Some(Digest::of(["other"])) });
    while !other.run.is_ended() {
        good(&mut other);
    }
    let found = check_log(&other.run.id, &other.log);
    assert!(found.iter().any(|found| found.rule == 7 && found.message.contains("memory entry")), "{found:?}");
}

#[test]
fn new_code_after_an_approval_brings_its_own_entry() {
    let mut history = code_on_hold();
    let first = history.run.hold().unwrap().digest.clone();
    history.decide("ada", Decision::Reject { feedback: "smaller".to_owned() }).unwrap();
    until(&mut history, "implementation: approval");
    assert_ne!(history.run.hold().unwrap().digest, first);
    yes(&mut history);
    while !history.run.is_ended() {
        good(&mut history);
    }
    keeps_every_rule(&history);
}
