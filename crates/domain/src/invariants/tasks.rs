//! Rules 7, 9, 14 and 18 for tasks: what starts, what is merged, and what each step follows from.

use super::Checker;
use crate::{ChildMerge, ChildTask, Effect, Ending, Event, Recorded, TaskStatus, Work};

/// So often an agent may resolve the conflicts of one task between two retries.
const MOST_RESOLVES: u32 = 3;

impl Checker {
    /// A task starts when what it depends on is merged, there is room, and money.
    pub(super) fn child_wanted(&mut self, recorded: &Recorded, child: &ChildTask) {
        let task = &child.task;
        let Some(state) = self.run.task(task).cloned() else {
            return self.broken(recorded, 18, format!("there is no task `{task}`"));
        };
        let Some(Work::Delegate { agents, .. }) =
            self.run.current_stage().map(|index| self.run.stage(index).work.clone())
        else {
            return self.broken(recorded, 18, format!("task `{task}` started in a stage that does not delegate"));
        };
        let merged = |id: &String| self.run.task(id).is_some_and(|other| other.status == TaskStatus::Merged);
        let unmet = state.task.depends_on.iter().find(|id| !merged(id)).cloned();
        if let Some(id) = unmet {
            self.broken(recorded, 18, format!("task `{task}` started before `{id}` was merged"));
        }
        let resolves = !child.resolve.is_empty();
        let wanted = if resolves { TaskStatus::Conflicted } else { TaskStatus::Waiting };
        if state.status != wanted {
            self.broken(recorded, 18, format!("task `{task}` started while it was {}", state.status.word()));
        }
        if resolves && state.resolves >= MOST_RESOLVES {
            self.broken(recorded, 10, format!("task `{task}` was resolved more often than allowed"));
        }
        let most = self.run.opened().config.max_concurrency.map_or(agents, |most| most.min(agents)).max(1);
        let busy = self.run.tasks.iter().filter(|task| task.status.has_child()).count();
        if busy >= usize::try_from(most).unwrap_or(usize::MAX) {
            self.broken(recorded, 14, format!("task `{task}` started although {busy} agents are at work"));
        }
        if let Some(left) = self.run.envelope()
            && child.budget.is_none_or(|given| given > left)
        {
            self.broken(recorded, 9, format!("task `{task}` was given more than is left"));
        }
        if child.attempt <= state.attempt {
            self.broken(recorded, 18, format!("task `{task}` has had child {} before", child.attempt));
        }
    }

    /// One merge at a time, of what a child that ended well made, onto the branch as it stands.
    pub(super) fn merge_wanted(&mut self, recorded: &Recorded, merge: &ChildMerge) {
        if self.run.open_effects.values().any(|open| matches!(open, Effect::MergeChild(_))) {
            self.broken(recorded, 13, "two merges at once");
        }
        if self.run.head.as_ref() != Some(&merge.onto) {
            self.broken(recorded, 7, format!("task `{}` is to be merged onto an old tip", merge.task));
        }
        if !self.seen.done_children.contains(&merge.task) {
            self.broken(
                recorded,
                7,
                format!("task `{}` is to be merged although its run did not end well", merge.task),
            );
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the caller has chosen the facts about tasks")]
    pub(super) fn task_event(&mut self, recorded: &Recorded) {
        let status = |task: &str| self.run.task(task).map(|state| state.status);
        match &recorded.event {
            Event::TasksPlanned { .. } => self.seen.done_children.clear(),
            Event::TaskAdded { task } if status(&task.id).is_some() => {
                self.broken(recorded, 18, format!("there are two tasks `{}`", task.id));
            }
            Event::ChildStarted { task, child, .. } => {
                if status(task) != Some(TaskStatus::Starting) {
                    self.broken(recorded, 18, format!("task `{task}` got a child nobody asked for"));
                }
                if !self.seen.children.insert(child.clone()) {
                    self.broken(recorded, 11, format!("child {child} started twice"));
                }
            }
            Event::ChildEnded { task, ending, child, .. } => {
                let known = self.run.task(task).and_then(|state| state.child.as_ref()) == Some(child);
                if status(task) != Some(TaskStatus::Working) || !known {
                    self.broken(recorded, 11, format!("child {child} ended twice, or belongs to nobody"));
                }
                if *ending == Ending::Completed {
                    self.seen.done_children.insert(task.clone());
                }
            }
            Event::ChildMerged { task, .. } => {
                let wanted = status(task) == Some(TaskStatus::Merging);
                if !self.seen.done_children.remove(task) || !wanted {
                    self.broken(recorded, 7, format!("task `{task}` was merged although its run did not end well"));
                }
            }
            Event::TaskRetried { task, .. } => {
                self.seen.done_children.remove(task);
                if matches!(status(task), None | Some(TaskStatus::Merged | TaskStatus::Waiting)) {
                    self.broken(recorded, 18, format!("task `{task}` is tried again without having been tried"));
                }
            }
            Event::TaskSkipped { task, .. } if status(task) != Some(TaskStatus::Waiting) => {
                self.broken(recorded, 18, format!("task `{task}` was left out after it had begun"));
            }
            Event::TaskFailed { task, .. } if matches!(status(task), None | Some(TaskStatus::Merged)) => {
                self.broken(recorded, 18, format!("task `{task}` failed after it was merged"));
            }
            // Only what is said about tasks comes here, and the rest of that is always right.
            _ => {}
        }
    }
}
