//! Events: facts about a run, in the past tense, numbered without gaps and never changed.
//!
//! The stored form is a promise: a new field needs a default, and golden files hold the old ones readable.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Actor, Artifact, CommitId, Decision, DecisionNote, Digest, Effect, Hold, HoldId, Micros, Playbook, Proof, Question,
    Review, RunConfig,
};

/// An event with its place in the run's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// 1, 2, 3 … without gaps.
    pub sequence: u64,
    /// When it was recorded; order comes from `sequence`, never from this.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "payload", rename_all = "SCREAMING_SNAKE_CASE", rename_all_fields = "camelCase")]
pub enum Event {
    /// A person handed in a request.
    RunStarted {
        /// Path of the user's repository.
        project: String,
        /// The request.
        request: String,
        /// The playbook as it was then: editing it later changes nothing here.
        playbook: Playbook,
        /// How the run shall be done.
        config: RunConfig,
        /// The branch it works on.
        branch: String,
        /// Who started it.
        by: Actor,
    },
    /// The branch exists.
    BranchCreated {
        /// Where it starts.
        base: CommitId,
    },
    /// A stage began, or began again.
    StageStarted {
        /// Which.
        stage: String,
        /// Which visit, from 1.
        visit: u32,
    },
    /// A stage is done and its gate has been passed.
    StageCompleted {
        /// Which.
        stage: String,
    },
    /// Something shall be done in the world.
    EffectRequested {
        /// Its number within the run.
        number: u32,
        /// What.
        effect: Effect,
    },
    /// It was done, or could not be.
    EffectFinished {
        /// Its number.
        number: u32,
        /// What came of it, in one word.
        result: String,
        /// The isolation an agent ran in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tier: Option<String>,
        /// An agent's unfinished tree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wip: Option<CommitId>,
        /// What went wrong, if anything did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// An artifact exists.
    ArtifactCreated {
        /// Which.
        artifact: Artifact,
        /// What the agent decided on the way.
        #[serde(default)]
        decisions: Vec<DecisionNote>,
    },
    /// A person must say yes or no.
    ApprovalRequested {
        /// The hold.
        hold: Hold,
        /// Questions the decision settles along with the one shown.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pending: Vec<Question>,
    },
    /// Yes.
    ApprovalGranted {
        /// Which hold.
        hold: HoldId,
        /// What was shown.
        digest: Digest,
        /// Who.
        by: Actor,
        /// Notes for the next stage.
        notes: Option<String>,
    },
    /// No.
    ApprovalRejected {
        /// Which hold.
        hold: HoldId,
        /// What was shown.
        digest: Digest,
        /// Who.
        by: Actor,
        /// `reject` or `suggest`, with its text.
        decision: Decision,
    },
    /// An agent asks.
    ClarificationRequested {
        /// The hold.
        hold: Hold,
        /// Questions that come after this one.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pending: Vec<Question>,
    },
    /// A person answered, or chose not to.
    ClarificationAnswered {
        /// Which hold.
        hold: HoldId,
        /// What was shown.
        digest: Digest,
        /// Who.
        by: Actor,
        /// `answer` or `ignore`.
        decision: Decision,
    },
    /// Another kind of hold was placed.
    HoldPlaced {
        /// The hold.
        hold: Hold,
    },
    /// A person decided on such a hold.
    DecisionMade {
        /// Which hold.
        hold: HoldId,
        /// What was shown.
        digest: Digest,
        /// Who.
        by: Actor,
        /// What.
        decision: Decision,
    },
    /// A gate opened by itself.
    AutoAdvanced {
        /// Stage that was left.
        stage: String,
        /// Why no person was asked.
        reason: String,
    },
    /// An agent ended without handing anything in.
    AgentCrashed {
        /// In which stage.
        stage: String,
        /// How many crashes that makes in this visit.
        count: u32,
        /// What is known.
        reason: String,
    },
    /// An agent handed in code.
    ImplementationSucceeded {
        /// The commit.
        commit: CommitId,
    },
    /// An agent could not.
    ImplementationFailed {
        /// Why.
        reason: String,
    },
    /// The declared checks ran.
    ProofRecorded {
        /// Their results.
        proof: Proof,
    },
    /// The validator and the checks agree.
    ValidationPassed {
        /// For which commit.
        commit: CommitId,
        /// The verdict.
        review: Review,
    },
    /// They do not.
    ValidationFailed {
        /// For which commit.
        commit: CommitId,
        /// The verdict.
        review: Review,
    },
    /// One model call was paid for.
    SpendRecorded {
        /// Effect whose agent made it.
        effect: u32,
        /// Which call of that effect, from 1.
        call: u32,
        /// `provider/model`.
        model: String,
        /// Tokens sent.
        input_tokens: u64,
        /// Tokens received.
        output_tokens: u64,
        /// Cost; `None` when the price is not known.
        cost: Option<Micros>,
    },
    /// Context, events and memory are committed.
    RecordWritten {
        /// The branch's new tip.
        commit: CommitId,
    },
    /// The user's repository has the branch.
    BranchPublished {
        /// At which commit.
        commit: CommitId,
    },
    /// The base branch has the work.
    BranchMerged {
        /// The commit on the base branch.
        commit: CommitId,
        /// The commit every gate passed for.
        validated: CommitId,
    },
    /// The remote has the branch.
    BranchPushed {
        /// Which remote.
        remote: String,
    },
    /// Ended well.
    RunCompleted {
        /// The last commit: on the base if merged, else on the branch.
        commit: CommitId,
    },
    /// Ended badly.
    RunFailed {
        /// Why.
        reason: String,
    },
    /// Ended by a person.
    RunCancelled {
        /// Who.
        by: Actor,
        /// Why.
        reason: Option<String>,
    },
}
