//! Tasks of a plan as they stand, while child runs work on them.

use crate::{CommitId, Micros, RunId, Task};

/// One task and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskState {
    /// The task.
    pub task: Task,
    /// How it stands.
    pub status: TaskStatus,
    /// Child runs it has had.
    pub attempt: u32,
    /// Times it was tried again after a failure.
    pub retries: u32,
    /// Times an agent was let resolve a conflict of it.
    pub resolves: u32,
    /// Its newest child run.
    pub child: Option<RunId>,
    /// What that made.
    pub commit: Option<CommitId>,
    /// What that may spend.
    pub budget: Option<Micros>,
    /// What it spent so far, all its child runs that are over together.
    pub cost: Micros,
    /// What went wrong last.
    pub problem: Option<String>,
    /// Files in which it conflicted, until it is merged.
    pub conflicts: Vec<String>,
    /// A commit with both versions between conflict markers.
    pub marked: Option<CommitId>,
    /// Files it changed without having named them.
    pub strayed: Vec<String>,
    /// Whether a person said that they resolved its conflict.
    pub look_first: bool,
    /// Whether a person said that an agent shall resolve its conflict once more.
    pub resolve_asked: bool,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskStatus {
    /// Not begun, or to be begun again.
    Waiting,
    /// Its child run is being begun.
    Starting,
    /// Its child run works, or waits for a person.
    Working,
    /// Its child run is done; its work is to be merged.
    Ready,
    /// It is being merged.
    Merging,
    /// It does not merge; an agent or a person must resolve it.
    Conflicted,
    /// Its work is on the run's branch.
    Merged,
    /// Given up.
    Failed,
    /// Left out because what it depends on is missing.
    Skipped,
}

impl TaskState {
    /// A task nobody has begun.
    #[must_use]
    pub fn new(task: Task) -> Self {
        Self {
            task,
            status: TaskStatus::Waiting,
            attempt: 0,
            retries: 0,
            resolves: 0,
            child: None,
            commit: None,
            budget: None,
            cost: Micros(0),
            problem: None,
            conflicts: Vec::new(),
            marked: None,
            strayed: Vec::new(),
            look_first: false,
            resolve_asked: false,
        }
    }
}

impl TaskStatus {
    /// The word used in views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Working => "working",
            Self::Ready => "ready",
            Self::Merging => "merging",
            Self::Conflicted => "conflicted",
            Self::Merged => "merged",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    /// Whether a child run is at work, which takes one of the run's agents.
    #[must_use]
    pub fn has_child(self) -> bool {
        matches!(self, Self::Starting | Self::Working)
    }

    /// Whether nothing more happens to it.
    #[must_use]
    pub fn is_settled(self) -> bool {
        matches!(self, Self::Merged | Self::Failed | Self::Skipped)
    }
}
