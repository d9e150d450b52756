//! Outcomes: what came of an effect.

use serde::{Deserialize, Serialize};

use crate::{Artifact, CommitId, Proof, Question, Review};

/// What came of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The branch exists.
    BranchOpened {
        /// Where it starts.
        base: CommitId,
    },
    /// The agent's process is gone.
    AgentEnded {
        /// How.
        end: AgentEnd,
        /// The isolation it ran in: `sandboxed`, `restricted`, `unsandboxed`.
        tier: Option<String>,
        /// Its unfinished tree, when it did not hand anything in.
        wip: Option<CommitId>,
    },
    /// The checks ran.
    Proved {
        /// Their results.
        proof: Proof,
    },
    /// No process of the agent is left.
    AgentStopped {
        /// Its unfinished tree.
        wip: Option<CommitId>,
    },
    /// The user's repository has the branch.
    Published,
    /// Context, events and memory are committed.
    RecordWritten {
        /// The branch's new tip.
        commit: CommitId,
    },
    /// The base branch has the work.
    Landed {
        /// The commit on the base branch.
        commit: CommitId,
        /// Proof for the merged tree when the base had moved.
        proof: Option<Proof>,
    },
    /// The work does not merge, or the base's checkout is in the way.
    NotLanded {
        /// What happened.
        reason: String,
        /// Paths that conflict or are dirty.
        paths: Vec<String>,
    },
    /// Merged with the moved base, the checks fail.
    LandingUnproven {
        /// The failing proof.
        proof: Proof,
    },
    /// The remote has the branch, or there is no remote.
    Pushed {
        /// Name of the remote, if there is one.
        remote: Option<String>,
    },
    /// The remote did not take it.
    PushRefused {
        /// What it said.
        reason: String,
    },
    /// Workspace and processes are gone.
    CleanedUp,
    /// It could not be done.
    Failed {
        /// What happened, for people.
        message: String,
        /// What to do next.
        hint: Option<String>,
    },
}

/// How an agent's attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    /// It handed in what the stage wants, and that is committed.
    Submitted(Box<Submission>),
    /// It asks.
    Asked {
        /// One or more questions, never none.
        questions: Vec<Question>,
    },
    /// It ended without handing anything in.
    Crashed {
        /// What is known.
        reason: String,
    },
    /// The model failed after all retries.
    ModelFailed {
        /// What the provider said.
        reason: String,
    },
    /// The envelope is spent.
    BudgetSpent {
        /// What the broker said.
        reason: String,
    },
}

/// What an agent handed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    /// The committed artifact.
    pub artifact: Artifact,
    /// A few sentences by the agent.
    pub summary: String,
    /// Decisions worth remembering.
    pub decisions: Vec<DecisionNote>,
    /// The verdict, from judges.
    pub review: Option<Review>,
}

/// A choice an agent made, for `context.json` and the project's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionNote {
    /// About what.
    pub topic: String,
    /// What was chosen.
    pub choice: String,
    /// Why.
    #[serde(default)]
    pub rationale: String,
}

impl Outcome {
    /// One word for logs and events.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::BranchOpened { .. } => "branch_opened",
            Self::AgentEnded { end, .. } => match end {
                AgentEnd::Submitted(_) => "submitted",
                AgentEnd::Asked { .. } => "asked",
                AgentEnd::Crashed { .. } => "crashed",
                AgentEnd::ModelFailed { .. } => "model_failed",
                AgentEnd::BudgetSpent { .. } => "budget_spent",
            },
            Self::Proved { .. } => "proved",
            Self::AgentStopped { .. } => "agent_stopped",
            Self::Published => "published",
            Self::RecordWritten { .. } => "record_written",
            Self::Landed { .. } => "landed",
            Self::NotLanded { .. } => "not_landed",
            Self::LandingUnproven { .. } => "landing_unproven",
            Self::Pushed { .. } => "pushed",
            Self::PushRefused { .. } => "push_refused",
            Self::CleanedUp => "cleaned_up",
            Self::Failed { .. } => "failed",
        }
    }

    /// What went wrong, if anything did.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::AgentEnded { end, .. } => match end {
                AgentEnd::Crashed { reason } | AgentEnd::ModelFailed { reason } | AgentEnd::BudgetSpent { reason } => {
                    Some(reason.clone())
                }
                AgentEnd::Submitted(_) | AgentEnd::Asked { .. } => None,
            },
            Self::NotLanded { reason, .. } | Self::PushRefused { reason } => Some(reason.clone()),
            Self::LandingUnproven { .. } => Some("merged with the moved base, the checks fail".to_owned()),
            Self::Failed { message, .. } => Some(message.clone()),
            Self::BranchOpened { .. }
            | Self::Proved { .. }
            | Self::AgentStopped { .. }
            | Self::Published
            | Self::RecordWritten { .. }
            | Self::Landed { .. }
            | Self::Pushed { .. }
            | Self::CleanedUp => None,
        }
    }
}
