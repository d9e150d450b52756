//! What a fork changes: whose the past is, and what is different from here on.

use std::sync::Arc;

use jiff::Timestamp;

use crate::{Actor, ForkChanges, Phase, Resumes, Run, Spend, Waived};

/// The fork leaves its origin: what was spent is the origin's, and so is what people said about its limits.
pub(super) fn leave(run: &mut Run, by: &Actor, changes: &ForkChanges, at: Timestamp) {
    run.inherited = run.inherited.plus(&run.spend);
    // A call of the past cannot come again.
    run.spend = Spend { counted: std::mem::take(&mut run.spend.counted), ..Spend::default() };
    run.inherited_effects = run.effects_requested;
    run.budget = changes.budget.or(run.opened().config.budget);
    run.waived = Waived::default();
    run.pausing = None;
    run.models.extend(changes.models.clone());
    recast(run, changes);
    let mut phase = std::mem::replace(&mut run.phase, Phase::Opening { effect: 0 });
    if let Phase::Holding { hold } = &mut phase {
        // A person has as long as they had there.
        let waits = hold.deadline.map(|deadline| deadline.duration_since(hold.since));
        hold.deadline = waits.map(|waits| at.saturating_add(waits).unwrap_or(Timestamp::MAX));
        hold.since = at;
    }
    let failed_effect = run.failed_effect.take();
    run.resumes = Some(Box::new(Resumes { phase, failed_effect, decision: changes.decision.clone(), by: by.clone() }));
}

/// Another program cannot go on in a conversation that is not its own.
fn recast(run: &mut Run, changes: &ForkChanges) {
    if changes.agents.is_empty() {
        return;
    }
    if let Some(opened) = run.opened.as_mut().map(Arc::make_mut) {
        for (role, program) in &changes.agents {
            opened.config.agents.insert(role.clone(), program.clone());
            opened.config.direct.remove(role);
        }
        opened.config.direct.extend(changes.direct.iter().cloned());
    }
    for index in 0..run.stages.len() {
        if changes.agents.contains_key(&run.stage(index).role) {
            run.stages[index].begun = false;
        }
    }
}

/// The fork stands where its origin stood.
pub(super) fn arrive(run: &mut Run, carried: bool) {
    let Some(resumes) = run.resumes.take() else { return };
    run.phase = resumes.phase;
    run.failed_effect = resumes.failed_effect;
    if run.hold().is_some() {
        // A pause that was asked for meanwhile has begun.
        run.pausing = None;
    }
    if let Some(index) = run.current_stage().filter(|_| !carried) {
        run.stages[index].begun = false;
    }
}
