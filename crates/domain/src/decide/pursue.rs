//! Pursuing a goal: iterations of planning, acting, observing and reflecting. Always ends: with the goal, a cap, a
//! failure or a person.

use super::{Draft, cancel, hold, stage, work};
use crate::{
    Digest, Event, GoalTask, Purpose, PursuitReport, PursuitStep, Reflection, Rejection, WhenStuck, Work,
    check_goal_tasks, goal, parse_goal_tasks,
};

/// The agent at work goes a step on. One that was taken in before, comes late or makes no sense is refused.
pub(super) fn step(draft: &mut Draft, report: PursuitReport) -> Result<(), Rejection> {
    let PursuitReport { effect, number, step } = report;
    let Some((open, Purpose::Iterate { number: iteration })) = draft.agent() else {
        return Err(Rejection::EffectNotOpen(effect));
    };
    let Some(index) = draft.run.current_stage().filter(|_| open == effect) else {
        return Err(Rejection::EffectNotOpen(effect));
    };
    let known = Rejection::StepKnown(effect, number);
    if number == 0 || draft.run.goal.counted.is_some_and(|counted| counted >= (effect, number)) {
        return Err(known);
    }
    let stage = draft.run.stage(index).name.clone();
    let goal = &draft.run.goal;
    let event = match step {
        PursuitStep::Phase { phase } => {
            match goal.phase {
                Some(now) if now == phase => return Err(known),
                Some(now) if !now.leads_to(phase) => {
                    return Err(Rejection::BadPhase { from: now.word(), to: phase.word() });
                }
                Some(_) | None => {}
            }
            Event::GoalPhaseEntered { stage, iteration, phase, effect, step: number }
        }
        PursuitStep::Planned { tasks } if tasks == goal.tasks => return Err(known),
        PursuitStep::Planned { tasks } => {
            check_goal_tasks(&tasks).map_err(|error| Rejection::BadPlan(error.to_string()))?;
            Event::GoalTasksPlanned { stage, tasks, by: "agent".to_owned(), effect, step: number }
        }
        PursuitStep::Updated { task } if goal.tasks.contains(&task) => return Err(known),
        PursuitStep::Updated { task } => {
            let tasks = with(&goal.tasks, &task)?;
            check_goal_tasks(&tasks).map_err(|error| Rejection::BadPlan(error.to_string()))?;
            Event::GoalTaskUpdated { stage, task, effect, step: number }
        }
    };
    draft.record(event);
    Ok(())
}

fn with(tasks: &[GoalTask], task: &GoalTask) -> Result<Vec<GoalTask>, Rejection> {
    let mut tasks = tasks.to_vec();
    let known = tasks.iter_mut().find(|known| known.id == task.id);
    let known = known.ok_or_else(|| Rejection::BadPlan(format!("there is no task `{}`", task.id)))?;
    known.clone_from(task);
    Ok(tasks)
}

/// An iteration is over and the goal is not met.
pub(super) fn reflected(draft: &mut Draft, index: usize, reflection: Reflection, tree: Option<Digest>) {
    if !matches!(draft.run.stage(index).work, Work::Pursue { .. }) {
        return work::crashed(draft, index, "it reflected where work was wanted".to_owned());
    }
    record(draft, index, reflection.clone(), tree);
    match against(draft, index, &reflection) {
        Some(reason) => stuck(draft, index, &reason),
        None => stage::go_on(draft, index),
    }
}

pub(super) fn record(draft: &mut Draft, index: usize, reflection: Reflection, tree: Option<Digest>) {
    let stage = draft.run.stage(index).name.clone();
    let iteration = draft.run.stages[index].iterations + 1;
    draft.record(Event::ReflectionRecorded { stage, iteration, reflection, tree });
}

/// The goal is said to be met, and what was made is there. Where that contradicts what else is known, a person looks,
/// whatever the gate says.
pub(super) fn met(draft: &mut Draft, index: usize) {
    match (goal::doubt(&draft.run), draft.run.opened().playbook.when_stuck) {
        (None, WhenStuck::Ask | WhenStuck::Fail) => stage::gate(draft, index),
        (Some(_), WhenStuck::Ask) => hold::ask_approval(draft, index),
        (Some(doubt), WhenStuck::Fail) => cancel::fail(draft, &doubt),
    }
}

/// What a person wants done takes the place of what the agent planned.
pub(super) fn planned(draft: &mut Draft, index: usize, plan: &str, by: &str) {
    if let Ok(tasks) = parse_goal_tasks(plan) {
        let stage = draft.run.stage(index).name.clone();
        draft.record(Event::GoalTasksPlanned { stage, tasks, by: by.to_owned(), effect: 0, step: 0 });
    }
    stage::begin(draft, index);
}

/// What speaks against another iteration.
fn against(draft: &Draft, index: usize, reflection: &Reflection) -> Option<String> {
    let run = &draft.run;
    if reflection.requires_user_intervention {
        let issues = if reflection.issues.is_empty() { &reflection.content } else { &reflection.issues.join("; ") };
        return Some(format!("it needs you: {issues}"));
    }
    if reflection.goal_achieved {
        return Some("it says that the goal is met, but handed nothing in".to_owned());
    }
    let state = &run.stages[index];
    if matches!(run.stage(index).work, Work::Pursue { iterations } if state.iterations >= iterations + state.iterations_granted)
    {
        let done = state.iterations;
        return Some(format!("{done} iterations did not reach the goal ({} %)", reflection.progress));
    }
    goal::seen(run)
}

fn stuck(draft: &mut Draft, index: usize, reason: &str) {
    match draft.run.opened().playbook.when_stuck {
        WhenStuck::Ask => hold::ask_goal(draft, index, reason),
        WhenStuck::Fail => cancel::fail(draft, reason),
    }
}
