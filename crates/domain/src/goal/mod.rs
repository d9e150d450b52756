//! Goals: the phases of an iteration, the tree of tasks, and what was seen at the end of each iteration.
//! Only states and readings: what follows from them is decided in `decide::pursue`.

mod task;
mod watch;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Digest, Run, Work};

pub use task::{GoalPlanError, GoalTask, GoalTaskStatus, check_goal_tasks, parse_goal_tasks, update_goal_task};
pub(crate) use watch::{doubt, seen};

/// What an iteration towards a goal is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalPhase {
    /// What to do is laid out.
    Planning,
    /// It is done.
    Acting,
    /// What came of it is looked at.
    Observing,
    /// What that means for the goal is said.
    Reflecting,
}

impl GoalPhase {
    /// The word used in views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Acting => "acting",
            Self::Observing => "observing",
            Self::Reflecting => "reflecting",
        }
    }

    /// Whether an iteration may go from here to there: nothing is reflected on that was not observed, and what was
    /// reflected on can come back.
    #[must_use]
    pub fn leads_to(self, next: Self) -> bool {
        match self {
            Self::Planning => matches!(next, Self::Acting | Self::Observing),
            Self::Acting => matches!(next, Self::Observing | Self::Planning),
            Self::Observing => matches!(next, Self::Acting | Self::Reflecting | Self::Planning),
            Self::Reflecting => matches!(next, Self::Planning | Self::Acting | Self::Observing),
        }
    }
}

/// Something an agent says of itself while it works on an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum PursuitStep {
    /// It is at another phase.
    Phase {
        /// Which.
        phase: GoalPhase,
    },
    /// It laid out the tasks, or laid them out anew.
    Planned {
        /// All of them.
        tasks: Vec<GoalTask>,
    },
    /// One task stands otherwise.
    Updated {
        /// As it stands.
        task: GoalTask,
    },
}

/// What is known of a goal besides its reflections.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Goal {
    /// What the iteration is at; `None` between iterations.
    pub phase: Option<GoalPhase>,
    /// Since when, while an agent works.
    pub since: Option<Timestamp>,
    /// The tree of tasks, parents named by their children.
    pub tasks: Vec<GoalTask>,
    /// What is known of the end of each iteration; one for each reflection.
    pub ends: Vec<IterationEnd>,
    /// Iterations that were over when a person last decided on the goal: what they saw is not held against it again.
    pub heard: usize,
    /// The last step that was taken in: of which effect, and which of that effect.
    pub counted: Option<(u32, u32)>,
    /// Why it waits for a person; kept while a question about it is answered.
    pub waits: Option<String>,
    /// Time spent in each phase.
    pub millis: BTreeMap<GoalPhase, u64>,
}

/// What is known of the end of an iteration besides what its agent said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IterationEnd {
    /// The files as they were then.
    pub tree: Option<Digest>,
    /// Tasks that were done by then.
    pub completed: usize,
}

impl Goal {
    /// Tasks that are done.
    #[must_use]
    pub fn completed(&self) -> usize {
        self.tasks.iter().filter(|task| task.status == GoalTaskStatus::Completed).count()
    }
}

/// How far a goal is, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GoalStand {
    /// The iteration that is worked on, or the last one.
    pub iteration: u32,
    /// How many there may be.
    pub of: u32,
    /// What it is at.
    pub phase: Option<GoalPhase>,
    /// Tasks that are done.
    pub completed: usize,
    /// All tasks.
    pub tasks: usize,
    /// In percent, as last said.
    pub progress: Option<u8>,
}

impl GoalStand {
    /// `iteration 3 of 15 · acting · 4 of 7 tasks · 60 %`.
    #[must_use]
    pub fn words(&self) -> String {
        let mut parts = vec![format!("iteration {} of {}", self.iteration, self.of)];
        parts.extend(self.phase.map(|phase| phase.word().to_owned()));
        if self.tasks > 0 {
            parts.push(format!("{} of {} tasks", self.completed, self.tasks));
        }
        parts.extend(self.progress.map(|progress| format!("{progress} %")));
        parts.join(" · ")
    }
}

impl Run {
    /// How far its goal is, for a run that pursues one.
    #[must_use]
    pub fn goal_stand(&self) -> Option<GoalStand> {
        let stages = self.opened.as_deref()?.playbook.stages.iter().zip(&self.stages);
        let pursued = stages.filter_map(|(stage, state)| match stage.work {
            Work::Pursue { iterations } => Some((state, iterations)),
            Work::Converse { .. }
            | Work::Produce { .. }
            | Work::Judge { .. }
            | Work::Prove { .. }
            | Work::Delegate { .. } => None,
        });
        // Of several, the one that is worked on, or was last.
        let (state, iterations) = pursued.rev().find(|(state, _)| state.visits > 0)?;
        let at_work = self.goal.phase.is_some() || (self.agent().is_some() && state.completed_at.is_none());
        Some(GoalStand {
            iteration: state.iterations + u32::from(at_work),
            of: iterations + state.iterations_granted,
            phase: self.goal.phase,
            completed: self.goal.completed(),
            tasks: self.goal.tasks.len(),
            progress: self.reflections.last().map(|said| said.progress),
        })
    }
}
