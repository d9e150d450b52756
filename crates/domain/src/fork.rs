//! Forks: where a run can be left for another one, and what the other begins with.
//!
//! A fork's log is its origin's up to a point, number by number, but for the first event, which has the fork's own name,
//! branch and person. After the point `RUN_FORKED` says where it comes from and what is different from there on. So a
//! fork adds up like any other run, and every rule looks at what it inherited as it looked at it there.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::evolve::advance;
use crate::{
    Actor, AgentProgram, CommitId, Decision, Effect, Event, Hold, Micros, ModelName, Phase, Recorded, Run, RunId, Step,
    TaintSource, TaskStatus,
};

/// Where a run comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkedFrom {
    /// The run it was forked from.
    pub run: RunId,
    /// The last event that both have.
    pub at: u64,
}

impl ForkedFrom {
    /// Whether an event of the fork is one of its origin's.
    #[must_use]
    pub fn has(&self, sequence: u64) -> bool {
        (2..=self.at).contains(&sequence)
    }
}

/// What is asked of a run that begins where another one stood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The other run.
    pub origin: RunId,
    /// Its log up to the point.
    pub log: Vec<Recorded>,
    /// What is different from there on.
    pub changes: ForkChanges,
    /// Who asks.
    pub by: Actor,
}

impl Fork {
    /// When an event that the fork inherits was recorded; `None` for the fork's own.
    #[must_use]
    pub fn time_of(&self, sequence: u64) -> Option<Timestamp> {
        let index = usize::try_from(sequence).ok()?.checked_sub(1)?;
        self.log.get(index).filter(|_| index > 0).map(|recorded| recorded.at)
    }
}

/// What is different in a fork.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkChanges {
    /// What is decided on the hold of its point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// Other models, per role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, ModelName>,
    /// Other programs, per role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentProgram>,
    /// Of those, the ones that use their own login.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub direct: BTreeSet<String>,
    /// What the fork may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Micros>,
    /// Untrusted sources that the origin read after the point. The folders of its agents, which the fork takes along, may hold
    /// their text; the fork begins as if it had read them (`RUN_TAINTED`).
    #[serde(skip)]
    pub read_since: Vec<TaintSource>,
}

/// How a run stands where it can be left: nothing is half done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkStand {
    /// It waits for a person.
    Hold,
    /// A stage is about to be worked on.
    Begun(usize),
    /// A stage is done and its gate is passed.
    Done(usize),
}

/// A point at which a run can be forked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForkPoint {
    /// The event after which it stood so.
    pub at: u64,
    /// When.
    pub time: Timestamp,
    /// How it stood.
    pub stand: ForkStand,
    /// The stage; `None` for a hold after the last one.
    pub stage: Option<String>,
    /// What happened, in a few words.
    pub what: String,
    /// What it waited for.
    pub hold: Option<Hold>,
    /// The branch's tip.
    pub commit: CommitId,
    /// What was spent until there.
    pub cost: Micros,
}

/// Where a fork goes on once its branch is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resumes {
    /// Where it stood.
    pub phase: Phase,
    /// The effect that had failed there, to be asked for again after a retry.
    pub failed_effect: Option<Effect>,
    /// What is decided there.
    pub decision: Option<Decision>,
    /// By whom.
    pub by: Actor,
}

/// Every point at which a run can be forked, oldest first. A run that works for another has none: it is the other's.
#[must_use]
pub fn fork_points(id: &RunId, log: &[Recorded]) -> Vec<ForkPoint> {
    let mut run = Run::unopened(id.clone());
    let mut points = Vec::new();
    for recorded in log {
        advance(&mut run, recorded);
        points.extend(run.fork_point(recorded));
    }
    points
}

impl Run {
    /// The point that the run, after this event, stands at.
    pub(crate) fn fork_point(&self, last: &Recorded) -> Option<ForkPoint> {
        let stand = self.fork_stand().filter(|stand| marks(&last.event, *stand))?;
        let stage = self.current_stage().map(|index| self.stage(index).name.clone());
        let hold = self.hold().filter(|_| stand == ForkStand::Hold);
        Some(ForkPoint {
            at: last.sequence,
            time: last.at,
            stand,
            what: self.fork_words(stand),
            stage,
            hold: hold.cloned(),
            commit: self.head.clone()?,
            cost: self.inherited.cost.plus(self.inherited.children).plus(self.cost()),
        })
    }

    /// How it stands, if nothing is half done: nobody works, no person has it, no child is under way, and nothing has
    /// left its branch for good.
    pub(crate) fn fork_stand(&self) -> Option<ForkStand> {
        let opened = self.opened.as_ref()?;
        let child = opened.parent.is_some();
        let persons = self.attached.is_some() || self.taken_over.is_some();
        let gone = self.merged.is_some() || self.pull_request.is_some();
        if child || persons || gone || !self.open_effects.is_empty() || !self.tasks_rest() {
            return None;
        }
        let done = self.current_stage().filter(|index| self.stages[*index].completed_at.is_some());
        match (&self.phase, done) {
            (Phase::Holding { .. } | Phase::Working { .. } | Phase::Delegating { .. }, Some(index)) => {
                Some(ForkStand::Done(index))
            }
            (Phase::Holding { hold }, None) => {
                let decided = self.decided.iter().any(|decided| decided.hold == hold.id);
                (!decided).then_some(ForkStand::Hold)
            }
            (Phase::Working { stage, step: Step::Begin, .. } | Phase::Delegating { stage }, None) => {
                Some(ForkStand::Begun(*stage))
            }
            (
                Phase::Working { step: Step::Agent | Step::TakeIn | Step::Prove, .. }
                | Phase::Unopened
                | Phase::Opening { .. }
                | Phase::Publishing { .. }
                | Phase::Finishing { .. }
                | Phase::Ended { .. },
                _,
            ) => None,
        }
    }

    fn tasks_rest(&self) -> bool {
        self.tasks.iter().all(|task| task.status == TaskStatus::Waiting || task.status.is_settled())
    }

    fn fork_words(&self, stand: ForkStand) -> String {
        match (stand, self.hold()) {
            (ForkStand::Begun(index), _) => {
                let visit = self.stages[index].visits;
                let again = if visit > 1 { format!(" for the {}", nth(visit)) } else { String::new() };
                format!("{} begins{again}", self.stage(index).name)
            }
            (ForkStand::Done(index), _) => format!("{} is done", self.stage(index).name),
            (ForkStand::Hold, Some(hold)) => match &hold.question {
                Some(question) => format!("asked: {}", question.question),
                None => format!("{}: {}", hold.kind.word(), hold.summary),
            },
            (ForkStand::Hold, None) => String::new(),
        }
    }
}

fn nth(number: u32) -> String {
    match (number % 10, number % 100) {
        (1, rest) if rest != 11 => format!("{number}st time"),
        (2, rest) if rest != 12 => format!("{number}nd time"),
        (3, rest) if rest != 13 => format!("{number}rd time"),
        _ => format!("{number}th time"),
    }
}

/// Whether an event leaves the run at a point, and not in the middle of what one command led to.
#[expect(clippy::wildcard_enum_match_arm, reason = "a point is marked by few events; a new one marks none unless said")]
fn marks(event: &Event, stand: ForkStand) -> bool {
    match event {
        Event::ApprovalRequested { .. } | Event::ClarificationRequested { .. } | Event::HoldPlaced { .. } => {
            stand == ForkStand::Hold
        }
        // What a person said at a hold, and an agent that was stopped for it.
        Event::GuidanceGiven { .. } | Event::EffectFinished { .. } => stand == ForkStand::Hold,
        Event::StageStarted { .. } => matches!(stand, ForkStand::Begun(_)),
        Event::StageCompleted { .. } => matches!(stand, ForkStand::Done(_)),
        Event::ForkOpened { .. } => true,
        _ => false,
    }
}
