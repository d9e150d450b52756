//! What events change about a goal.

use jiff::Timestamp;

use crate::{Actor, Decision, Digest, Effect, GoalPhase, GoalTask, Hold, HoldKind, IterationEnd, Purpose, Reflection};
use crate::{Run, StageState, Work};

/// An iteration is at another phase.
pub(super) fn enter(run: &mut Run, phase: GoalPhase, at: Timestamp) {
    stop_clock(run, at);
    run.goal.phase = Some(phase);
    run.goal.since = Some(at);
}

pub(super) fn plan(run: &mut Run, tasks: &[GoalTask]) {
    run.goal.tasks = tasks.to_vec();
}

pub(super) fn update(run: &mut Run, task: &GoalTask) {
    if let Some(known) = run.goal.tasks.iter_mut().find(|known| known.id == task.id) {
        known.clone_from(task);
    }
}

/// A step of an effect was taken in; people's own have the number 0.
pub(super) fn count(run: &mut Run, effect: u32, step: u32) {
    if effect > 0 {
        run.goal.counted = Some((effect, step));
    }
}

pub(super) fn reflect(run: &mut Run, reflection: &Reflection, tree: Option<&Digest>) {
    run.reflections.push(reflection.clone());
    let completed = run.goal.completed();
    run.goal.ends.push(IterationEnd { tree: tree.cloned(), completed });
    run.goal.phase = None;
}

/// The agent of an iteration is gone.
pub(super) fn left(run: &mut Run, effect: Option<&Effect>, at: Timestamp) {
    if matches!(effect, Some(Effect::RunAgent(task)) if matches!(task.purpose, Purpose::Iterate { .. })) {
        stop_clock(run, at);
    }
}

fn stop_clock(run: &mut Run, at: Timestamp) {
    if let (Some(phase), Some(since)) = (run.goal.phase, run.goal.since.take()) {
        let spent = u64::try_from(at.duration_since(since).as_millis()).unwrap_or(0);
        *run.goal.millis.entry(phase).or_default() += spent;
    }
}

/// A hold was placed on a goal that does not get on.
pub(super) fn held(run: &mut Run, hold: &Hold) {
    let pursues = run.current_stage().is_some_and(|index| matches!(run.stage(index).work, Work::Pursue { .. }));
    run.goal.waits = (hold.kind == HoldKind::Stuck && pursues).then(|| hold.summary.clone());
}

/// A person decided on the goal: what came before is not held against it again, and whoever says no wants another plan.
pub(super) fn decided(run: &mut Run, index: usize, hold: &Hold, decision: &Decision) {
    let Work::Pursue { iterations } = run.stage(index).work else { return };
    let about = matches!(hold.kind, HoldKind::Stuck | HoldKind::Approval) && hold.question.is_none();
    if !about || matches!(decision, Decision::Ask { .. } | Decision::Cancel { .. }) {
        return;
    }
    run.goal.heard = run.goal.ends.len();
    run.goal.waits = None;
    if matches!(decision, Decision::Reject { .. }) {
        run.goal.tasks.clear();
    }
    let goes_on = matches!(
        decision,
        Decision::Approve { .. } | Decision::Reject { .. } | Decision::Suggest { .. } | Decision::ModifyPlan { .. }
    );
    if hold.kind == HoldKind::Stuck && goes_on {
        grant(&mut run.stages[index], iterations);
    }
}

/// Iterations that are spent are given once more.
pub(super) fn grant(state: &mut StageState, iterations: u32) {
    if state.iterations >= iterations + state.iterations_granted {
        state.iterations_granted += iterations;
    }
}

/// What a person said about a goal that did not get on, for the next iteration.
pub(super) fn word(run: &mut Run, stage: String, decision: &Decision, by: &Actor) {
    use super::{NoteKind, note};
    match decision {
        Decision::Approve { notes: Some(text) } | Decision::Suggest { text } => {
            note(run, NoteKind::Guidance, stage, text, by);
        }
        Decision::Reject { feedback } => note(run, NoteKind::Feedback, stage, feedback, by),
        Decision::ModifyPlan { .. } => {
            note(run, NoteKind::Guidance, stage, "the tasks are changed: work on these", by);
        }
        Decision::Approve { notes: None }
        | Decision::Ask { .. }
        | Decision::Answer { .. }
        | Decision::Ignore
        | Decision::Retry { .. }
        | Decision::ApproveForRun
        | Decision::AcceptAnyway { .. }
        | Decision::Extend { .. }
        | Decision::Raise { .. }
        | Decision::Resolve
        | Decision::CreatePr
        | Decision::TakeOver
        | Decision::Resume
        | Decision::Cancel { .. } => {}
    }
}
