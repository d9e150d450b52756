//! After the last stage: merges, pull requests, and who is asked before.

use domain::{Decision, HoldKind, Outcome, RunConfig};
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
