//! A task as it is shown, and what its events mean to a list of tasks.

use domain::{Recorded, Run, RunId, TaskSession, TaskTold, TaskWord, task_told};
use wire::{EventView, LiveName, TaskEventView, TaskRunView};

/// A run that stands for a task.
pub(crate) fn task_run(run: &Run) -> TaskRunView {
    let (opened, word) = (run.opened(), TaskWord::of(run));
    let reviews = opened.playbook.stages.iter().zip(&run.stages).find(|(stage, _)| stage.work.on_fail().is_some());
    let words = |ways: &[TaskWord]| ways.iter().map(|way| way.word().to_owned()).collect();
    TaskRunView {
        id: run.id.to_string(),
        name: opened.config.task.as_ref().and_then(|task| task.name.clone()),
        summary: run.summary(),
        status: word.map(TaskWord::word).unwrap_or_default().to_owned(),
        may_become: word.map(|word| words(word.ways())).unwrap_or_default(),
        session: TaskSession::of(run).word().to_owned(),
        crash_count: run.current_stage().map_or(0, |index| run.stages[index].crashes),
        review_round: reviews.map_or(0, |(_, state)| state.visits),
        project: opened.project.clone(),
        branch: opened.branch.clone(),
        commit: run.code().map(|code| code.commit.to_string()),
        pr_url: run.pull_request.clone(),
        waits_for: run.hold().map(|hold| hold.summary.clone()),
        created_at: opened.at,
        updated_at: run.updated_at,
    }
}

/// The events of a run after a number, each with what it means to a list of tasks.
pub(crate) fn events(run: &RunId, log: &[Recorded], after: u64) -> Vec<EventView> {
    let mut told = task_told(run, log);
    let later = log.iter().filter(|recorded| recorded.sequence > after);
    later
        .map(|recorded| EventView { task: told.remove(&recorded.sequence).map(view), ..super::event(run, recorded) })
        .collect()
}

/// What an event that has just been recorded means.
pub(crate) fn told(run: &RunId, log: &[Recorded], sequence: u64) -> Option<TaskEventView> {
    task_told(run, log).remove(&sequence).map(view)
}

/// The name of a live message: an event that only a list of tasks has a word for goes by that word.
pub(crate) fn named(name: LiveName, told: Option<&TaskEventView>) -> LiveName {
    match (name, told) {
        (LiveName::WorkflowEvent, Some(TaskEventView::AutoAdvanced { .. })) => LiveName::AutoAdvanced,
        (LiveName::WorkflowEvent, Some(TaskEventView::AgentCrashed { .. })) => LiveName::AgentCrashed,
        (name, _) => name,
    }
}

fn view(told: TaskTold) -> TaskEventView {
    match told {
        TaskTold::AutoAdvanced { from, to, reason } => {
            TaskEventView::AutoAdvanced { from: from.word().to_owned(), to: to.word().to_owned(), reason }
        }
        TaskTold::AgentCrashed { status, crash_count, reason } => {
            TaskEventView::AgentCrashed { status: status.word().to_owned(), crash_count, reason }
        }
    }
}
