//! Events: facts about a run, in the past tense, numbered without gaps and never changed.
//!
//! The stored form is a promise: a new field needs a default, and golden files hold the old ones readable.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    Actor, Artifact, AtDeadline, CommitId, Decision, DecisionNote, Digest, Effect, Ending, ForkChanges, ForkedFrom,
    GoalPhase, GoalTask, Hold, HoldId, Micros, Overlap, Parent, Plan, Playbook, ProgramIdentity, Proof, Question,
    Reflection, Review, RunConfig, RunId, TaintSource, Task,
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
        /// The run it is a part of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Parent>,
        /// The run it was forked from: what follows up to that event is the other's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<ForkedFrom>,
    },
    /// From here on it goes its own way; what came before was done and paid for by the run it was forked from.
    RunForked {
        /// The other run.
        from: RunId,
        /// The last event that both have.
        at: u64,
        /// Who forked it.
        by: Actor,
        /// What is different from here on.
        #[serde(default)]
        changes: ForkChanges,
    },
    /// The fork has a branch of its own, and stands where the other run stood.
    ForkOpened {
        /// Whether the conversation that was under way goes on; if not, it begins anew.
        carried: bool,
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
        /// The program that was the agent, where it is not our own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<Box<ProgramIdentity>>,
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
        /// Whether the notes answer a question whose answer is a secret.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
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
        /// Whether the answer is a secret: marked as one by who asked, or looking like one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
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
    /// A hold's deadline came.
    DeadlinePassed {
        /// Which hold.
        hold: HoldId,
        /// What follows.
        then: AtDeadline,
    },
    /// Nobody answered in time; the run goes on with the agent's own choice.
    AssumptionMade {
        /// Which assumption of the run, from 1.
        number: u32,
        /// The stage that goes on with it.
        stage: String,
        /// What was asked.
        question: Question,
        /// What is assumed.
        answer: Vec<String>,
    },
    /// A person said that an assumption was wrong.
    AssumptionOverturned {
        /// Which.
        number: u32,
        /// What is right.
        answer: Vec<String>,
        /// Who.
        by: Actor,
        /// Whether the answer is a secret.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        secret: bool,
    },
    /// A person said something to whoever works on a stage.
    GuidanceGiven {
        /// The stage.
        stage: String,
        /// What.
        text: String,
        /// Who.
        by: Actor,
    },
    /// A person asked for a pause; it begins when what is being done ends.
    PauseAsked {
        /// Who.
        by: Actor,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A person took the conversation of a stage to a terminal of their own.
    SessionTaken {
        /// The stage.
        stage: String,
        /// Who.
        by: Actor,
    },
    /// An agent spoke in a conversation with the person.
    ConversationAdvanced {
        /// In which stage.
        stage: String,
        /// Which turn of the agent, from 1.
        round: u32,
        /// Whether it says that all is clear.
        ready: bool,
        /// What it said.
        message: String,
    },
    /// An agent answered a person's question about what it made.
    AgentAnswered {
        /// In which stage.
        stage: String,
        /// What was asked.
        question: String,
        /// The answer.
        answer: String,
    },
    /// The plan's tasks are known.
    TasksPlanned {
        /// The plan.
        plan: Plan,
        /// Tasks that expect to touch the same files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        overlaps: Vec<Overlap>,
    },
    /// A task was added to the plan, to mend what the others left.
    TaskAdded {
        /// It.
        task: Task,
    },
    /// A child run works on a task.
    ChildStarted {
        /// The task.
        task: String,
        /// Which child of the task, from 1.
        attempt: u32,
        /// The child run.
        child: RunId,
    },
    /// A child run is over.
    ChildEnded {
        /// The task.
        task: String,
        /// The child run.
        child: RunId,
        /// How.
        ending: Ending,
        /// What it made.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        commit: Option<CommitId>,
        /// Paths it changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
        /// What it spent.
        cost: Micros,
        /// Why it failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// What a child made is on the run's branch.
    ChildMerged {
        /// The task.
        task: String,
        /// The branch's new tip.
        commit: CommitId,
        /// Digest of its tree.
        digest: Digest,
        /// Paths it changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<String>,
    },
    /// What a child made does not merge.
    ChildConflicted {
        /// The task.
        task: String,
        /// Paths that conflict.
        paths: Vec<String>,
        /// A commit with both versions between markers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        marked: Option<CommitId>,
    },
    /// A task is tried again.
    TaskRetried {
        /// The task.
        task: String,
        /// What went wrong.
        problem: String,
    },
    /// A task is given up.
    TaskFailed {
        /// The task.
        task: String,
        /// Why.
        problem: String,
    },
    /// A task is left out because what it depends on is missing.
    TaskSkipped {
        /// The task.
        task: String,
        /// The task that is missing.
        because: String,
    },
    /// A child changed files its task did not name.
    TaskStrayed {
        /// The task.
        task: String,
        /// The files.
        files: Vec<String>,
    },
    /// One task of a plan that is worked in pulses is done.
    PulseCompleted {
        /// In which stage.
        stage: String,
        /// Which, from 1.
        pulse: u32,
        /// Of how many.
        of: u32,
        /// With which commit.
        commit: CommitId,
    },
    /// One iteration towards a goal is over.
    ReflectionRecorded {
        /// In which stage.
        stage: String,
        /// Which iteration, from 1.
        iteration: u32,
        /// What it says.
        reflection: Reflection,
        /// The files as they were then.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tree: Option<Digest>,
    },
    /// An iteration towards a goal is at another phase.
    GoalPhaseEntered {
        /// In which stage.
        stage: String,
        /// Which iteration, from 1.
        iteration: u32,
        /// What it is at.
        phase: GoalPhase,
        /// Effect whose agent says so.
        effect: u32,
        /// Which step of that effect, from 1.
        step: u32,
    },
    /// The tasks on the way to a goal are laid out, or laid out anew.
    GoalTasksPlanned {
        /// In which stage.
        stage: String,
        /// All of them.
        tasks: Vec<GoalTask>,
        /// `agent`, or the person's name.
        by: String,
        /// Effect whose agent did so; 0 for a person.
        effect: u32,
        /// Which step of that effect, from 1; 0 for a person.
        step: u32,
    },
    /// A task on the way to a goal stands otherwise.
    GoalTaskUpdated {
        /// In which stage.
        stage: String,
        /// As it stands.
        task: GoalTask,
        /// Effect whose agent says so.
        effect: u32,
        /// Which step of that effect, from 1.
        step: u32,
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
        /// The program whose word this is; `None`: it was counted on the way.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reported_by: Option<String>,
    },
    /// A person said that what is there shall be merged, reviewed or not: their yes counts as every gate's, for exactly
    /// this commit.
    MergeForced {
        /// The newest code then.
        commit: CommitId,
        /// Who.
        by: Actor,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Context, events and memory are committed.
    RecordWritten {
        /// Digest of the memory entry in it; none in logs from before entries were bound to an approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<Digest>,
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
        /// Where the base had moved to since the run began, if it had.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        onto: Option<CommitId>,
    },
    /// The base branch has moved since the run began, and no checks prove the work on it.
    BaseMoved {
        /// Where it is now.
        base: CommitId,
    },
    /// The remote has the branch.
    BranchPushed {
        /// Which remote.
        remote: String,
    },
    /// A pull request is open.
    PrOpened {
        /// Where.
        url: String,
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
    /// An agent has read text of strangers.
    RunTainted {
        /// Where it comes from.
        source: TaintSource,
        /// The stage whose agent read it; a child run's are its parent's without one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<String>,
        /// The child run that read it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<RunId>,
    },
}
