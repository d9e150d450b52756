//! What the events of a task mean to people who keep a list of tasks: that it went on by itself, or that its agent
//! crashed. Told from the log, never stored.

use std::collections::BTreeMap;

use crate::evolve::advance;
use crate::{Event, HoldKind, Recorded, Run, RunId, Status, TaskWord, Verdict};

/// Something a list of tasks shows of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskTold {
    /// It became something else, and nobody said so.
    AutoAdvanced {
        /// What it was.
        from: TaskWord,
        /// What it is.
        to: TaskWord,
        /// Why.
        reason: String,
    },
    /// Its agent ended without handing anything in.
    AgentCrashed {
        /// What it is.
        status: TaskWord,
        /// Crashes in this status so far.
        crash_count: u32,
        /// What is known.
        reason: String,
    },
}

impl TaskTold {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::AutoAdvanced { .. } => "auto.advanced",
            Self::AgentCrashed { .. } => "agent.crashed",
        }
    }
}

/// What of a log a list of tasks shows, by the number of the event. Nothing for a run that is no task.
#[must_use]
pub fn task_told(id: &RunId, log: &[Recorded]) -> BTreeMap<u64, TaskTold> {
    let mut told = BTreeMap::new();
    let mut run = Run::unopened(id.clone());
    for recorded in log {
        let before = TaskWord::of(&run);
        advance(&mut run, recorded);
        if !run.is_task() {
            return told;
        }
        if let Some(before) = before {
            told.extend(tell(&run, before, &recorded.event).map(|told| (recorded.sequence, told)));
        }
    }
    told
}

fn tell(run: &Run, from: TaskWord, event: &Event) -> Option<TaskTold> {
    // Only three kinds of events are told; a new one is told when somebody wants to hear it.
    if let Event::AgentCrashed { count, reason, .. } = event {
        return Some(TaskTold::AgentCrashed { status: from, crash_count: *count, reason: reason.clone() });
    }
    if let Event::AutoAdvanced { stage, reason } = event {
        let to = leads_to(run, stage)?;
        return Some(TaskTold::AutoAdvanced { from, to, reason: reason.clone() });
    }
    if let Event::HoldPlaced { hold } = event {
        let to = TaskWord::of(run).filter(|to| *to != from && matches!(to, TaskWord::Reviewing | TaskWord::Stuck))?;
        let reason = match hold.kind {
            HoldKind::Review => "the review passed".to_owned(),
            HoldKind::Paused => return None,
            HoldKind::Approval
            | HoldKind::Clarification
            | HoldKind::Confirm
            | HoldKind::Fix
            | HoldKind::Permission
            | HoldKind::Timeout
            | HoldKind::Model
            | HoldKind::Quota
            | HoldKind::Budget
            | HoldKind::Conflict
            | HoldKind::Credentials
            | HoldKind::Stuck => hold.summary.clone(),
        };
        return Some(TaskTold::AutoAdvanced { from, to, reason });
    }
    None
}

/// The word of the stage that comes when one was left by itself: after a FAIL the one that mends it.
fn leads_to(run: &Run, stage: &str) -> Option<TaskWord> {
    let index = run.opened().playbook.index_of(stage)?;
    let failed = run.review.as_ref().is_some_and(|review| review.verdict == Verdict::Fail);
    let back = run.stage(index).work.on_fail().filter(|_| failed).map(str::to_owned);
    let next = back.or_else(|| run.next_stage(index).map(|next| run.stage(next).name.clone()));
    TaskWord::told(TaskWord::PLAYBOOK, Status::Running, None, next.as_deref())
}
