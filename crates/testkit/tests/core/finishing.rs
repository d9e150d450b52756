//! After the last stage: merges, pull requests, and who is asked before.

use domain::{Decision, Effect, HoldKind, Outcome, RunConfig, check_log};
use testkit::samples;

use crate::kit::{
    begin, child, end, executing, good, good_until_held, held, keeps_every_rule, open, retry, start_children, task,
    until,
};

#[test]
fn a_pull_request_without_a_remote_waits_for_one() {
    let mut history = begin("task", samples::config());
    until(&mut history, "agent-review: review");
    history.decide("ada", Decision::CreatePr).unwrap();
    while !open(&history).contains(&"push_remote") {
        good(&mut history);
    }
    end(&mut history, Outcome::Pushed { remote: None });
    assert_eq!(held(&history).0, HoldKind::Credentials);
    history.decide("ada", retry()).unwrap();
    assert_eq!(open(&history), ["push_remote"]);
    keeps_every_rule(&history);
}

#[test]
fn a_merge_that_does_not_go_is_a_conflict_that_can_be_retried() {
    let mut history = begin("autonomous", samples::config());
    while !open(&history).contains(&"land") {
        good(&mut history);
    }
    end(&mut history, Outcome::NotLanded { reason: "a conflict".to_owned(), paths: vec!["a".to_owned()] });
    assert_eq!(held(&history).0, HoldKind::Conflict);
    history.decide("ada", retry()).unwrap();
    assert_eq!(open(&history), ["land"]);
}

#[test]
fn a_base_that_moved_without_checks_is_merged_onto_only_after_a_yes_to_it() {
    let mut history = begin("autonomous", samples::config());
    while !open(&history).contains(&"land") {
        good(&mut history);
    }
    let mut digests = Vec::new();
    for base in [5, 6] {
        end(&mut history, Outcome::BaseMoved { base: samples::commit(base) });
        let hold = history.run.hold().unwrap();
        assert_eq!((hold.kind, hold.allowed[0]), (HoldKind::Review, domain::DecisionKind::Approve));
        digests.push(hold.digest.clone());
        history.decide("ada", Decision::Approve { notes: None }).unwrap();
        assert_eq!(open(&history), ["land"]);
    }
    assert_ne!(digests[0], digests[1]);
    keeps_every_rule(&history);
    let (_, effect) = history.run.open_effects.iter().next().unwrap();
    assert!(matches!(effect, Effect::Land(policy) if policy.onto == Some(samples::commit(6))));
    let landed = |onto| Outcome::Landed { commit: samples::commit(9), proof: None, onto: Some(samples::commit(onto)) };
    let mut elsewhere = history.clone();
    end(&mut history, landed(6));
    keeps_every_rule(&history);
    end(&mut elsewhere, landed(5));
    let found = check_log(&elsewhere.run.id, &elsewhere.log);
    assert!(
        found.iter().any(|found| found.rule == 7),
        "merged onto another base than the one that was shown: {found:?}"
    );
}

#[test]
fn code_that_nobody_approved_is_pushed_only_after_a_yes_to_it() {
    let mut config = samples::config();
    config.git = domain::GitPolicy { auto_merge: false, push: true, ask_push: true, ..config.git };
    let mut history = begin("autonomous", config);
    while !open(&history).contains(&"push_remote") {
        good(&mut history);
    }
    end(&mut history, Outcome::PushUnasked { remote: "origin".to_owned() });
    assert_eq!(held(&history).0, HoldKind::Review);
    history.decide("ada", Decision::Approve { notes: None }).unwrap();
    assert!(history.run.open_effects.values().any(|effect| matches!(effect, Effect::PushRemote { ask: false, .. })));
    keeps_every_rule(&history);
}

#[test]
fn work_that_is_not_whole_is_not_merged_without_a_person() {
    let config = RunConfig { on_failure: Some(domain::OnFailure::Continue), ..samples::config() };
    let mut history = executing(config, vec![task("a", &[]), task("b", &[])]);
    start_children(&mut history);
    child(&mut history, "a", domain::Ending::Failed);
    child(&mut history, "b", domain::Ending::Completed);
    good_until_held(&mut history);
    assert_eq!(held(&history).0, HoldKind::Review);
    assert!(history.run.hold().unwrap().summary.contains("not done: a"));
    keeps_every_rule(&history);
}
