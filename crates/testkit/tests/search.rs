//! Every built-in playbook, all of it: no rule broken, every state alive, every end reachable, the table exact.
#![expect(clippy::print_stdout, reason = "the figures are part of the result")]

use std::collections::BTreeSet;

use domain::{Because, Transition};
use testkit::search::{Found, MOST, bounded, search, searches};

/// Overturning on a hold that only a second question, or a policy that is off while questions are asked, leads to: two
/// questions fit into the search of `goal` alone, which shows it there.
fn excused(name: &str, row: &Transition) -> bool {
    let holds = [": clarification", ": approval", "finishing: review"];
    let overturns = row.because == Because::Overturn;
    let late = name != "goal" && overturns && holds.iter().any(|hold| row.from.ends_with(hold));
    // Nothing is assumed while tasks are worked, and money is no object; the core's tests and the walks have both.
    let tasks = row.from.starts_with("delegated") && overturns;
    let money = [&row.from, &row.to].iter().any(|state| state.as_str() == "delegated: budget");
    late || tasks || money
}

fn whole(name: &str) {
    let mut found: BTreeSet<Transition> = BTreeSet::new();
    let mut all = true;
    // It is small enough to be looked at whole.
    let most = if name == "task" { 3 * MOST } else { MOST };
    for (trust, start) in searches(name) {
        let Found { states, taken, whole, time, transitions, wrong } = search(start, most);
        all &= whole;
        println!("{name}, {trust}: {states} states, {taken} transitions, {:.1} s", time.as_secs_f64());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        found.extend(transitions);
    }
    let table: BTreeSet<Transition> = bounded(name).table(name == "subtask").into_iter().collect();
    let show = |rows: Vec<&Transition>| {
        rows.iter().map(|row| format!("{} -> {} ({})\n", row.from, row.to, row.because.word())).collect::<String>()
    };
    let missing = show(found.difference(&table).collect());
    let never = show(table.difference(&found).filter(|row| !excused(name, row)).collect());
    assert!(all || matches!(name, "team" | "staged"), "{name} has more states than are looked at");
    assert!(missing.is_empty() && (never.is_empty() || !all), "not in the table:\n{missing}\nnever happens:\n{never}");
}

#[test]
fn every_state_of_autonomous_keeps_the_rules_and_its_table_is_exact() {
    whole("autonomous");
}

#[test]
fn every_state_of_team_keeps_the_rules_and_its_table_is_exact() {
    whole("team");
}

#[test]
fn every_state_of_subtask_keeps_the_rules_and_its_table_is_exact() {
    whole("subtask");
}

#[test]
fn every_state_of_staged_keeps_the_rules_and_its_table_is_exact() {
    whole("staged");
}

#[test]
fn every_state_of_goal_keeps_the_rules_and_its_table_is_exact() {
    whole("goal");
}

#[test]
fn every_state_of_task_keeps_the_rules_and_its_table_is_exact() {
    whole("task");
}
