//! Goals and pulses: loops with an end.

use domain::{
    AgentEnd, Command, Decision, DecisionKind, Digest, Effect, Ending, Event, GoalPhase, GoalTask, GoalTaskStatus,
    HoldKind, Outcome, Phase, Purpose, PursuitReport, PursuitStep, Reflection, Rejection, WhenStuck,
};
use testkit::{History, samples};

use crate::kit::{agent, begin, begin_as, count, end, good, held, keeps_every_rule, retry, until, yes};

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
    agent(history, AgentEnd::Reflected { reflection: samples::reflection(progress), tree: None });
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
    agent(&mut history, AgentEnd::Reflected { reflection, tree: None });
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

/// An iteration ends with these words, this progress and these files.
fn ends(history: &mut History, progress: u8, next: &str, files: &str) {
    let reflection = Reflection { next_action: next.to_owned(), ..samples::reflection(progress) };
    agent(history, AgentEnd::Reflected { reflection, tree: Some(Digest::of([files])) });
}

fn why_held(history: &History) -> String {
    assert_eq!(held(history).0, HoldKind::Stuck);
    history.run.hold().unwrap().summary.clone()
}

#[track_caller]
fn says(history: &History, words: &str) {
    let summary = why_held(history);
    assert!(summary.contains(words), "{summary}");
    keeps_every_rule(history);
}

fn step(history: &mut History, number: u32, step: PursuitStep) -> Result<(), Rejection> {
    let effect = *history.run.open_effects.first_key_value().unwrap().0;
    history.take(Command::Pursue(PursuitReport { effect, number, step })).map(drop)
}

fn phase(phase: GoalPhase) -> PursuitStep {
    PursuitStep::Phase { phase }
}

/// The agent claims the goal, with this reflection.
fn claims(history: &mut History, reflection: Reflection) {
    let (number, effect) = history.run.open_effects.first_key_value().unwrap();
    let mut outcome = testkit::agree(&history.run, *number, effect);
    if let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut outcome {
        submission.reflection = Some(reflection);
    }
    end(history, outcome);
}

#[test]
fn files_that_come_back_are_a_circle() {
    let mut history = pursuing(9);
    ends(&mut history, 10, "a", "one");
    ends(&mut history, 20, "b", "two");
    assert!(history.run.hold().is_none());
    ends(&mut history, 30, "c", "one");
    says(&history, "the files are exactly as after iteration 1");
}

#[test]
fn next_steps_that_alternate_are_a_circle() {
    let mut history = pursuing(9);
    ends(&mut history, 40, "use a map", "one");
    ends(&mut history, 40, "use a list", "two");
    ends(&mut history, 40, "Use a  map", "three");
    says(&history, "what iteration 1 wanted to do next");
}

#[test]
fn the_same_next_step_with_more_reached_is_no_circle() {
    let mut history = pursuing(9);
    for progress in [10, 20, 30, 40] {
        ends(&mut history, progress, "fix the next failing test", &progress.to_string());
    }
    assert!(history.run.hold().is_none());
}

#[test]
fn iterations_that_change_no_file_are_held_whatever_they_say() {
    let mut history = pursuing(9);
    for (progress, next) in [(10, "a"), (20, "b"), (30, "c")] {
        ends(&mut history, progress, next, "the same");
    }
    says(&history, "2 iterations in a row changed no file");
}

#[test]
fn progress_that_falls_by_a_lot_is_held() {
    let mut history = pursuing(9);
    ends(&mut history, 80, "a", "one");
    ends(&mut history, 40, "b", "two");
    says(&history, "progress fell from 80 % to 40 %");
}

#[test]
fn a_task_that_gets_done_is_progress() {
    let mut history = pursuing(9);
    step(&mut history, 1, PursuitStep::Planned { tasks: samples::goal_tasks() }).unwrap();
    ends(&mut history, 50, "a", "one");
    ends(&mut history, 50, "b", "two");
    let task = GoalTask { status: GoalTaskStatus::Completed, ..samples::goal_tasks().remove(0) };
    step(&mut history, 1, PursuitStep::Updated { task }).unwrap();
    ends(&mut history, 50, "c", "three");
    assert!(history.run.hold().is_none(), "one more task is done");
    ends(&mut history, 50, "d", "four");
    assert!(history.run.hold().is_none(), "seen from the one before it, too");
    ends(&mut history, 50, "e", "five");
    says(&history, "no progress in 3 iterations (50 %)");
}

#[test]
fn a_goal_that_is_claimed_against_the_facts_waits_for_a_person() {
    let claim = samples::reflection(100);
    let claims_of = [
        (Reflection { progress: 60, ..claim.clone() }, false, "it says that 60 % are reached"),
        (Reflection { issues: vec!["a test fails".to_owned()], ..claim.clone() }, false, "a test fails"),
        (claim, true, "these tasks are not done: one, two"),
    ];
    for (reflection, planned, words) in claims_of {
        let mut history = begin("goal", samples::config());
        until(&mut history, "pursuing");
        if planned {
            step(&mut history, 1, PursuitStep::Planned { tasks: samples::goal_tasks() }).unwrap();
        }
        claims(&mut history, reflection);
        let hold = history.run.hold().unwrap();
        assert_eq!(hold.kind, HoldKind::Approval);
        assert!(hold.summary.contains("it says that the goal is met, but") && hold.summary.contains(words), "{hold:?}");
        yes(&mut history);
        history.go_on();
        assert_eq!(history.run.visible(), "completed", "a person may take it as it is");
        keeps_every_rule(&history);
    }
}

#[test]
fn where_nobody_is_asked_a_goal_that_does_not_get_on_fails() {
    let mut playbook = domain::Playbook::built_in("goal").unwrap();
    playbook.when_stuck = WhenStuck::Fail;
    let mut history = begin_as(playbook, samples::config());
    until(&mut history, "pursuing");
    for _ in 0..3 {
        reflects(&mut history, 10);
    }
    history.go_on();
    assert_eq!(history.run.phase, Phase::Ended { ending: Ending::Failed });
    assert!(history.run.failure.as_ref().unwrap().contains("no progress"), "{:?}", history.run.failure);
    keeps_every_rule(&history);
}

fn standing_still() -> History {
    let mut history = pursuing(9);
    step(&mut history, 1, PursuitStep::Planned { tasks: samples::goal_tasks() }).unwrap();
    for (next, files) in [("a", "1"), ("b", "2"), ("c", "3")] {
        ends(&mut history, 10, next, files);
    }
    says(&history, "no progress");
    history
}

#[test]
fn each_of_the_five_decisions_does_what_it_says() {
    let own = r#"[{"id": "mine", "description": "what ada wants"}]"#.to_owned();
    let text = || "try the other way".to_owned();
    let (agents, none) = (vec!["one", "two"], Vec::new());
    let rows = [
        (Decision::Approve { notes: Some(text()) }, agents.clone(), Some("try the other way")),
        (Decision::Reject { feedback: text() }, none, Some("try the other way")),
        (Decision::Suggest { text: text() }, agents, Some("try the other way")),
        (Decision::ModifyPlan { plan: own }, vec!["mine"], Some("the tasks are changed")),
    ];
    for (decision, tasks, told) in rows {
        let mut history = standing_still();
        let word = decision.kind().word();
        history.decide("ada", decision).unwrap();
        assert_eq!(purpose(&history), Purpose::Iterate { number: 4 }, "{word}");
        let known: Vec<&str> = history.run.goal.tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(known, tasks, "{word}");
        let note = history.run.notes.last().map(|note| note.text.as_str());
        assert!(told.is_none_or(|words| note.is_some_and(|note| note.contains(words))), "{word}: {note:?}");
        ends(&mut history, 10, "d", "4");
        assert!(history.run.hold().is_none(), "{word}: what the person saw is not held against it again");
        ends(&mut history, 10, "e", "5");
        ends(&mut history, 10, "f", "6");
        says(&history, "no progress");
    }
}

#[test]
fn a_question_is_answered_and_the_same_hold_comes_back() {
    let mut history = standing_still();
    let summary = why_held(&history);
    history.decide("ada", Decision::Ask { question: "why?".to_owned() }).unwrap();
    assert!(matches!(purpose(&history), Purpose::Answer { .. }));
    good(&mut history);
    assert_eq!(why_held(&history), summary);
    let asked = &history.run.hold().unwrap().asked;
    assert_eq!((asked[0].question.as_str(), asked[0].answer.as_str()), ("why?", "because"));
    history.decide("ada", Decision::Approve { notes: None }).unwrap();
    assert_eq!(purpose(&history), Purpose::Iterate { number: 4 });
    keeps_every_rule(&history);
}

#[test]
fn tasks_of_a_person_that_cannot_be_worked_are_refused() {
    let mut history = standing_still();
    let plan = r#"[{"id": "a", "description": "x", "dependencies": ["b"]}]"#.to_owned();
    let refused = history.decide("ada", Decision::ModifyPlan { plan }).unwrap_err();
    assert!(matches!(&refused, Rejection::BadPlan(why) if why.contains("no such task")), "{refused:?}");
    assert!(held(&history).1.contains(&DecisionKind::ModifyPlan));
}

#[test]
fn a_stuck_goal_goes_on_from_the_files_it_has() {
    let mut history = pursuing(9);
    let end = AgentEnd::Reflected {
        reflection: Reflection { requires_user_intervention: true, ..samples::reflection(10) },
        tree: None,
    };
    crate::kit::end(
        &mut history,
        Outcome::AgentEnded { end, tier: None, program: None, wip: Some(samples::commit(50)) },
    );
    history.decide("ada", Decision::Suggest { text: "the key is in .env".to_owned() }).unwrap();
    let Some(Effect::RunAgent(task)) = history.run.open_effects.values().next() else { panic!() };
    assert_eq!(task.at, samples::commit(50));
}

#[test]
fn steps_are_taken_in_once_in_order_and_only_while_their_agent_works() {
    let mut history = pursuing(9);
    step(&mut history, 1, phase(GoalPhase::Planning)).unwrap();
    assert_eq!(step(&mut history, 1, phase(GoalPhase::Acting)), Err(Rejection::StepKnown(2, 1)));
    step(&mut history, 2, PursuitStep::Planned { tasks: samples::goal_tasks() }).unwrap();
    assert_eq!(step(&mut history, 3, phase(GoalPhase::Planning)), Err(Rejection::StepKnown(2, 3)));
    step(&mut history, 4, phase(GoalPhase::Acting)).unwrap();
    let early = step(&mut history, 5, phase(GoalPhase::Reflecting));
    assert_eq!(early, Err(Rejection::BadPhase { from: "acting", to: "reflecting" }));
    let bad = PursuitStep::Planned { tasks: Vec::new() };
    assert!(matches!(step(&mut history, 6, bad), Err(Rejection::BadPlan(_))));
    assert_eq!(history.run.goal_stand().unwrap().words(), "iteration 1 of 9 · acting · 0 of 2 tasks");
    reflects(&mut history, 10);
    let late = Command::Pursue(PursuitReport { effect: 2, number: 7, step: phase(GoalPhase::Observing) });
    assert_eq!(history.take(late).map(drop), Err(Rejection::EffectNotOpen(2)), "its agent is gone");
    assert_eq!(history.run.goal_stand().unwrap().words(), "iteration 2 of 9 · 0 of 2 tasks · 10 %");
    assert_eq!(count(&history, |event| matches!(event, Event::GoalPhaseEntered { .. })), 2);
    keeps_every_rule(&history);
}
