//! What must be true when the faults have stopped, and when everything is over.

use std::collections::BTreeMap;

use domain::{Recorded, Run, RunId, TaskStatus, check_family};

/// What became of a seed.
#[derive(Debug)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// Runs, children included.
    pub runs: usize,
    /// Events of all of them.
    pub events: usize,
    /// Effects that were begun.
    pub effects: u64,
    /// Of these, begun again after they had ended.
    pub repeated: u64,
    /// Engines that were cut off.
    pub crashes: u32,
    /// What is wrong; empty when all is well.
    pub wrong: Vec<String>,
}

/// Rule 17: each run has ended, waits for a person, or waits for a child that does.
pub(super) fn at_rest(runs: &BTreeMap<RunId, Run>, logs: &BTreeMap<RunId, Vec<Recorded>>) -> Vec<String> {
    let mut wrong = rules(logs);
    for run in runs.values().filter(|run| !run.is_ended() && run.hold().is_none()) {
        let waits = |child: &RunId| runs.get(child).is_some_and(|child| !child.is_ended());
        let working = run.tasks.iter().filter(|task| task.status == TaskStatus::Working);
        if !working.filter_map(|task| task.child.as_ref()).any(waits) {
            let tasks: Vec<&str> = run.tasks.iter().map(|task| task.status.word()).collect();
            let open: Vec<&str> = run.open_effects.values().map(domain::Effect::word).collect();
            wrong.push(format!("rule 17: {} stands still at `{}` {tasks:?} {open:?}", run.id, run.visible()));
        }
    }
    wrong
}

/// At the end nothing is left: no open run, no open effect.
pub(super) fn over(runs: &BTreeMap<RunId, Run>, logs: &BTreeMap<RunId, Vec<Recorded>>) -> Vec<String> {
    let mut wrong = rules(logs);
    for run in runs.values().filter(|run| !run.is_ended() || !run.open_effects.is_empty()) {
        wrong.push(format!(
            "rule 16: {} does not end: `{}`, child: {}",
            run.id,
            run.visible(),
            run.opened().parent.is_some()
        ));
    }
    wrong
}

fn rules(logs: &BTreeMap<RunId, Vec<Recorded>>) -> Vec<String> {
    let broken = check_family(logs);
    broken.iter().map(|(id, one)| format!("rule {}: {id} at {}: {}", one.rule, one.sequence, one.message)).collect()
}
