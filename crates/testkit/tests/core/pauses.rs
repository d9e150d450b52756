//! Pauses: at once where an agent works, else when what is being done ends.

use domain::{Command, Decision, Effect, HoldKind, NoteKind, Outcome, Rejection};
use testkit::{History, samples};

use crate::kit::{begin, good, held, keeps_every_rule, open, until};

fn pause(history: &mut History) -> Result<(), Rejection> {
    history.take(Command::Pause { by: samples::actor("ada"), reason: None }).map(drop)
}

#[test]
fn a_pause_stops_the_agent_and_resuming_goes_on_in_its_conversation() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "planning");
    pause(&mut history).unwrap();
    assert_eq!((held(&history).0, open(&history)), (HoldKind::Paused, vec!["stop_agent"]));
    good(&mut history);
    history.decide("ada", Decision::Resume).unwrap();
    let Some(Effect::RunAgent(task)) = history.run.open_effects.values().next() else { panic!("no agent") };
    assert_eq!((task.session.visit, task.session.attempt, &task.at), (1, 2, &samples::commit(3)));
}

#[test]
fn an_agent_that_goes_on_before_the_one_before_it_is_stopped_gets_its_tree() {
    for again in [Decision::Resume, Decision::Extend { minutes: 5 }] {
        let mut history = begin("autonomous", samples::config());
        until(&mut history, "planning");
        match again {
            Decision::Resume => pause(&mut history).unwrap(),
            _ => drop(history.take(Command::TimerFired { timer: 2 }).unwrap()),
        }
        history.decide("ada", again).unwrap();
        assert_eq!(open(&history), ["stop_agent", "run_agent"]);
        good(&mut history);
        let Some(Effect::RunAgent(task)) = history.run.open_effects.values().next() else { panic!("no agent") };
        assert_ne!(task.at, samples::commit(3), "when it was wanted, nothing was kept yet");
        assert_eq!(history.run.tree_for(task), &samples::commit(3));
        keeps_every_rule(&history);
    }
}

#[test]
fn an_agent_that_begins_anew_does_not_get_the_tree_of_a_stopped_one() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "planning");
    history.take(Command::TimerFired { timer: 2 }).unwrap();
    history.decide("ada", crate::kit::retry()).unwrap();
    good(&mut history);
    let Some(Effect::RunAgent(task)) = history.run.open_effects.values().next() else { panic!("no agent") };
    assert_eq!((task.session.attempt, history.run.tree_for(task)), (1, &task.at));
}

#[test]
fn a_pause_during_the_checks_begins_when_they_end_and_before_the_work_is_finished() {
    let mut history = begin("team", domain::RunConfig { skip_clarification: true, ..samples::config() });
    while !open(&history).contains(&"prove") {
        match history.run.hold() {
            Some(_) => crate::kit::yes(&mut history),
            None if open(&history).is_empty() => {
                let task = history.run.tasks.iter().find(|task| task.status.has_child()).unwrap().task.id.clone();
                crate::kit::child(&mut history, &task, domain::Ending::Completed);
            }
            None => good(&mut history),
        }
    }
    pause(&mut history).unwrap();
    good(&mut history);
    assert_eq!(history.run.visible(), "testing: paused");
    history.decide("ada", Decision::Resume).unwrap();
    assert_eq!(open(&history), ["prove"]);
    keeps_every_rule(&history);
}

#[test]
fn a_pause_while_an_answer_is_awaited_comes_back_to_the_hold_and_leaves_nothing_behind() {
    let mut history = begin("staged", samples::config());
    until(&mut history, "scoping: approval");
    history.decide("ada", Decision::Ask { question: "why?".to_owned() }).unwrap();
    pause(&mut history).unwrap();
    assert_eq!(held(&history).0, HoldKind::Approval);
    assert_eq!(pause(&mut history), Err(Rejection::WaitsAlready));
    good(&mut history);
    crate::kit::yes(&mut history);
    good(&mut history);
    assert_eq!(open(&history), ["run_agent"], "the next stage is worked on");
}

#[test]
fn work_that_is_being_merged_is_not_paused() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "finishing");
    assert_eq!(pause(&mut history), Err(Rejection::TooLate));
}

#[test]
fn a_word_reaches_the_agent_at_work_and_every_later_one_of_the_stage() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "planning");
    let guide = |text: &str| Command::Guide { text: text.to_owned(), by: samples::actor("ada") };
    history.take(guide("no new crates")).unwrap();
    let Some(Effect::TellAgent { target, by, text, .. }) = history.run.open_effects.values().last() else { panic!() };
    assert_eq!((*target, by.as_str(), text.as_str()), (2, "ada", "no new crates"));
    let note = history.run.notes.last().unwrap();
    assert_eq!((note.stage.as_str(), note.kind, note.text.as_str()), ("planning", NoteKind::Guidance, "no new crates"));
    assert!(matches!(history.take(guide("  ")), Err(Rejection::BadAnswer(_))));
    let number = *history.run.open_effects.last_key_value().unwrap().0;
    history.report(number, Outcome::Failed { message: "the disk is away".to_owned(), hint: None }).unwrap();
    assert_eq!(history.run.visible(), "planning", "an agent that was not reached is no reason to stop");
    history.take(Command::Cancel { by: samples::actor("ada"), reason: None }).unwrap();
    assert!(matches!(history.take(guide("too late")), Err(Rejection::AlreadyEnded)));
    keeps_every_rule(&history);
}
