//! Status words, derived from a run's state and never stored apart from it.

use serde::{Deserialize, Serialize};

use crate::{Ending, HoldKind, Phase, Run};

/// What a run is doing, in the words every interface uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Not begun: it waits to be let in, or its branch is being made.
    Queued,
    /// Something is being done.
    Running,
    /// A person must say yes or no.
    AwaitingApproval,
    /// A person must answer a question.
    AwaitingClarification,
    /// Waits for a person after a timeout, a model failure or a spent budget.
    Paused,
    /// Crashes, rounds or a conflict need a person.
    Stuck,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
    /// Ended by a person.
    Cancelled,
}

impl Status {
    /// The status of a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        match &run.phase {
            Phase::Unopened | Phase::Opening { .. } => Self::Queued,
            Phase::Working { .. } | Phase::Delegating { .. } | Phase::Publishing { .. } | Phase::Finishing { .. } => {
                Self::Running
            }
            Phase::Holding { hold } => match hold.kind {
                HoldKind::Approval | HoldKind::Confirm | HoldKind::Fix | HoldKind::Permission | HoldKind::Review => {
                    Self::AwaitingApproval
                }
                HoldKind::Clarification => Self::AwaitingClarification,
                HoldKind::Timeout | HoldKind::Model | HoldKind::Quota | HoldKind::Budget | HoldKind::Paused => {
                    Self::Paused
                }
                HoldKind::Conflict | HoldKind::Credentials | HoldKind::Stuck => Self::Stuck,
            },
            Phase::Ended { ending } => match ending {
                Ending::Completed => Self::Completed,
                Ending::Failed => Self::Failed,
                Ending::Cancelled => Self::Cancelled,
            },
        }
    }

    /// The word used in views and in the database.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::AwaitingApproval => "awaiting_approval",
            Self::AwaitingClarification => "awaiting_clarification",
            Self::Paused => "paused",
            Self::Stuck => "stuck",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether nothing more can happen.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// Whether a person is waited for.
    #[must_use]
    pub fn waits_for_person(self) -> bool {
        matches!(self, Self::AwaitingApproval | Self::AwaitingClarification | Self::Paused | Self::Stuck)
    }
}

/// The words of runs that stand for one task each: the same state, told as people who keep a list of tasks tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskWord {
    /// Not begun.
    Pending,
    /// A person must say something before the work goes on.
    Clarification,
    /// An agent works at it.
    Working,
    /// Others work at the parts it was split into.
    Delegated,
    /// Another agent looks at what was made.
    AgentReview,
    /// A person looks at what was made, or said where it goes and it is on its way.
    Reviewing,
    /// It does not go on without a person.
    Stuck,
    /// Merged, or handed on as a pull request.
    Done,
    /// Ended by a person.
    Cancelled,
    /// Could not be done.
    Failed,
}

impl TaskWord {
    /// The playbook whose runs are told with these words.
    pub const PLAYBOOK: &'static str = "task";

    /// The stage in which another agent looks at the work.
    const REVIEW: &'static str = "agent-review";

    /// The word for a run, if it is one that stands for a task.
    #[must_use]
    pub fn of(run: &Run) -> Option<Self> {
        let playbook = &run.opened.as_deref()?.playbook.name;
        let stage = run.current_stage().map(|index| run.stage(index).name.as_str());
        Self::told(playbook, Status::of(run), run.hold().map(|hold| hold.kind), stage)
    }

    /// The same from what lists know of a run.
    #[must_use]
    pub fn told(playbook: &str, status: Status, hold: Option<HoldKind>, stage: Option<&str>) -> Option<Self> {
        (playbook == Self::PLAYBOOK).then(|| match (status, hold, stage) {
            (Status::Queued, _, _) => Self::Pending,
            (Status::Completed, _, _) => Self::Done,
            (Status::Failed, _, _) => Self::Failed,
            (Status::Cancelled, _, _) => Self::Cancelled,
            (_, Some(hold), stage) => Self::held(hold, stage),
            (_, None, Some(Self::REVIEW)) => Self::AgentReview,
            (_, None, Some("delegated")) => Self::Delegated,
            (_, None, Some(_)) => Self::Working,
            (_, None, None) => Self::Reviewing,
        })
    }

    /// What a person said yes to and does not get into its base is still under review; a reviewer has nothing to clarify.
    fn held(hold: HoldKind, stage: Option<&str>) -> Self {
        match hold {
            _ if stage.is_none() => Self::Reviewing,
            HoldKind::Clarification | HoldKind::Confirm | HoldKind::Approval | HoldKind::Permission
                if stage == Some(Self::REVIEW) =>
            {
                Self::Stuck
            }
            HoldKind::Clarification | HoldKind::Confirm | HoldKind::Approval | HoldKind::Permission => {
                Self::Clarification
            }
            HoldKind::Review => Self::Reviewing,
            HoldKind::Fix
            | HoldKind::Timeout
            | HoldKind::Model
            | HoldKind::Quota
            | HoldKind::Budget
            | HoldKind::Paused
            | HoldKind::Conflict
            | HoldKind::Credentials
            | HoldKind::Stuck => Self::Stuck,
        }
    }

    /// As it is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Clarification => "clarification",
            Self::Working => "working",
            Self::Delegated => "delegated",
            Self::AgentReview => "agent-review",
            Self::Reviewing => "reviewing",
            Self::Stuck => "stuck",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}
