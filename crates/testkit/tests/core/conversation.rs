//! The clarifying conversation.

use domain::{AgentEnd, ArtifactKind, Decision, DecisionKind, HoldKind, Outcome};
use testkit::samples;

use crate::kit::{agent, begin, end, good, held, keeps_every_rule, open, until, yes};

fn says(ready: bool) -> AgentEnd {
    AgentEnd::Said { ready, message: "With Google?".to_owned() }
}

#[test]
fn a_summary_waits_for_a_yes_and_then_becomes_the_requirement() {
    let mut history = begin("team", samples::config());
    until(&mut history, "clarifying");
    agent(&mut history, says(false));
    assert_eq!(held(&history), (HoldKind::Clarification, vec![DecisionKind::Answer, DecisionKind::Cancel]));
    history.decide("ada", Decision::Answer { answer: vec!["Yes".to_owned()] }).unwrap();
    agent(&mut history, says(true));
    assert_eq!(held(&history).0, HoldKind::Confirm);
    yes(&mut history);
    assert_eq!(open(&history), ["commit_artifact"]);
    good(&mut history);
    assert!(history.run.latest(ArtifactKind::Requirement).is_some());
    assert_eq!(history.run.questions_asked, 0, "rounds are not questions");
    keeps_every_rule(&history);
}

#[test]
fn out_of_rounds_a_person_must_say_yes_and_silence_is_none() {
    let mut config = samples::config();
    config.max_clarification_rounds = Some(1);
    let mut history = begin("team", config);
    until(&mut history, "clarifying");
    agent(&mut history, says(false));
    assert_eq!(held(&history), (HoldKind::Confirm, vec![DecisionKind::Approve, DecisionKind::Cancel]));
    assert!(history.run.timer().is_none());
}

#[test]
fn a_conversation_that_is_switched_off_is_left_out() {
    let mut config = samples::config();
    config.skip_clarification = true;
    let mut history = begin("team", config);
    until(&mut history, "planning");
    assert!(history.run.conversation.is_empty());
    keeps_every_rule(&history);
}

#[test]
fn a_summary_that_cannot_be_committed_waits_for_a_yes_again() {
    let mut history = begin("team", samples::config());
    until(&mut history, "clarifying");
    agent(&mut history, says(true));
    yes(&mut history);
    end(&mut history, Outcome::ArtifactRefused { reason: "it holds a key".to_owned() });
    assert_eq!(held(&history).0, HoldKind::Confirm);
    assert!(history.run.hold().unwrap().summary.contains("it holds a key"));
    keeps_every_rule(&history);
}

#[test]
fn further_questions_of_the_same_turn_are_not_lost() {
    let mut history = begin("team", samples::config());
    until(&mut history, "clarifying");
    let questions = vec![samples::question("one?"), samples::question("two?")];
    agent(&mut history, AgentEnd::Asked { questions });
    history.decide("ada", Decision::Answer { answer: vec!["1".to_owned()] }).unwrap();
    assert_eq!(history.run.hold().unwrap().question.as_ref().unwrap().question, "two?");
}
