//! Outcomes: what came of an effect.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Artifact, CommitId, Digest, Plan, ProgramIdentity, Proof, Question, Reflection, Review, RunId, SecretFinding,
    Shortage,
};

/// What came of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The branch exists.
    BranchOpened {
        /// Where it starts.
        base: CommitId,
    },
    /// A fork's branch exists.
    ForkOpened {
        /// Whether the conversation that was under way could be taken along.
        carried: bool,
    },
    /// The agent's process is gone.
    AgentEnded {
        /// How.
        end: AgentEnd,
        /// The isolation it ran in: `sandboxed`, `restricted`, `unsandboxed`.
        tier: Option<String>,
        /// The program, where it is not our own.
        program: Option<Box<ProgramIdentity>>,
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
    /// The artifact is committed.
    ArtifactCommitted {
        /// It.
        artifact: Box<Artifact>,
    },
    /// What the person wrote cannot be used.
    ArtifactRefused {
        /// Why.
        reason: String,
    },
    /// What the person did on the branch is ours now.
    Adopted {
        /// As code.
        artifact: Box<Artifact>,
    },
    /// There is nothing on the branch that could be taken up.
    NotAdopted {
        /// Why.
        reason: String,
    },
    /// The child run has begun.
    ChildStarted {
        /// Which.
        child: RunId,
    },
    /// What the child made is on the run's branch.
    ChildMerged {
        /// The branch's new tip.
        commit: CommitId,
        /// Digest of its tree.
        digest: Digest,
        /// Paths it changed.
        files: Vec<String>,
    },
    /// It does not merge.
    ChildConflicts {
        /// Paths that conflict.
        paths: Vec<String>,
        /// A commit with both versions between conflict markers; `None` when markers were left behind.
        marked: Option<CommitId>,
    },
    /// The other run has been told, or is over.
    Told,
    /// The pull request is open.
    PullRequestOpened {
        /// Where.
        url: String,
    },
    /// The forge did not take it.
    PullRequestRefused {
        /// What it said.
        reason: String,
    },
    /// The user's repository has the branch.
    Published,
    /// Context, events and memory are committed.
    RecordWritten {
        /// Digest of the memory entry in it.
        memory: Option<Digest>,
        /// The branch's new tip.
        commit: CommitId,
    },
    /// The base branch has the work.
    Landed {
        /// The commit on the base branch.
        commit: CommitId,
        /// Proof for the merged tree when the base had moved.
        proof: Option<Proof>,
        /// Where the base had moved to since the run began, if it had.
        onto: Option<CommitId>,
    },
    /// The base has moved, and no checks are declared that could prove the work on it.
    BaseMoved {
        /// Where it is now.
        base: CommitId,
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
    /// There is a remote, and nobody said yes to this code yet.
    PushUnasked {
        /// Name of the remote.
        remote: String,
    },
    /// What is to be merged or pushed adds what looks like secrets; nothing was.
    SecretsFound {
        /// Where, never none.
        findings: Vec<SecretFinding>,
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
    /// It handed in work with what looks like secrets in it; nothing of it is committed.
    HoldsSecrets {
        /// Where, never none.
        findings: Vec<SecretFinding>,
    },
    /// It asks.
    Asked {
        /// One or more questions, never none.
        questions: Vec<Question>,
    },
    /// A turn of a conversation with the person.
    Said {
        /// Whether all is clear.
        ready: bool,
        /// The questions, or the summary.
        message: String,
    },
    /// The answer to a person's question.
    Answered {
        /// The answer.
        text: String,
    },
    /// One iteration towards a goal is over and more are needed.
    Reflected {
        /// What it says.
        reflection: Reflection,
        /// The files as they are then.
        tree: Option<Digest>,
    },
    /// It asks for more time.
    NeedsTime {
        /// How much more.
        minutes: u32,
        /// Why.
        reason: String,
    },
    /// It wants to do something that needs a yes.
    NeedsPermission {
        /// What and why.
        request: String,
    },
    /// The provider's usage window is spent.
    QuotaSpent {
        /// What the provider said.
        reason: String,
        /// When the window opens again, if that is known.
        resets_at: Option<Timestamp>,
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
        /// Which limit it was.
        shortage: Shortage,
    },
    /// The person left the conversation that they had on their terminal.
    Left,
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
    /// The tasks, from planners of tasks.
    pub plan: Option<Plan>,
    /// How an iteration ended that met its goal.
    pub reflection: Option<Reflection>,
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
            Self::ForkOpened { .. } => "fork_opened",
            Self::AgentEnded { end, .. } => match end {
                AgentEnd::Submitted(_) => "submitted",
                AgentEnd::HoldsSecrets { .. } => "holds_secrets",
                AgentEnd::Asked { .. } => "asked",
                AgentEnd::Said { .. } => "said",
                AgentEnd::Answered { .. } => "answered",
                AgentEnd::Reflected { .. } => "reflected",
                AgentEnd::NeedsTime { .. } => "needs_time",
                AgentEnd::NeedsPermission { .. } => "needs_permission",
                AgentEnd::QuotaSpent { .. } => "quota_spent",
                AgentEnd::Crashed { .. } => "crashed",
                AgentEnd::ModelFailed { .. } => "model_failed",
                AgentEnd::BudgetSpent { .. } => "budget_spent",
                AgentEnd::Left => "left",
            },
            Self::Proved { .. } => "proved",
            Self::AgentStopped { .. } => "agent_stopped",
            Self::ArtifactCommitted { .. } => "artifact_committed",
            Self::ArtifactRefused { .. } => "artifact_refused",
            Self::Adopted { .. } => "adopted",
            Self::NotAdopted { .. } => "not_adopted",
            Self::ChildStarted { .. } => "child_started",
            Self::ChildMerged { .. } => "child_merged",
            Self::ChildConflicts { .. } => "child_conflicts",
            Self::Told => "told",
            Self::PullRequestOpened { .. } => "pull_request_opened",
            Self::PullRequestRefused { .. } => "pull_request_refused",
            Self::Published => "published",
            Self::RecordWritten { .. } => "record_written",
            Self::Landed { .. } => "landed",
            Self::BaseMoved { .. } => "base_moved",
            Self::PushUnasked { .. } => "push_unasked",
            Self::NotLanded { .. } => "not_landed",
            Self::LandingUnproven { .. } => "landing_unproven",
            Self::Pushed { .. } => "pushed",
            Self::SecretsFound { .. } => "secrets_found",
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
                AgentEnd::Crashed { reason }
                | AgentEnd::ModelFailed { reason }
                | AgentEnd::BudgetSpent { reason, .. }
                | AgentEnd::QuotaSpent { reason, .. } => Some(reason.clone()),
                AgentEnd::Submitted(_)
                | AgentEnd::HoldsSecrets { .. }
                | AgentEnd::Asked { .. }
                | AgentEnd::Said { .. }
                | AgentEnd::Answered { .. }
                | AgentEnd::Reflected { .. }
                | AgentEnd::NeedsTime { .. }
                | AgentEnd::NeedsPermission { .. }
                | AgentEnd::Left => None,
            },
            Self::NotLanded { reason, .. }
            | Self::PushRefused { reason }
            | Self::ArtifactRefused { reason }
            | Self::NotAdopted { reason }
            | Self::PullRequestRefused { reason } => Some(reason.clone()),
            Self::ChildConflicts { paths, .. } => Some(format!("it conflicts in {}", paths.join(", "))),
            Self::LandingUnproven { .. } => Some("merged with the moved base, the checks fail".to_owned()),
            Self::SecretsFound { .. } => Some("what leaves the branch holds what looks like secrets".to_owned()),
            Self::Failed { message, .. } => Some(message.clone()),
            Self::BranchOpened { .. }
            | Self::ForkOpened { .. }
            | Self::Proved { .. }
            | Self::AgentStopped { .. }
            | Self::ArtifactCommitted { .. }
            | Self::Adopted { .. }
            | Self::ChildStarted { .. }
            | Self::ChildMerged { .. }
            | Self::Told
            | Self::PullRequestOpened { .. }
            | Self::Published
            | Self::RecordWritten { .. }
            | Self::Landed { .. }
            | Self::BaseMoved { .. }
            | Self::Pushed { .. }
            | Self::PushUnasked { .. }
            | Self::CleanedUp => None,
        }
    }
}
