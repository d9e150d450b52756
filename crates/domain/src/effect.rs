//! Effects: what a run wants done in the world. Recorded before it is done, and safe to do twice.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{CommitId, Micros};

/// Something to be done in the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Effect {
    /// Make the private repository know the base, and start the run's branch there.
    OpenBranch,
    /// Let an agent work on a stage, and commit what it hands in.
    RunAgent(AgentTask),
    /// Run the declared checks on a commit, in a clean checkout.
    Prove {
        /// Stage that wants the proof.
        stage: String,
        /// The exact commit.
        commit: CommitId,
    },
    /// End an agent's processes and keep its unfinished tree.
    StopAgent {
        /// Number of the effect that started it.
        target: u32,
    },
    /// Put the run's branch into the user's repository.
    Publish {
        /// What the branch shall point to.
        commit: CommitId,
    },
    /// Commit context, events and memory to the run's branch.
    WriteRecord,
    /// Merge into the base branch.
    Land(LandPolicy),
    /// Push the run's branch to the user's remote, if there is one.
    PushRemote {
        /// What to push.
        commit: CommitId,
    },
    /// Stop what still runs and give the workspace back.
    CleanUp,
}

impl Effect {
    /// One word for logs and for people.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::OpenBranch => "open_branch",
            Self::RunAgent(_) => "run_agent",
            Self::Prove { .. } => "prove",
            Self::StopAgent { .. } => "stop_agent",
            Self::Publish { .. } => "publish",
            Self::WriteRecord => "write_record",
            Self::Land(_) => "land",
            Self::PushRemote { .. } => "push_remote",
            Self::CleanUp => "clean_up",
        }
    }
}

/// One attempt of an agent at a stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentTask {
    /// The stage's name.
    pub stage: String,
    /// The conversation to begin or go on with.
    pub session: Session,
    /// Tree the attempt starts from.
    pub at: CommitId,
    /// When the attempt runs out of time.
    pub deadline: Timestamp,
    /// What may still be spent; `None` without a limit.
    pub envelope: Option<Micros>,
}

/// One conversation of a role: begun at a visit of a stage, gone on with after questions and crashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Who plays it.
    pub role: String,
    /// Which conversation of that role in this run, from 1.
    pub visit: u32,
    /// Which process in that conversation, from 1.
    pub attempt: u32,
}

/// How the branch gets into its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LandPolicy {
    /// The commit every gate passed for.
    pub validated: CommitId,
    /// The branch's tip: `validated` plus files under `.autonomous/` only.
    pub tip: CommitId,
}
