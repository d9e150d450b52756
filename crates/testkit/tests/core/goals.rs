//! Goals and pulses: loops with an end.

use domain::{AgentEnd, Decision, Effect, HoldKind, Purpose, Reflection};
use testkit::{History, samples};

use crate::kit::{agent, begin, begin_as, good, held, keeps_every_rule, retry, until, yes};

fn pursuing(iterations: u32) -> History {
    let mut playbook = domain::Playbook::built_in("goal").unwrap();
    playbook.stages[0].work = domain::Work::Pursue { iterations };
    let mut config = samples::config();
    config.require_approval = vec!["pursuing".to_owned()];
    let mut history = begin_as(playbook, config);
    until(&mut history, "pursuing");
    history
}

fn reflects(history: &mut History, progress: u8) {
    agent(history, AgentEnd::Reflected { reflection: samples::reflection(progress) });
}

fn purpose(history: &History) -> Purpose {
    match history.run.open_effects.values().next() {
        Some(Effect::RunAgent(task)) => task.purpose.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn iterations_end_at_their_cap_and_a_person_may_add_some() {
    let mut history = pursuing(2);
    reflects(&mut history, 10);
    reflects(&mut history, 20);
    assert_eq!(held(&history).0, HoldKind::Stuck);
    history.decide("ada", retry()).unwrap();
    assert_eq!(purpose(&history), Purpose::Iterate { number: 3 });
    reflects(&mut history, 30);
    reflects(&mut history, 40);
    assert_eq!(held(&history).0, HoldKind::Stuck);
    keeps_every_rule(&history);
}

#[test]
fn a_goal_sent_back_after_its_last_iteration_has_one_more() {
    let mut history = pursuing(1);
    good(&mut history);
    history.decide("ada", Decision::Reject { feedback: "not yet".to_owned() }).unwrap();
    reflects(&mut history, 50);
    assert_eq!(held(&history).0, HoldKind::Stuck);
    keeps_every_rule(&history);
}

#[test]
fn three_reflections_that_say_the_same_are_a_standstill() {
    let mut history = pursuing(9);
    for _ in 0..3 {
        reflects(&mut history, 10);
    }
    assert!(history.run.hold().unwrap().summary.contains("no progress"));
}

#[test]
fn an_iteration_that_needs_a_person_asks_for_one() {
    let mut history = pursuing(9);
    let reflection =
        Reflection { requires_user_intervention: true, issues: vec!["no key".to_owned()], ..samples::reflection(10) };
    agent(&mut history, AgentEnd::Reflected { reflection });
    assert!(history.run.hold().unwrap().summary.contains("no key"));
}

#[test]
fn a_goal_that_is_met_waits_for_its_gate_and_ends() {
    let mut history = pursuing(9);
    reflects(&mut history, 10);
    good(&mut history);
    assert_eq!(history.run.reflections.len(), 2);
    yes(&mut history);
    history.go_on();
    assert_eq!(history.run.visible(), "completed");
}

#[test]
fn a_plan_is_worked_pulse_by_pulse_and_mended_as_a_whole() {
    let mut history = begin("staged", samples::config());
    for stage in ["scoping: approval", "research: approval", "planning: approval"] {
        until(&mut history, stage);
        yes(&mut history);
    }
    until(&mut history, "execution");
    for number in 1..=2 {
        assert_eq!(purpose(&history), Purpose::Pulse { number });
        good(&mut history);
    }
    until(&mut history, "review: approval");
    history.decide("ada", Decision::Reject { feedback: "shorter".to_owned() }).unwrap();
    assert_eq!(purpose(&history), Purpose::Stage);
    keeps_every_rule(&history);
}
