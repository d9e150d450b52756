//! A person takes an agent's conversation to their terminal: the run waits, and goes on when it is handed back.

use domain::{
    AgentEnd, AgentTask, Command, Decision, DecisionKind, Effect, HoldKind, Outcome, Purpose, Rejection, TaskSession,
};
use testkit::{History, samples};

use crate::kit::{agent, begin, end, good, held, keeps_every_rule, open, until};

fn attach(history: &mut History) -> Result<(), Rejection> {
    history.take(Command::Attach { by: samples::actor("ada") }).map(drop)
}

fn task(history: &History) -> &AgentTask {
    history.run.agent().expect("nobody is at work").1
}

#[test]
fn who_attaches_gets_the_conversation_and_the_run_waits_until_it_is_handed_back() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "planning");
    attach(&mut history).unwrap();
    assert_eq!(held(&history), (HoldKind::Paused, vec![DecisionKind::Resume, DecisionKind::Cancel]));
    assert!(history.run.hold().unwrap().summary.contains("ada has taken over the session"), "who, and what");
    assert_eq!(open(&history), ["stop_agent", "run_agent"]);
    let sit = task(&history).clone();
    assert_eq!((sit.purpose, sit.session.visit, sit.session.attempt), (Purpose::Sit, 1, 2), "the same conversation");
    assert_eq!(history.run.timer(), None, "a person's time does not run out");
    good(&mut history);
    assert_eq!(TaskSession::of(&history.run), TaskSession::Active);
    history.decide("ada", Decision::Resume).unwrap();
    assert_eq!(open(&history), ["stop_agent", "tell_agent", "run_agent"], "ended, told, gone on");
    let Some((number, task)) = history.run.agent() else { panic!("nobody goes on") };
    assert_eq!((task.purpose.clone(), task.session.visit, task.session.attempt), (Purpose::Stage, 1, 3));
    let told = history.run.open_effects.values().find_map(|effect| match effect {
        Effect::TellAgent { target, by, text, .. } => Some((*target, by.as_str(), text.contains("hand it back"))),
        _ => None,
    });
    assert_eq!(told, Some((number, "ada", true)));
    assert_eq!(history.run.attached, None);
    history.go_on();
    keeps_every_rule(&history);
}

#[test]
fn what_the_person_did_is_what_the_agent_goes_on_with() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "implementation");
    attach(&mut history).unwrap();
    good(&mut history);
    end(
        &mut history,
        Outcome::AgentEnded { end: AgentEnd::Left, tier: None, program: None, wip: Some(samples::commit(99)) },
    );
    assert_eq!(history.run.visible(), "implementation: paused", "leaving is not handing back");
    assert_eq!(TaskSession::of(&history.run), TaskSession::Inactive);
    history.decide("ada", Decision::Resume).unwrap();
    assert_eq!(history.run.tree_for(task(&history)), &samples::commit(99));
    keeps_every_rule(&history);
}

#[test]
fn a_conversation_is_on_one_terminal_at_a_time_and_can_be_taken_again_after_it_was_left() {
    let mut history = begin("task", samples::config());
    until(&mut history, "working");
    attach(&mut history).unwrap();
    good(&mut history);
    let again = attach(&mut history);
    assert!(matches!(again, Err(Rejection::Attached { ref by, .. }) if by == "ada"), "{again:?}");
    agent(&mut history, AgentEnd::Crashed { reason: "its terminal is gone".to_owned() });
    assert_eq!(history.run.visible(), "working: paused", "a lost terminal is no crash of the agent");
    attach(&mut history).unwrap();
    assert_eq!(task(&history).purpose, Purpose::Sit);
    keeps_every_rule(&history);
}

#[test]
fn a_question_or_a_stuck_agent_can_be_talked_over_on_the_terminal() {
    let question = AgentEnd::Asked { questions: vec![samples::question("which?")] };
    let crash = || AgentEnd::Crashed { reason: "gone".to_owned() };
    for ends in [vec![question], vec![crash(), crash()]] {
        let mut history = begin("autonomous", samples::config());
        until(&mut history, "implementation");
        for end in ends {
            agent(&mut history, end);
        }
        attach(&mut history).unwrap();
        assert_eq!((history.run.visible().as_str(), open(&history)), ("implementation: paused", vec!["run_agent"]));
        history.decide("ada", Decision::Resume).unwrap();
        history.go_on();
        keeps_every_rule(&history);
    }
}

#[test]
fn where_nobody_works_there_is_nothing_to_attach_to() {
    let refused = |history: &mut History| {
        let before = history.run.clone();
        let refused = attach(history).unwrap_err();
        assert_eq!(history.run, before, "nothing changed");
        refused
    };
    let mut history = begin("task", samples::config());
    assert!(matches!(refused(&mut history), Rejection::NoSession(_)), "it opens");
    until(&mut history, "agent-review: review");
    assert!(matches!(refused(&mut history), Rejection::NoSession(_)), "it waits for a decision");
    crate::kit::yes(&mut history);
    assert_eq!(refused(&mut history), Rejection::TooLate);
    history.go_on();
    assert_eq!(refused(&mut history), Rejection::AlreadyEnded);
}

#[test]
fn cancelling_ends_the_persons_conversation_too() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "planning");
    attach(&mut history).unwrap();
    good(&mut history);
    history.take(Command::Cancel { by: samples::actor("bob"), reason: None }).unwrap();
    assert_eq!((open(&history), &history.run.attached), (vec!["clean_up"], &None));
    history.go_on();
    keeps_every_rule(&history);
}
