//! A worker that hands out tasks instead of doing all itself, and the words of the list its run stands in.

use domain::{AgentEnd, ArtifactKind, Decision, Ending, HoldKind, Outcome, Severity, Submission, TaskWord, Verdict};
use testkit::{History, samples};

use crate::kit::{agent, begin, child, end, good, held, keeps_every_rule, open, start_children, statuses, until, yes};
use domain::TaskStatus::{Merged, Waiting, Working};

/// A plan handed in by the stage's agent.
fn plan(stage: &str) -> AgentEnd {
    AgentEnd::Submitted(Box::new(Submission {
        artifact: samples::artifact(ArtifactKind::Plan, stage, 1, 40),
        summary: "two parts".to_owned(),
        decisions: Vec::new(),
        review: None,
        plan: Some(samples::plan()),
        reflection: None,
    }))
}

fn word(history: &History) -> &'static str {
    TaskWord::of(&history.run).unwrap().word()
}

fn handed_out() -> History {
    let mut history = begin("task", samples::config());
    until(&mut history, "working");
    agent(&mut history, plan("working"));
    until(&mut history, "delegated");
    history
}

fn work_both(history: &mut History) {
    for task in ["one", "two"] {
        start_children(history);
        child(history, task, Ending::Completed);
        good(history);
    }
}

#[test]
fn tasks_a_worker_hands_out_are_worked_in_order_and_what_is_merged_is_reviewed() {
    let mut history = handed_out();
    start_children(&mut history);
    assert_eq!((statuses(&history), word(&history)), (vec![Working, Waiting], "delegated"));
    work_both(&mut history);
    assert_eq!(statuses(&history), [Merged, Merged]);
    until(&mut history, "agent-review: review");
    assert_eq!(word(&history), "reviewing");
    yes(&mut history);
    until(&mut history, "completed");
    assert_eq!(word(&history), "done");
    keeps_every_rule(&history);
}

#[test]
fn a_worker_that_hands_over_leaves_out_the_stage_for_tasks() {
    let mut history = begin("task", samples::config());
    assert_eq!(word(&history), "pending");
    until(&mut history, "working");
    assert_eq!(word(&history), "working");
    good(&mut history);
    until(&mut history, "agent-review");
    assert_eq!((history.run.stages[1].visits, word(&history)), (0, "agent-review"));
    keeps_every_rule(&history);
}

#[test]
fn what_the_review_finds_after_tasks_were_merged_goes_to_the_worker() {
    let mut history = handed_out();
    work_both(&mut history);
    until(&mut history, "agent-review");
    while open(&history) != ["run_agent"] {
        good(&mut history);
    }
    let mut report = testkit::agree(&history.run, 60, history.run.open_effects.values().next().unwrap());
    let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut report else { panic!() };
    submission.review = Some(samples::review(Verdict::Fail, Severity::Minor));
    end(&mut history, report);
    assert_eq!(history.run.visible(), "working");
    good(&mut history);
    until(&mut history, "agent-review");
    assert_eq!(history.run.stages[1].visits, 1, "nothing was handed out the second time");
    keeps_every_rule(&history);
}

#[test]
fn a_worker_that_was_sent_back_with_its_tasks_may_do_the_work_itself() {
    let mut config = samples::config();
    config.require_approval = vec!["working".to_owned()];
    let mut history = begin("task", config);
    until(&mut history, "working");
    agent(&mut history, plan("working"));
    assert_eq!((held(&history).0, word(&history)), (HoldKind::Approval, "clarification"));
    history.decide("ada", Decision::Reject { feedback: "do it yourself".to_owned() }).unwrap();
    good(&mut history);
    yes(&mut history);
    until(&mut history, "agent-review");
    assert_eq!(history.run.tasks, [], "what nobody began is taken back");
    keeps_every_rule(&history);
}

#[test]
fn who_may_not_hand_out_crashes_when_it_hands_in_tasks() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "implementation");
    agent(&mut history, plan("implementation"));
    assert_eq!(history.run.stages[1].crashes, 1);
}

#[test]
fn a_child_is_told_what_people_said_when_they_let_the_tasks_begin() {
    let mut history = begin("team", domain::RunConfig { skip_clarification: true, ..samples::config() });
    until(&mut history, "planning: approval");
    history.decide("ada", Decision::Approve { notes: Some("no new crates".to_owned()) }).unwrap();
    until(&mut history, "execution");
    let child = history.run.open_effects.values().find_map(|effect| match effect {
        domain::Effect::StartChild(child) => Some(child.clone()),
        _ => None,
    });
    let start = history.run.child_start(&child.unwrap()).unwrap();
    assert!(start.request.contains("ada said of all tasks: no new crates"), "{}", start.request);
}
