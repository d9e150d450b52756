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
