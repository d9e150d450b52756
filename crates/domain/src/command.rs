//! Commands: everything that may be asked of a run, and the reasons for a no.

use jiff::Timestamp;

use crate::{
    Actor, CommitId, Decision, DecisionKind, Digest, Ending, Fork, HoldId, Micros, Outcome, Parent, Playbook,
    PursuitStep, RunConfig, RunId, TaintSource,
};

/// Something asked of a run: by a person, a timer, or the report of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Begin.
    Start(Box<Start>),
    /// Begin where another run stood.
    Fork(Box<Fork>),
    /// An effect came to an end.
    Report(Report),
    /// A model call was paid for.
    Spend(SpendReport),
    /// An agent that pursues a goal goes a step on.
    Pursue(PursuitReport),
    /// A person decided.
    Decide(Decide),
    /// A timer is due.
    TimerFired {
        /// Which; an older one is refused.
        timer: u64,
    },
    /// A child run is over.
    ChildEnded(ChildReport),
    /// Stop working and wait for a person.
    Pause {
        /// Who.
        by: Actor,
        /// Why.
        reason: Option<String>,
    },
    /// Say something to whoever works on the stage.
    Guide {
        /// What.
        text: String,
        /// Who.
        by: Actor,
    },
    /// Say that an assumption was wrong.
    Overturn {
        /// Which, by its number.
        assumption: u32,
        /// What is right.
        answer: Vec<String>,
        /// Who.
        by: Actor,
    },
    /// Take the conversation of whoever works on the stage to a terminal of one's own; the run waits meanwhile.
    Attach {
        /// Who.
        by: Actor,
    },
    /// Merge what a task has made although it was not reviewed.
    ForceMerge {
        /// Who.
        by: Actor,
        /// Why.
        reason: Option<String>,
        /// The code they were shown; whatever is newest unless said.
        shown: Option<CommitId>,
    },
    /// End the run.
    Cancel {
        /// Who.
        by: Actor,
        /// Why.
        reason: Option<String>,
    },
    /// An agent at work reads text of strangers.
    Taint(TaintReport),
}

impl Command {
    /// When an event that the command brings along happened; `None` for what happens now.
    #[must_use]
    pub fn time_of(&self, sequence: u64) -> Option<Timestamp> {
        if let Self::Fork(fork) = self { fork.time_of(sequence) } else { None }
    }
}

/// What a run begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Path of the user's repository.
    pub project: String,
    /// The request.
    pub request: String,
    /// How it is done.
    pub playbook: Playbook,
    /// Limits and switches.
    pub config: RunConfig,
    /// Who asks.
    pub by: Actor,
    /// The run it is a part of.
    pub parent: Option<Parent>,
}

/// How a child run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildReport {
    /// The task it worked on.
    pub task: String,
    /// Which.
    pub child: RunId,
    /// How it ended.
    pub ending: Ending,
    /// What it made, if it ended well.
    pub commit: Option<CommitId>,
    /// Paths it changed.
    pub files: Vec<String>,
    /// What it spent.
    pub cost: Micros,
    /// Why it failed.
    pub problem: Option<String>,
    /// Text of strangers it has read.
    pub taints: Vec<TaintSource>,
}

impl Start {
    /// The longest request, in bytes.
    pub const MAX_REQUEST: usize = 64 * 1024;

    /// Whether a text can be a request; the reason if not. A task may begin without one: then its person is asked.
    pub fn check_request(text: &str, may_be_empty: bool) -> Result<(), String> {
        if text.trim().is_empty() && !may_be_empty {
            return Err("the request is empty; say what you want done".to_owned());
        }
        if text.len() > Self::MAX_REQUEST {
            return Err(format!(
                "the request has {} bytes; at most {} are taken, put the rest in a file of the repository",
                text.len(),
                Self::MAX_REQUEST
            ));
        }
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            return Err("the request has control characters; send plain text".to_owned());
        }
        Ok(())
    }
}

/// The end of an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// Its number.
    pub effect: u32,
    /// What came of it.
    pub outcome: Outcome,
}

/// One paid model call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpendReport {
    /// Effect whose agent made it.
    pub effect: u32,
    /// Which call of that effect, from 1.
    pub call: u32,
    /// `provider/model`.
    pub model: String,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Cost; `None` when the price is not known.
    pub cost: Option<Micros>,
    /// The program whose word this is; `None`: it was counted on the way.
    pub reported_by: Option<String>,
}

/// One step of an agent that pursues a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PursuitReport {
    /// Effect whose agent says so.
    pub effect: u32,
    /// Which step of that effect, from 1; some may be missing, none counts twice.
    pub number: u32,
    /// What.
    pub step: PursuitStep,
}

/// Text of strangers that an agent reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaintReport {
    /// Effect whose agent reads it.
    pub effect: u32,
    /// Where it comes from.
    pub source: TaintSource,
}

/// A person's decision, bound to what was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decide {
    /// The hold it answers.
    pub hold: HoldId,
    /// Digest of what was shown.
    pub digest: Digest,
    /// What.
    pub decision: Decision,
    /// Who.
    pub by: Actor,
}

/// Why a command changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// The request is not a usable text.
    #[error("{0}")]
    BadRequest(String),
    /// The run exists already.
    #[error("the run has started already")]
    AlreadyStarted,
    /// There is no such run.
    #[error("there is no such run")]
    NotStarted,
    /// The run has ended.
    #[error("the run has ended already")]
    AlreadyEnded,
    /// It cannot begin there, or not so.
    #[error("{0}")]
    NotForkable(String),
    /// The effect is not open: reported before, or taken back.
    #[error("effect {0} is not open")]
    EffectNotOpen(u32),
    /// The outcome does not fit what the effect was.
    #[error("effect {0} cannot end that way")]
    WrongOutcome(u32),
    /// That call was counted before.
    #[error("call {1} of effect {0} was counted before")]
    CallCounted(u32, u32),
    /// That step was taken in before, or changes nothing.
    #[error("step {1} of effect {0} is known")]
    StepKnown(u32, u32),
    /// The agent cannot be there now.
    #[error("an iteration does not go from `{from}` to `{to}`")]
    BadPhase {
        /// Where it is.
        from: &'static str,
        /// Where it says it is.
        to: &'static str,
    },
    /// The timer is not the current one.
    #[error("that timer is no longer set")]
    TimerGone,
    /// The run waits for nobody.
    #[error("the run does not wait for a decision")]
    NoHold,
    /// Somebody was first.
    #[error("`{by}` decided `{}` at {at}", decision.word())]
    AlreadyDecided {
        /// Who.
        by: String,
        /// What.
        decision: DecisionKind,
        /// When.
        at: Timestamp,
    },
    /// The hold is another one by now.
    #[error("the run waits on something else by now")]
    HoldChanged,
    /// What was shown is not what is there.
    #[error("what you were shown has changed since")]
    DigestChanged,
    /// The hold does not take that decision.
    #[error("this hold does not take `{}`", .decision.word())]
    NotAllowed {
        /// What was tried.
        decision: DecisionKind,
        /// What it takes.
        allowed: Vec<DecisionKind>,
    },
    /// The answer does not fit the question.
    #[error("{0}")]
    BadAnswer(String),
    /// The person's plan cannot be used.
    #[error("the plan cannot be used: {0}")]
    BadPlan(String),
    /// The run waits already, so there is nothing to pause.
    #[error("the run waits already")]
    WaitsAlready,
    /// It is no child of this run, or its end was taken in before.
    #[error("that child run is not open")]
    ChildNotOpen,
    /// There is no such assumption, or it was overturned before.
    #[error("there is no assumption {0} that could be overturned")]
    NoAssumption(u32),
    /// The work is being merged or is over.
    #[error("the run is finishing; start another run to change it")]
    TooLate,
    /// Only a task that a person reviews at its end can be merged by force.
    #[error("only a task can be merged by force")]
    NotForced,
    /// There is no code yet.
    #[error("nothing was handed over yet, so there is nothing to merge")]
    NothingToMerge,
    /// Something is being done that cannot be left half done.
    #[error("not now: {0}")]
    NotNow(&'static str),
    /// A person has the conversation on their terminal.
    #[error("`{by}` has taken over the session since {since}")]
    Attached {
        /// Who.
        by: String,
        /// Since when.
        since: Timestamp,
    },
    /// There is no conversation that could be taken to a terminal.
    #[error("there is no session to attach to: {0}")]
    NoSession(&'static str),
    /// That text of strangers was noted before.
    #[error("the run is known to have read that")]
    TaintKnown,
}
