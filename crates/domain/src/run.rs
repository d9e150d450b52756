//! A run: the state that its events add up to.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::{
    Actor, Artifact, ArtifactKind, CommitId, DecisionKind, DecisionNote, Effect, Hold, HoldId, Micros, Playbook, Proof,
    Question, Review, RunConfig, RunId, Session, Stage,
};

/// One request worked through one playbook on one branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Its name.
    pub id: RunId,
    /// Sequence number of its last event; 0 before the first.
    pub version: u64,
    /// What it began with; `None` before the first event.
    pub opened: Option<Arc<Opened>>,
    /// Where it stands.
    pub phase: Phase,
    /// One entry per stage of the playbook.
    pub stages: Vec<StageState>,
    /// Conversation each role is in.
    pub sessions: BTreeMap<String, Session>,
    /// Where the branch starts.
    pub base: Option<CommitId>,
    /// The branch's tip.
    pub head: Option<CommitId>,
    /// Everything that was made, oldest first.
    pub artifacts: Vec<Artifact>,
    /// What people and validators said, for the next prompt.
    pub notes: Vec<Note>,
    /// Questions with their answers, oldest first.
    pub answers: Vec<Answer>,
    /// Questions put to people so far.
    pub questions_asked: u32,
    /// Questions that come after the one on hold.
    pub pending_questions: Vec<Question>,
    /// Choices the agents made.
    pub decisions: Vec<DecisionNote>,
    /// The last proof.
    pub proof: Option<Proof>,
    /// The last verdict.
    pub review: Option<Review>,
    /// The commit every gate passed for.
    pub validated: Option<CommitId>,
    /// The commit on the base branch, once merged.
    pub merged: Option<CommitId>,
    /// Money and tokens.
    pub spend: Spend,
    /// What may be spent in all.
    pub budget: Option<Micros>,
    /// Effects that are wished for and not finished.
    pub open_effects: BTreeMap<u32, Effect>,
    /// When each open effect was wished for: the date of what it commits, so that a repeat commits the same.
    pub requested_at: BTreeMap<u32, Timestamp>,
    /// How many effects were ever wished for.
    pub effects_requested: u32,
    /// The effect that failed, to be asked for again after a retry.
    pub failed_effect: Option<Effect>,
    /// Who decided what.
    pub decided: Vec<Decided>,
    /// The isolation agents ran in.
    pub tier: Option<String>,
    /// When the last event was recorded.
    pub updated_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it failed.
    pub failure: Option<String>,
}

/// What a run began with; it never changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Path of the user's repository.
    pub project: String,
    /// The request.
    pub request: String,
    /// The playbook as it was then.
    pub playbook: Playbook,
    /// Limits and switches.
    pub config: RunConfig,
    /// The branch it works on.
    pub branch: String,
    /// Who started it.
    pub by: Actor,
    /// When.
    pub at: Timestamp,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// Before the first event.
    Unopened,
    /// The branch is being made.
    Opening {
        /// By this effect.
        effect: u32,
    },
    /// A stage is being worked on.
    Working {
        /// Which.
        stage: usize,
        /// What of it.
        step: Step,
        /// By this effect.
        effect: u32,
    },
    /// A stage's gate was passed; the branch is shown to the world.
    Publishing {
        /// The stage that is done.
        stage: usize,
        /// By this effect.
        effect: u32,
    },
    /// A person is waited for.
    Holding {
        /// Why.
        hold: Box<Hold>,
    },
    /// All stages are done.
    Finishing {
        /// What is being done.
        step: FinishStep,
        /// By this effect.
        effect: u32,
    },
    /// Over.
    Ended {
        /// How.
        ending: Ending,
    },
}

/// What of a stage is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An agent works.
    Agent,
    /// The declared checks run.
    Prove,
}

/// What is done after the last stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishStep {
    /// Context, events and memory are committed.
    Record,
    /// The user's repository gets the branch.
    Publish,
    /// The base branch gets the work.
    Land,
    /// The remote gets the branch.
    Push,
    /// The workspace is given back.
    CleanUp,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Well.
    Completed,
    /// Badly.
    Failed,
    /// By a person.
    Cancelled,
}

/// What is known of one stage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StageState {
    /// How often it began.
    pub visits: u32,
    /// How often a person sent it back.
    pub revisions: u32,
    /// Verdicts FAIL it gave.
    pub fails: u32,
    /// Fix rounds a person added.
    pub rounds_granted: u32,
    /// Crashes in this visit.
    pub crashes: u32,
    /// When it first began.
    pub started_at: Option<Timestamp>,
    /// When it was last done.
    pub completed_at: Option<Timestamp>,
    /// Unfinished tree of this visit.
    pub wip: Option<CommitId>,
}

/// Something said that the next prompt of a stage must carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What kind.
    pub kind: NoteKind,
    /// The stage it is for.
    pub stage: String,
    /// What was said.
    pub text: String,
    /// By whom.
    pub by: String,
}

/// What kind of note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// A person approved, with notes.
    Approval,
    /// A person sent it back.
    Feedback,
    /// The validator or the checks failed it.
    Validation,
    /// A person's guidance for another try.
    Guidance,
}

/// A question and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The question.
    pub question: Question,
    /// Stage that asked.
    pub stage: String,
    /// Conversation that asked.
    pub session: Session,
    /// Which question of the run, from 1.
    pub number: u32,
    /// `None`: the person chose not to answer.
    pub answer: Option<Vec<String>>,
    /// Who.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// Money and tokens of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spend {
    /// What is known to be spent.
    pub cost: Micros,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Model calls.
    pub calls: u64,
    /// Calls whose price is not known.
    pub unpriced_calls: u64,
    /// Last counted call per effect.
    pub counted: BTreeMap<u32, u32>,
}

/// A decision that was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The hold it answered.
    pub hold: HoldId,
    /// Who.
    pub by: Actor,
    /// What.
    pub kind: DecisionKind,
    /// When.
    pub at: Timestamp,
}

/// A clock that is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    /// The effect it watches over.
    pub id: u32,
    /// When it is due.
    pub at: Timestamp,
    /// What for.
    pub kind: TimerKind,
}

/// What a clock is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerKind {
    /// The agent's time for the stage.
    StageTimeout,
}

impl Run {
    /// A run before its first event.
    #[must_use]
    pub fn unopened(id: RunId) -> Self {
        Self {
            id,
            version: 0,
            opened: None,
            phase: Phase::Unopened,
            stages: Vec::new(),
            sessions: BTreeMap::new(),
            base: None,
            head: None,
            artifacts: Vec::new(),
            notes: Vec::new(),
            answers: Vec::new(),
            questions_asked: 0,
            pending_questions: Vec::new(),
            decisions: Vec::new(),
            proof: None,
            review: None,
            validated: None,
            merged: None,
            spend: Spend::default(),
            budget: None,
            open_effects: BTreeMap::new(),
            requested_at: BTreeMap::new(),
            effects_requested: 0,
            failed_effect: None,
            decided: Vec::new(),
            tier: None,
            updated_at: Timestamp::UNIX_EPOCH,
            ended_at: None,
            failure: None,
        }
    }

    /// What it began with.
    ///
    /// # Panics
    /// When no event was folded yet; only `decide` sees such a run.
    #[must_use]
    pub fn opened(&self) -> &Opened {
        self.opened.as_deref().expect("every log begins with RUN_STARTED")
    }

    /// The stage at an index of the playbook.
    #[must_use]
    pub fn stage(&self, index: usize) -> &Stage {
        &self.opened().playbook.stages[index]
    }

    /// Index of the stage that is worked on, held or published.
    #[must_use]
    pub fn current_stage(&self) -> Option<usize> {
        match &self.phase {
            Phase::Working { stage, .. } | Phase::Publishing { stage, .. } => Some(*stage),
            Phase::Holding { hold } => hold.stage.as_deref().and_then(|name| self.opened().playbook.index_of(name)),
            Phase::Unopened | Phase::Opening { .. } | Phase::Finishing { .. } | Phase::Ended { .. } => None,
        }
    }

    /// The hold it waits on.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        match &self.phase {
            Phase::Holding { hold } => Some(hold),
            Phase::Unopened
            | Phase::Opening { .. }
            | Phase::Working { .. }
            | Phase::Publishing { .. }
            | Phase::Finishing { .. }
            | Phase::Ended { .. } => None,
        }
    }

    /// The clock that is set: at most one, over the agent that works.
    #[must_use]
    pub fn timer(&self) -> Option<Timer> {
        self.open_effects.iter().find_map(|(number, effect)| match effect {
            Effect::RunAgent(task) => Some(Timer { id: *number, at: task.deadline, kind: TimerKind::StageTimeout }),
            Effect::OpenBranch
            | Effect::Prove { .. }
            | Effect::StopAgent { .. }
            | Effect::Publish { .. }
            | Effect::WriteRecord
            | Effect::Land(_)
            | Effect::PushRemote { .. }
            | Effect::CleanUp => None,
        })
    }

    /// The newest artifact of a kind.
    #[must_use]
    pub fn latest(&self, kind: ArtifactKind) -> Option<&Artifact> {
        self.artifacts.iter().rev().find(|artifact| artifact.kind == kind)
    }

    /// What may still be spent.
    #[must_use]
    pub fn envelope(&self) -> Option<Micros> {
        self.budget.map(|budget| budget.minus(self.spend.cost))
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }
}
