//! What the checker finds in the logs of a family.

use std::collections::BTreeMap;

use domain::{AgentEnd, Command, Decision, Ending, Micros, Purse, Recorded, RunId, Shortage, check_family};
use testkit::{History, samples};

use crate::kit::{agent, child, executing, start_children, task, until};

type Logs = BTreeMap<RunId, Vec<Recorded>>;

/// A parent with one task, and the child it began.
fn family() -> (History, History) {
    let mut parent = executing(samples::config(), vec![task("a", &[])]);
    let wish = parent.run.open_effects.values().find_map(|effect| match effect {
        domain::Effect::StartChild(child) => Some(child.clone()),
        _ => None,
    });
    let start = parent.run.child_start(&wish.unwrap()).unwrap();
    start_children(&mut parent);
    let mut child = History::unopened(parent.run.task("a").unwrap().child.clone().unwrap());
    child.take(Command::Start(Box::new(start))).unwrap();
    (parent, child)
}

#[test]
fn a_child_is_not_asked_about_limits_but_may_be_let_beyond_one() {
    let (_, mut work) = family();
    until(&mut work, "implementing");
    let given = |work: &History| work.run.agent().unwrap().1.clone();
    assert!(given(&work).waived.asked.contains(&Purse::Day) && given(&work).ask_after.is_none());
    let shortage = Shortage { purse: Purse::Day, ..Shortage::default() };
    agent(&mut work, AgentEnd::BudgetSpent { reason: "not made".to_owned(), shortage });
    work.decide("ada", Decision::Raise { by: Micros(70) }).unwrap();
    assert_eq!(given(&work).waived.beyond, [(Purse::Day, Micros(70))].into());
}

fn rules(members: [&History; 2]) -> Vec<u8> {
    let logs: Logs = members.iter().map(|one| (one.run.id.clone(), one.log.clone())).collect();
    check_family(&logs).iter().map(|(_, violation)| violation.rule).collect()
}

#[test]
fn a_child_that_ended_as_its_parent_says_breaks_no_rule() {
    let (mut parent, mut work) = family();
    assert_eq!(rules([&parent, &work]), Vec::<u8>::new());
    work.go_on();
    child(&mut parent, "a", Ending::Completed);
    assert_eq!(rules([&parent, &work]), Vec::<u8>::new());
}

#[test]
fn merging_a_child_that_has_not_ended_is_found() {
    let (mut parent, work) = family();
    child(&mut parent, "a", Ending::Completed);
    assert_eq!(rules([&parent, &work]), [7, 7]);
}

#[test]
fn a_child_that_outlives_its_parent_is_found() {
    let (mut parent, work) = family();
    parent.take(Command::Cancel { by: samples::actor("ada"), reason: None }).unwrap();
    assert_eq!(rules([&parent, &work]), [15]);
}
