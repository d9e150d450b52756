//! Effects: what a run wants done in the world. Recorded before it is done, and safe to do twice.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{ArtifactKind, CommitId, Micros, RunId, Waived};

/// Something to be done in the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Effect {
    /// Make the private repository know the base, and start the run's branch there.
    OpenBranch,
    /// Start a child's branch at the commit its parent gave it.
    OpenChildBranch,
    /// Start a fork's branch where the run it comes from stood, and take along the conversation that was under way.
    OpenFork {
        /// The branch's tip there.
        at: CommitId,
    },
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
    /// Commit an artifact that a person wrote or confirmed.
    CommitArtifact {
        /// Stage it belongs to.
        stage: String,
        /// What it is.
        kind: ArtifactKind,
        /// The whole text.
        content: String,
    },
    /// Take up what a person did on the run's branch in their repository.
    Adopt {
        /// Stage that was taken over.
        stage: String,
    },
    /// Begin the child run of a task.
    StartChild(ChildTask),
    /// Merge what a child made into the run's branch.
    MergeChild(ChildMerge),
    /// Say something to a child run.
    TellChild {
        /// The task.
        task: String,
        /// Which of the task's children, from 1.
        attempt: u32,
        /// What.
        word: ChildWord,
    },
    /// Say something to the agent at work.
    TellAgent {
        /// Number of its effect.
        target: u32,
        /// Rises with every word of the run; one that was said before is not said again.
        number: u64,
        /// Who says it.
        by: String,
        /// What.
        text: String,
    },
    /// Tell the parent run how this one ended.
    TellParent,
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
        /// Nobody said yes to this code: where there is a remote, a person is asked first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ask: bool,
    },
    /// Open a pull request for the pushed branch.
    OpenPullRequest {
        /// What was pushed.
        commit: CommitId,
    },
    /// Stop what still runs and give the workspace back.
    CleanUp,
}

impl Effect {
    /// Whether it works on a stage; of these there is one at a time.
    #[must_use]
    pub fn works(&self) -> bool {
        match self {
            Self::RunAgent(_) | Self::Prove { .. } | Self::CommitArtifact { .. } | Self::Adopt { .. } => true,
            Self::OpenBranch
            | Self::OpenChildBranch
            | Self::OpenFork { .. }
            | Self::StopAgent { .. }
            | Self::StartChild(_)
            | Self::MergeChild(_)
            | Self::TellChild { .. }
            | Self::TellAgent { .. }
            | Self::TellParent
            | Self::Publish { .. }
            | Self::WriteRecord
            | Self::Land(_)
            | Self::PushRemote { .. }
            | Self::OpenPullRequest { .. }
            | Self::CleanUp => false,
        }
    }

    /// One word for logs and for people.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::OpenBranch => "open_branch",
            Self::OpenChildBranch => "open_child_branch",
            Self::OpenFork { .. } => "open_fork",
            Self::CommitArtifact { .. } => "commit_artifact",
            Self::Adopt { .. } => "adopt",
            Self::StartChild(_) => "start_child",
            Self::MergeChild(_) => "merge_child",
            Self::TellChild { .. } => "tell_child",
            Self::TellAgent { .. } => "tell_agent",
            Self::TellParent => "tell_parent",
            Self::OpenPullRequest { .. } => "open_pull_request",
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
    /// What may be spent before a person is asked; `None`: nobody is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_after: Option<Micros>,
    /// What people said about limits.
    #[serde(default, skip_serializing_if = "Waived::is_empty")]
    pub waived: Waived,
    /// What the agent is wanted for.
    #[serde(default, skip_serializing_if = "Purpose::is_stage")]
    pub purpose: Purpose,
    /// The last code a person approved: what is risky is told from there on. `None`: from the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<CommitId>,
}

/// What an agent is wanted for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "for", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Purpose {
    /// The stage's whole work.
    #[default]
    Stage,
    /// One task of the plan, of a stage that works through it in pulses.
    Pulse {
        /// Which, from 1.
        number: u32,
    },
    /// One iteration towards a goal.
    Iterate {
        /// Which, from 1.
        number: u32,
    },
    /// An answer to a person who asks about what the stage made.
    Answer {
        /// What they want to know.
        question: String,
    },
    /// The conversation on a person's own terminal.
    Sit,
}

impl Purpose {
    /// Whether it is the stage's whole work.
    #[must_use]
    pub fn is_stage(&self) -> bool {
        *self == Self::Stage
    }
}

/// A child run to be begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildTask {
    /// The task's id.
    pub task: String,
    /// Which child of the task, from 1.
    pub attempt: u32,
    /// Where its branch starts.
    pub at: CommitId,
    /// What it may spend; `None` without a limit.
    pub budget: Option<Micros>,
    /// Files between whose conflict markers it shall choose; empty for a first try.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolve: Vec<String>,
    /// What went wrong in the try before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A child's work to be merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildMerge {
    /// The task's id.
    pub task: String,
    /// The child that made it.
    pub child: RunId,
    /// Which child of the task, from 1.
    pub attempt: u32,
    /// What it made.
    pub commit: CommitId,
    /// Where the run's branch stands.
    pub onto: CommitId,
    /// Files that must not have conflict markers left.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolved: Vec<String>,
    /// Whether a person may have merged it already, in their repository.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub look_first: bool,
}

/// What a parent says to its child.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildWord {
    /// Wait.
    Pause,
    /// Go on.
    Resume,
    /// End.
    Cancel,
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

impl Session {
    /// The name of its window for people: `worker`, `review-1`, `worker-2`, `planner`, …
    #[must_use]
    pub fn window(&self) -> String {
        match self.role.as_str() {
            "reviewer" | "validator" => format!("review-{}", self.visit),
            "implementer" | "worker" if self.visit == 1 => "worker".to_owned(),
            "implementer" | "worker" => format!("worker-{}", self.visit),
            role if self.visit == 1 => role.to_owned(),
            role => format!("{role}-{}", self.visit),
        }
    }
}

/// How the branch gets into its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LandPolicy {
    /// The commit every gate passed for.
    pub validated: CommitId,
    /// The branch's tip: `validated` plus files under `.autonomous/` only.
    pub tip: CommitId,
    /// The moved base that a person said yes to, where no checks prove the two together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onto: Option<CommitId>,
}
