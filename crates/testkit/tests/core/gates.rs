//! What a gate shows and takes: own versions, questions about it, risk, policy, reviews.

use domain::{AgentEnd, Command, Decision, DecisionKind, HoldKind, Outcome, Rejection};
use testkit::moves::risk;
use testkit::{agree, samples};

use crate::kit::{agent, begin, end, good, held, keeps_every_rule, open, retry, until, yes};

#[test]
fn a_plan_of_ones_own_takes_the_place_of_the_agents() {
    let mut history = begin("staged", samples::config());
    for stage in ["scoping: approval", "research: approval"] {
        until(&mut history, stage);
        yes(&mut history);
    }
    until(&mut history, "planning: approval");
    let bad = Decision::ModifyPlan { plan: "{\"summary\":\"x\",\"tasks\":[]}".to_owned() };
    assert!(matches!(history.decide("ada", bad), Err(Rejection::BadPlan(_))));
    let mut plan = samples::plan();
    plan.tasks.truncate(1);
    history.decide("ada", Decision::ModifyPlan { plan: samples::plan_text(&plan) }).unwrap();
    good(&mut history);
    assert_eq!(history.run.tasks.len(), 1);
    keeps_every_rule(&history);
}

#[test]
fn a_version_that_cannot_be_used_brings_the_shown_one_back() {
    let mut history = begin("staged", samples::config());
    until(&mut history, "scoping: approval");
    history.decide("ada", Decision::ModifyPlan { plan: "mine".to_owned() }).unwrap();
    end(&mut history, Outcome::ArtifactRefused { reason: "too long".to_owned() });
    assert_eq!(held(&history).0, HoldKind::Approval);
    assert!(history.run.hold().unwrap().asked[0].answer.contains("too long"));
    keeps_every_rule(&history);
}

#[test]
fn an_asked_question_comes_back_to_the_same_artifact_whatever_became_of_it() {
    let failed = Outcome::Failed { message: "no space".to_owned(), hint: None };
    let crashed = AgentEnd::Crashed { reason: "gone".to_owned() };
    let ends = [
        (Some(failed), "no space"),
        (Some(Outcome::AgentEnded { end: crashed, tier: None, program: None, wip: None }), "gone"),
        (None, "in time"),
    ];
    for (outcome, said) in ends {
        let mut history = begin("staged", samples::config());
        until(&mut history, "scoping: approval");
        let shown = history.run.hold().unwrap().artifact.clone();
        history.decide("ada", Decision::Ask { question: "why?".to_owned() }).unwrap();
        match outcome {
            Some(outcome) => end(&mut history, outcome),
            None => {
                let timer = history.run.timer().unwrap().id;
                history.take(Command::TimerFired { timer }).map(drop).unwrap();
            }
        }
        let hold = history.run.hold().unwrap();
        assert_eq!((hold.kind, &hold.artifact), (HoldKind::Approval, &shown));
        assert!(hold.asked[0].answer.contains(said), "{:?}", hold.asked);
        keeps_every_rule(&history);
    }
}

#[test]
fn risk_adds_a_question_to_an_open_gate() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "implementation");
    let (number, effect) = history.run.open_effects.first_key_value().unwrap();
    let mut outcome = agree(&history.run, *number, effect);
    if let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut outcome {
        submission.artifact.risks = vec![risk()];
    }
    end(&mut history, outcome);
    assert_eq!(held(&history).0, HoldKind::Approval);
    assert!(history.run.hold().unwrap().summary.contains("CI changes"));
}

#[test]
fn a_policy_that_wants_a_yes_after_the_checks_gets_one() {
    let mut config = samples::config();
    config.require_approval = vec!["testing".to_owned()];
    let mut history = begin("subtask", config);
    until(&mut history, "testing: approval");
    assert!(!held(&history).1.contains(&DecisionKind::Ask), "no agent works there");
    yes(&mut history);
    until(&mut history, "reviewing");
    keeps_every_rule(&history);
}

#[test]
fn reviewed_work_goes_back_to_who_made_it_with_what_was_said() {
    for decision in
        [Decision::Reject { feedback: "shorter".to_owned() }, Decision::Suggest { text: "shorter".to_owned() }]
    {
        let mut history = begin("staged", samples::config());
        for stage in ["scoping: approval", "research: approval", "planning: approval"] {
            until(&mut history, stage);
            yes(&mut history);
        }
        until(&mut history, "review: approval");
        history.decide("ada", decision).unwrap();
        assert_eq!(history.run.visible(), "execution");
        let note = history.run.notes.last().unwrap();
        assert_eq!((note.stage.as_str(), note.text.as_str()), ("execution", "shorter"));
    }
}

#[test]
fn a_judge_that_asks_too_much_is_sent_back_itself() {
    let mut config = samples::config();
    config.max_clarifications = 0;
    let mut history = begin("autonomous", config);
    until(&mut history, "validation");
    good(&mut history);
    agent(&mut history, AgentEnd::Asked { questions: vec![samples::question("which?")] });
    history.decide("ada", Decision::Reject { feedback: "read the spec".to_owned() }).unwrap();
    assert_eq!(history.run.visible(), "validation");
    assert_eq!(history.run.notes.last().unwrap().stage, "validation");
}

#[test]
fn a_playbook_that_may_fail_fails_when_its_rounds_are_spent() {
    let mut history = begin("subtask", samples::config());
    for _ in 0..4 {
        until(&mut history, "testing");
        end(&mut history, Outcome::Proved { proof: samples::proof(3, 1) });
    }
    assert_eq!(history.run.visible(), "failed");
    keeps_every_rule(&history);
}

#[test]
fn finished_work_waits_for_a_person_who_says_where_it_goes() {
    let mut history = begin("task", samples::config());
    until(&mut history, "agent-review: review");
    let all = [DecisionKind::Approve, DecisionKind::CreatePr, DecisionKind::Reject, DecisionKind::Cancel];
    assert_eq!(held(&history).1, all);
    let mut pull = history.clone();
    pull.decide("ada", Decision::CreatePr).unwrap();
    pull.go_on();
    assert_eq!(
        (pull.run.visible().as_str(), pull.run.pull_request.is_some(), pull.run.merged),
        ("completed", true, None)
    );
    yes(&mut history);
    history.go_on();
    assert!(history.run.merged.is_some());
    keeps_every_rule(&history);
}

#[test]
fn a_stage_that_was_taken_over_is_adopted_once_and_left() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "implementation");
    for _ in 0..2 {
        agent(&mut history, AgentEnd::Crashed { reason: "gone".to_owned() });
    }
    history.decide("ada", Decision::TakeOver).unwrap();
    good(&mut history);
    assert_eq!(held(&history), (HoldKind::Paused, vec![DecisionKind::Resume, DecisionKind::Cancel]));
    history.decide("ada", Decision::Resume).unwrap();
    assert_eq!(open(&history), ["adopt"]);
    end(&mut history, Outcome::NotAdopted { reason: "nothing new".to_owned() });
    history.decide("ada", Decision::Resume).unwrap();
    good(&mut history);
    until(&mut history, "validation");
    history.go_on();
    assert_eq!(history.run.visible(), "completed");
    keeps_every_rule(&history);
}

#[test]
fn a_retry_does_the_failed_effect_again() {
    let mut history = begin("autonomous", samples::config());
    until(&mut history, "planning");
    good(&mut history);
    end(&mut history, Outcome::Failed { message: "away".to_owned(), hint: None });
    history.decide("ada", retry()).unwrap();
    assert_eq!(open(&history), ["publish"]);
}
