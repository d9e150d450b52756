//! Rules that need the logs of several runs: parents and the children that work for them.

use std::collections::BTreeMap;

use super::{Violation, check_fork, check_log};
use crate::{Effect, Ending, Event, Micros, Parent, Phase, Recorded, Run, RunId, replay};

/// Checks the logs of runs that are at rest, each for itself and as a family.
#[must_use]
pub fn check_family(logs: &BTreeMap<RunId, Vec<Recorded>>) -> Vec<(RunId, Violation)> {
    let mut found = Vec::new();
    let runs: BTreeMap<&RunId, Run> =
        logs.iter().map(|(id, log)| (id, replay(id.clone(), log.iter().cloned()))).collect();
    for (id, log) in logs {
        found.extend(check_log(id, log).into_iter().map(|violation| (id.clone(), violation)));
        let mut note = |sequence: u64, rule: u8, message: String| {
            found.push((id.clone(), Violation { sequence, rule, message }));
        };
        let from = runs.get(id).and_then(|run| run.opened.as_ref()).and_then(|opened| opened.forked_from.as_ref());
        // What was done before a fork was done by children of another run.
        for recorded in log.iter().filter(|recorded| !from.is_some_and(|from| from.has(recorded.sequence))) {
            children(id, recorded, &runs, &mut note);
        }
        if let Some(origin) = from.and_then(|from| logs.get(&from.run)) {
            found.extend(check_fork(log, origin).into_iter().map(|violation| (id.clone(), violation)));
        }
        let mut note = |sequence: u64, rule: u8, message: String| {
            found.push((id.clone(), Violation { sequence, rule, message }));
        };
        budgets(log, &mut note);
        if let Some(run) = runs.get(id) {
            orphan(run, &runs, &mut note);
        }
    }
    found
}

type Note<'a> = dyn FnMut(u64, u8, String) + 'a;

/// Rules 7 and 18: a child is who its parent says it is, and only what ended well is merged.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "only three facts are about children; a new one changes nothing here"
)]
fn children(parent: &RunId, recorded: &Recorded, runs: &BTreeMap<&RunId, Run>, note: &mut Note<'_>) {
    match &recorded.event {
        Event::ChildStarted { task, attempt, child } => {
            let ours = |known: &Parent| known.run == *parent && known.task == *task && known.attempt == *attempt;
            let known = runs.get(child).and_then(|run| run.opened.as_ref()).and_then(|opened| opened.parent.as_ref());
            if !known.is_some_and(ours) {
                note(recorded.sequence, 18, format!("child {child} of task `{task}` is not its run {attempt}"));
            }
        }
        Event::ChildEnded { child, ending, .. } => {
            let ended = runs.get(child).map(|run| run.phase.clone());
            if ended != Some(Phase::Ended { ending: *ending }) {
                note(recorded.sequence, 7, format!("child {child} did not end as {ending:?}"));
            }
        }
        Event::EffectRequested { effect: Effect::MergeChild(merge), .. } => {
            // With both versions between markers a person may merge what an earlier child made.
            let ended = runs.get(&merge.child).map(|run| &run.phase);
            let well = matches!(ended, Some(Phase::Ended { ending: Ending::Completed }));
            if !well && !merge.look_first {
                note(recorded.sequence, 7, format!("child {} was merged although it did not end well", merge.child));
            }
        }
        _ => {}
    }
}

/// Rule 9: what the children of a run are given at any time is no more than what it may spend itself.
#[expect(clippy::wildcard_enum_match_arm, reason = "only these facts move money between runs")]
fn budgets(log: &[Recorded], note: &mut Note<'_>) {
    let (mut limit, mut began): (Option<Micros>, Option<Micros>) = (None, None);
    let mut given: BTreeMap<(String, u32), Micros> = BTreeMap::new();
    let mut attempts: BTreeMap<String, u32> = BTreeMap::new();
    for recorded in log {
        match &recorded.event {
            Event::RunStarted { config, .. } => (limit, began) = (config.budget, config.budget),
            Event::RunForked { changes, .. } => {
                limit = changes.budget.or(began);
                given.clear();
            }
            Event::DecisionMade { decision: crate::Decision::Raise { by }, .. } => {
                limit = limit.map(|limit| limit.plus(*by));
            }
            Event::EffectRequested { effect: Effect::StartChild(child), .. } => {
                attempts.insert(child.task.clone(), child.attempt);
                given.insert((child.task.clone(), child.attempt), child.budget.unwrap_or(Micros(0)));
            }
            Event::ChildEnded { task, cost, .. } => {
                let attempt = attempts.get(task).copied().unwrap_or(0);
                let was = given.entry((task.clone(), attempt)).or_insert(Micros(0));
                *was = (*was).min(*cost);
            }
            _ => {}
        }
        let sum = given.values().fold(Micros(0), |sum, one| sum.plus(*one));
        if limit.is_some_and(|limit| sum > limit) {
            note(recorded.sequence, 9, format!("its children were given {sum} in all, more than it has"));
            return;
        }
    }
}

/// Rules 15 and 17: when all is quiet, nobody works for a run that is over.
fn orphan(run: &Run, runs: &BTreeMap<&RunId, Run>, note: &mut Note<'_>) {
    let Some(parent) = run.opened.as_ref().and_then(|opened| opened.parent.as_ref()) else { return };
    match runs.get(&parent.run) {
        None => note(1, 18, format!("its parent {} does not exist", parent.run)),
        Some(parent) if parent.is_ended() && !run.is_ended() => {
            note(run.version, 15, format!("it goes on although its parent {} is over", parent.id));
        }
        Some(_) => {}
    }
}
