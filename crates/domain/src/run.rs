//! A run: the state that its events add up to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use serde::{Deserialize, Serialize};

use crate::{
    Actor, AgentProgram, AgentTask, Artifact, ArtifactKind, Asked, CommitId, DecisionKind, DecisionNote, Effect,
    ForkedFrom, Goal, Hold, HoldId, Look, Micros, ModelName, Plan, Playbook, ProgramIdentity, Proof, Purpose, Purse,
    Question, Reflection, Resumes, Review, RunConfig, RunId, Session, Stage, Taint, TaskState, Waived,
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
    /// What agent and person said to each other before the work.
    pub conversation: Vec<Said>,
    /// What people asked about the artifact on hold, and the answers.
    pub asked: Vec<Asked>,
    /// The plan of tasks, once there is one.
    pub plan: Option<Arc<Plan>>,
    /// Its tasks as they stand, in plan order.
    pub tasks: Vec<TaskState>,
    /// Tasks that expect to touch the same files.
    pub overlaps: Vec<crate::Overlap>,
    /// Paths that merged tasks changed.
    pub merged_files: BTreeSet<String>,
    /// What was said at the end of each iteration towards a goal.
    pub reflections: Vec<Reflection>,
    /// What else is known of a goal.
    pub goal: Goal,
    /// Choices that were made because nobody answered in time.
    pub assumptions: Vec<Assumption>,
    /// Models that people chose on the way, per role.
    pub models: BTreeMap<String, ModelName>,
    /// Who asked for a pause that has not begun.
    pub pausing: Option<Pausing>,
    /// The stage to go back to as soon as what is being done ends.
    pub rewind: Option<String>,
    /// The stage a person works on themselves.
    pub taken_over: Option<String>,
    /// Who has the stage's conversation on a terminal of their own.
    pub attached: Option<Attached>,
    /// Whether a person said at the end that it shall be merged.
    pub merge_approved: bool,
    /// Whether the person wants a pull request instead of a merge.
    pub wants_pr: bool,
    /// Where the base has moved to, where only a person can say that the work goes onto it.
    pub moved_base: Option<CommitId>,
    /// Where the pull request is.
    pub pull_request: Option<String>,
    /// The last code a person said yes to.
    pub approved_code: Option<CommitId>,
    /// The last proof.
    pub proof: Option<Proof>,
    /// The last verdict.
    pub review: Option<Review>,
    /// The commit every gate passed for.
    pub validated: Option<CommitId>,
    /// The commit a person said shall be merged whatever the gates say.
    pub forced: Option<CommitId>,
    /// The commit on the base branch, once merged.
    pub merged: Option<CommitId>,
    /// Money and tokens.
    pub spend: Spend,
    /// What was spent before its fork, by the runs it comes from.
    pub inherited: Spend,
    /// How many effects were wished for before its fork: nobody works on them for this run.
    pub inherited_effects: u32,
    /// Where a fork goes on once its branch is there.
    pub resumes: Option<Box<Resumes>>,
    /// What may be spent in all.
    pub budget: Option<Micros>,
    /// What people said about limits.
    pub waived: Waived,
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
    /// Text of strangers it has read.
    pub taints: Vec<Taint>,
    /// Fingerprints of what looks like secrets and may be in the work all the same, because a person said so.
    pub allowed_secrets: BTreeSet<String>,
    /// Answers that are secrets: nothing of them may get into commits or leave.
    pub secret_answers: Vec<String>,
    /// Programs that are not ours and worked on it, by the role they played last.
    pub programs: BTreeMap<String, ProgramIdentity>,
    /// A person's yes to the work as a whole, since the last of it was read.
    pub looked: Option<Look>,
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
    /// The run it is a part of.
    pub parent: Option<Parent>,
    /// The run it was forked from.
    pub forked_from: Option<ForkedFrom>,
}

/// The run that a child works for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parent {
    /// The parent.
    pub run: RunId,
    /// The parent's branch, whose name the child's begins with.
    pub branch: String,
    /// The task it works on.
    pub task: String,
    /// Which task of the plan, from 1.
    pub number: u32,
    /// Which child of the task, from 1.
    pub attempt: u32,
    /// Where its branch starts.
    pub at: CommitId,
    /// Files between whose conflict markers it shall choose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolve: Vec<String>,
    /// What went wrong in the try before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Something said in a clarifying conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// `agent`, or the person's name.
    pub by: String,
    /// What.
    pub text: String,
}

/// A choice that was made because nobody answered in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assumption {
    /// Which of the run, from 1.
    pub number: u32,
    /// The stage that goes on with it.
    pub stage: String,
    /// What was asked.
    pub question: Question,
    /// What is assumed.
    pub answer: Vec<String>,
    /// Whether a person said that it is wrong.
    pub overturned: bool,
}

/// A pause that has been asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pausing {
    /// Who.
    pub by: Actor,
    /// Why.
    pub reason: Option<String>,
}

/// A conversation on a person's own terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// Whose.
    pub by: Actor,
    /// Since when.
    pub since: Timestamp,
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
    /// Child runs work on the tasks of a stage.
    Delegating {
        /// Which stage.
        stage: usize,
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
    /// It has begun, and nothing is wished for yet.
    Begin,
    /// An agent works.
    Agent,
    /// What a person wrote, did or confirmed is taken in.
    TakeIn,
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
    /// A pull request is opened.
    PullRequest,
    /// The workspace is given back.
    CleanUp,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
    /// Whether an agent has begun a conversation in this visit.
    pub begun: bool,
    /// Turns the agent spoke in a clarifying conversation.
    pub turns: u32,
    /// Tasks done, of a stage that works in pulses.
    pub pulses: u32,
    /// Iterations done towards a goal.
    pub iterations: u32,
    /// Iterations a person added.
    pub iterations_granted: u32,
    /// Questions people asked about what it made.
    pub asks: u32,
    /// The commit it passed for, if it judges or proves.
    pub passed_for: Option<CommitId>,
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
    /// A person said that an assumption was wrong.
    Correction,
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

impl Answer {
    /// The answer as it may be shown to anybody but the agent that asked.
    #[must_use]
    pub fn public(&self) -> Option<Vec<String>> {
        match &self.answer {
            Some(_) if self.question.secret => Some(vec![crate::SECRET_ANSWER.to_owned()]),
            answer => answer.clone(),
        }
    }
}

/// Money and tokens of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Spend {
    /// What is known to be spent.
    pub cost: Micros,
    /// What child runs spent, of those that are over.
    pub children: Micros,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Model calls.
    pub calls: u64,
    /// Calls whose price is not known.
    pub unpriced_calls: u64,
    /// Of the calls, those that a program with its own login reported.
    pub reported_calls: u64,
    /// What of the cost is by their word.
    pub reported: Micros,
    /// Last counted call per effect.
    pub counted: BTreeMap<u32, u32>,
}

impl Spend {
    /// Both together; which calls were counted is the first's.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            cost: self.cost.plus(other.cost),
            children: self.children.plus(other.children),
            input_tokens: self.input_tokens + other.input_tokens,
            output_tokens: self.output_tokens + other.output_tokens,
            calls: self.calls + other.calls,
            unpriced_calls: self.unpriced_calls + other.unpriced_calls,
            reported_calls: self.reported_calls + other.reported_calls,
            reported: self.reported.plus(other.reported),
            counted: self.counted.clone(),
        }
    }
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
    /// The effect or the hold it watches over; their numbers never meet.
    pub id: u64,
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
    /// A hold's deadline.
    HoldDeadline,
}

impl Timer {
    // Effects and holds are numbered apart; this keeps their timers apart too.
    const HOLDS: u64 = 1 << 32;

    pub(crate) fn of_effect(number: u32, at: Timestamp) -> Self {
        Self { id: u64::from(number), at, kind: TimerKind::StageTimeout }
    }

    pub(crate) fn of_hold(hold: HoldId, at: Timestamp) -> Self {
        Self { id: Self::HOLDS + hold.0, at, kind: TimerKind::HoldDeadline }
    }
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
            conversation: Vec::new(),
            asked: Vec::new(),
            plan: None,
            tasks: Vec::new(),
            overlaps: Vec::new(),
            merged_files: BTreeSet::new(),
            reflections: Vec::new(),
            goal: Goal::default(),
            assumptions: Vec::new(),
            models: BTreeMap::new(),
            pausing: None,
            rewind: None,
            taken_over: None,
            attached: None,
            merge_approved: false,
            wants_pr: false,
            moved_base: None,
            pull_request: None,
            approved_code: None,
            proof: None,
            review: None,
            validated: None,
            forced: None,
            merged: None,
            spend: Spend::default(),
            inherited: Spend::default(),
            inherited_effects: 0,
            resumes: None,
            budget: None,
            waived: Waived::default(),
            open_effects: BTreeMap::new(),
            requested_at: BTreeMap::new(),
            effects_requested: 0,
            failed_effect: None,
            decided: Vec::new(),
            tier: None,
            updated_at: Timestamp::UNIX_EPOCH,
            ended_at: None,
            failure: None,
            taints: Vec::new(),
            allowed_secrets: BTreeSet::new(),
            secret_answers: Vec::new(),
            programs: BTreeMap::new(),
            looked: None,
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
        self.stage_of(&self.phase)
    }

    fn stage_of(&self, phase: &Phase) -> Option<usize> {
        match phase {
            Phase::Working { stage, .. } | Phase::Publishing { stage, .. } | Phase::Delegating { stage } => {
                Some(*stage)
            }
            Phase::Holding { hold } => hold.stage.as_deref().and_then(|name| self.opened().playbook.index_of(name)),
            Phase::Unopened | Phase::Opening { .. } | Phase::Finishing { .. } | Phase::Ended { .. } => None,
        }
    }

    /// The tree an agent begins with: the one it was wanted at, or what the agent before it left where its stop came to
    /// an end only after that.
    #[must_use]
    pub fn tree_for<'a>(&'a self, task: &'a AgentTask) -> &'a CommitId {
        let stage = self.opened().playbook.index_of(&task.stage);
        stage.and_then(|index| self.stages[index].wip.as_ref()).unwrap_or(&task.at)
    }

    /// The conversation that a fork, whose branch is being made, goes on in: whoever works for it and where they were.
    #[must_use]
    pub fn carried_session(&self) -> Option<&Session> {
        let resumes = self.resumes.as_ref()?;
        let index = self.stage_of(&resumes.phase).filter(|index| self.stages[*index].begun)?;
        let session = self.sessions.get(&self.stage(index).role)?;
        self.program(&session.role).is_own().then_some(session)
    }

    /// The hold it waits on.
    #[must_use]
    pub fn hold(&self) -> Option<&Hold> {
        match &self.phase {
            Phase::Holding { hold } => Some(hold),
            Phase::Unopened
            | Phase::Opening { .. }
            | Phase::Working { .. }
            | Phase::Delegating { .. }
            | Phase::Publishing { .. }
            | Phase::Finishing { .. }
            | Phase::Ended { .. } => None,
        }
    }

    /// The clock that is set: at most one, over the agent that works or the hold that has a deadline.
    #[must_use]
    pub fn timer(&self) -> Option<Timer> {
        if let Some(hold) = self.hold() {
            return hold.deadline.map(|at| Timer::of_hold(hold.id, at));
        }
        self.agent().map(|(number, task)| Timer::of_effect(number, task.deadline))
    }

    /// The agent at work: the number of its effect and what it is wanted for.
    #[must_use]
    pub fn agent(&self) -> Option<(u32, &AgentTask)> {
        self.open_effects.iter().find_map(|(number, effect)| match effect {
            Effect::RunAgent(task) => Some((*number, task)),
            Effect::OpenBranch
            | Effect::OpenChildBranch
            | Effect::OpenFork { .. }
            | Effect::CommitArtifact { .. }
            | Effect::Adopt { .. }
            | Effect::StartChild(_)
            | Effect::MergeChild(_)
            | Effect::TellChild { .. }
            | Effect::TellAgent { .. }
            | Effect::TellParent
            | Effect::OpenPullRequest { .. }
            | Effect::Prove { .. }
            | Effect::StopAgent { .. }
            | Effect::Publish { .. }
            | Effect::WriteRecord
            | Effect::Land(_)
            | Effect::PushRemote { .. }
            | Effect::CleanUp => None,
        })
    }

    /// Whether somebody works or has worked on an effect for this run.
    #[must_use]
    pub fn has_effect(&self, number: u32) -> bool {
        number > self.inherited_effects && number <= self.effects_requested
    }

    /// The conversation that a person has on their terminal: the number of its effect and what was asked for.
    #[must_use]
    pub fn sitting(&self) -> Option<(u32, &AgentTask)> {
        self.agent().filter(|(_, task)| task.purpose == crate::Purpose::Sit)
    }

    /// The newest artifact of a kind.
    #[must_use]
    pub fn latest(&self, kind: ArtifactKind) -> Option<&Artifact> {
        self.artifacts.iter().rev().find(|artifact| artifact.kind == kind)
    }

    /// The newest code, which is what is judged, proven and merged.
    #[must_use]
    pub fn code(&self) -> Option<&Artifact> {
        self.artifacts.iter().rev().find(|artifact| artifact.kind.is_code())
    }

    /// What may still be spent: what child runs were given counts as spent while they work.
    #[must_use]
    pub fn envelope(&self) -> Option<Micros> {
        let given = self.tasks.iter().filter(|task| task.status.has_child()).filter_map(|task| task.budget);
        let spent = given.fold(self.spend.cost.plus(self.spend.children), Micros::plus);
        self.budget.map(|budget| budget.minus(spent))
    }

    /// What may be spent before a person is asked about the limit. Of a child's limit only its parent asks.
    #[must_use]
    pub fn ask_after(&self) -> Option<Micros> {
        let asks = self.opened().parent.is_none() && !self.waived.asked.contains(&Purse::Run);
        self.budget.filter(|_| asks).map(|budget| budget.ask_mark().minus(self.cost()))
    }

    /// What was spent in all, child runs that are over included.
    #[must_use]
    pub fn cost(&self) -> Micros {
        self.spend.cost.plus(self.spend.children)
    }

    /// The model that plays a role.
    #[must_use]
    pub fn model(&self, role: &str) -> Option<&ModelName> {
        self.models.get(role).or_else(|| self.opened().config.models.get(role))
    }

    /// The program that plays a role.
    #[must_use]
    pub fn program(&self, role: &str) -> AgentProgram {
        self.opened().config.agents.get(role).cloned().unwrap_or_default()
    }

    /// Whether the program of a role uses its own login at its own vendor.
    #[must_use]
    pub fn is_direct(&self, role: &str) -> bool {
        self.opened().config.direct.contains(role)
    }

    /// The models a role goes to when its own is unavailable; none when a person chose the model on the way.
    #[must_use]
    pub fn fallbacks(&self, role: &str) -> &[ModelName] {
        match self.models.get(role) {
            Some(_) => &[],
            None => self.opened().config.fallbacks.get(role).map_or(&[], Vec::as_slice),
        }
    }

    /// What the next agent of a stage is wanted for.
    #[must_use]
    pub fn purpose(&self, index: usize) -> Purpose {
        let state = &self.stages[index];
        match &self.stage(index).work {
            // Once every task was worked, what comes back is mended as a whole.
            crate::Work::Produce { pulses: true, .. } if state.pulses < self.pulses() => {
                Purpose::Pulse { number: state.pulses + 1 }
            }
            crate::Work::Pursue { .. } => Purpose::Iterate { number: state.iterations + 1 },
            crate::Work::Converse { .. }
            | crate::Work::Produce { .. }
            | crate::Work::Judge { .. }
            | crate::Work::Prove { .. }
            | crate::Work::Delegate { .. } => Purpose::Stage,
        }
    }

    /// Tasks of the plan, for stages that work in pulses.
    #[must_use]
    pub fn pulses(&self) -> u32 {
        u32::try_from(self.tasks.len()).unwrap_or(u32::MAX)
    }

    /// The stage after this one: one that only does what is handed out is passed over when nothing is.
    #[must_use]
    pub fn next_stage(&self, index: usize) -> Option<usize> {
        let nothing = self.tasks.iter().all(|task| task.status.is_settled());
        let idle = |index: &usize| nothing && self.opened().playbook.is_on_demand(*index);
        (index + 1..self.stages.len()).find(|index| !idle(index))
    }

    /// A task by its id.
    #[must_use]
    pub fn task(&self, id: &str) -> Option<&TaskState> {
        self.tasks.iter().find(|state| state.task.id == id)
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        matches!(self.phase, Phase::Ended { .. })
    }
}
