//! Every built-in playbook, all of it: no rule broken, every state alive, every end reachable, the table exact.

use std::collections::BTreeSet;

use domain::{Playbook, Transition};
use testkit::search::{Found, beginning, bounded, configs, search};

fn whole(name: &str, child: bool) {
    let playbook = bounded(name);
    let mut found: BTreeSet<Transition> = BTreeSet::new();
    for (config, word) in configs(&playbook).into_iter().zip(["all trust", "no trust"]) {
        let Found { states, taken, time, transitions, wrong } =
            search(beginning(playbook.clone(), config, child), 400_000);
        println!("{name}, {word}: {states} states, {taken} transitions, {:.1} s", time.as_secs_f64());
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        found.extend(transitions);
    }
    let table: BTreeSet<Transition> = Playbook::table(&playbook, child).into_iter().collect();
    let show = |rows: Vec<&Transition>| {
        rows.iter().map(|row| format!("{} -> {} ({})\n", row.from, row.to, row.because.word())).collect::<String>()
    };
    let missing = show(found.difference(&table).collect());
    let never = show(table.difference(&found).collect());
    assert!(missing.is_empty() && never.is_empty(), "not in the table:\n{missing}\nnever happens:\n{never}");
}

#[test]
fn every_state_of_autonomous_keeps_the_rules_and_its_table_is_exact() {
    whole("autonomous", false);
}

#[test]
fn every_state_of_team_keeps_the_rules_and_its_table_is_exact() {
    whole("team", false);
}

#[test]
fn every_state_of_subtask_keeps_the_rules_and_its_table_is_exact() {
    whole("subtask", true);
}

#[test]
fn every_state_of_staged_keeps_the_rules_and_its_table_is_exact() {
    whole("staged", false);
}

#[test]
fn every_state_of_goal_keeps_the_rules_and_its_table_is_exact() {
    whole("goal", false);
}

#[test]
fn every_state_of_task_keeps_the_rules_and_its_table_is_exact() {
    whole("task", false);
}
