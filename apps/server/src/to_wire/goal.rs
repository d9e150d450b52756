//! A goal, as single views show it.

use domain::{GoalTask, Run};
use wire::{GoalTaskView, GoalView};

/// How far the goal of a run is, if it pursues one.
pub(super) fn goal(run: &Run) -> Option<GoalView> {
    let stand = run.goal_stand()?;
    Some(GoalView {
        iteration: stand.iteration,
        of: stand.of,
        phase: stand.phase.map(|phase| phase.word().to_owned()),
        progress: stand.progress,
        line: stand.words(),
        tasks: run.goal.tasks.iter().map(task).collect(),
        phase_millis: run.goal.millis.iter().map(|(phase, millis)| (phase.word().to_owned(), *millis)).collect(),
    })
}

fn task(task: &GoalTask) -> GoalTaskView {
    GoalTaskView {
        id: task.id.clone(),
        description: task.description.clone(),
        parent: task.parent.clone(),
        dependencies: task.dependencies.clone(),
        status: task.status.word().to_owned(),
        result: task.result.clone(),
        error: task.error.clone(),
    }
}
