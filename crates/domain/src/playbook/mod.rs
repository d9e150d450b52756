//! Playbooks: declared lists of stages.

mod bound;
mod draw;
mod keys;
mod lint;
mod page;
mod parse;
mod problem;
mod stage;
mod table;
mod words;

use serde::{Deserialize, Serialize};

use crate::{ArtifactKind, Gate, OnFailure, Trust, TrustKey};

pub use parse::Lookup;
pub use problem::{PlaybookError, Weight};
pub(crate) use table::Edges;
pub use table::{Because, Transition};
pub use words::StageWords;

/// A kind of work, as a list of stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Playbook {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// What happens when rounds or crashes are spent.
    #[serde(default, skip_serializing_if = "WhenStuck::asks")]
    pub when_stuck: WhenStuck,
    /// Invariant: never empty, names unique, every `on_fail` names an earlier stage, plans come before what needs one.
    pub stages: Vec<Stage>,
    /// The playbooks of the runs that its `delegate` stages begin; these delegate no further.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Playbook>,
}

/// What happens when rounds or crashes are spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenStuck {
    /// A person is asked.
    #[default]
    Ask,
    /// The run fails; whoever began it goes on from there.
    Fail,
}

impl WhenStuck {
    fn asks(&self) -> bool {
        *self == Self::Ask
    }
}

/// One step of a playbook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Who does it.
    pub role: String,
    /// What is done.
    pub work: Work,
    /// Whether a person has a say afterwards.
    pub gate: StageGate,
    /// Time for one visit.
    pub timeout_minutes: u32,
    /// Tries at a failing model call.
    pub retries: u32,
    /// Crashes before the run is stuck.
    pub crashes: u32,
    /// How often a person may send it back.
    pub revisions: u32,
}

/// What a stage does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Work {
    /// Agent and person talk until all is clear.
    Converse {
        /// Turns of the agent before the person must settle it.
        rounds: u32,
    },
    /// One agent makes one artifact.
    Produce {
        /// What it must leave.
        artifact: ArtifactKind,
        /// Whether it works through the plan's tasks one after the other.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pulses: bool,
        /// Whether the agent may hand tasks to the `delegate` stage behind it instead of doing all itself.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_delegate: bool,
    },
    /// A separate agent gives a verdict.
    Judge {
        /// Whether the declared checks run first.
        prove: bool,
        /// Stage that gets the feedback of a FAIL.
        on_fail: String,
        /// Whether a person has a say before that.
        fix_gate: StageGate,
        /// Fix rounds before a person is asked.
        rounds: u32,
    },
    /// Holdpoint runs the declared checks on the exact commit.
    Prove {
        /// Stage that gets what failed.
        on_fail: String,
        /// Whether a person has a say before that.
        fix_gate: StageGate,
        /// Fix rounds before a person is asked.
        rounds: u32,
    },
    /// One child run per task of the plan.
    Delegate {
        /// The playbook of the children.
        playbook: String,
        /// How many work at once.
        agents: u32,
        /// What happens when one fails.
        on_failure: OnFailure,
        /// What happens to tasks that expect to touch the same files.
        overlap: OnOverlap,
    },
    /// Plan, act, observe, reflect, again, until the goal is met.
    Pursue {
        /// Iterations before a person is asked.
        iterations: u32,
    },
}

/// What happens to tasks that expect to touch the same files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnOverlap {
    /// One after the other.
    Serialise,
    /// At the same time.
    Allow,
}

/// A gate, fixed or by a trust switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageGate {
    /// Always goes on by itself.
    Auto,
    /// Always asks.
    Manual,
    /// A person looks at the finished work and says where it goes.
    Review,
    /// As the run's trust says.
    Trust(TrustKey),
}

impl StageGate {
    /// What the gate is for this run.
    #[must_use]
    pub fn resolve(self, trust: &Trust) -> Gate {
        match self {
            Self::Auto => Gate::Auto,
            Self::Manual | Self::Review => Gate::Manual,
            Self::Trust(key) => trust.get(key),
        }
    }
}

impl Work {
    /// The word used in playbooks.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Converse { .. } => "converse",
            Self::Produce { .. } => "produce",
            Self::Judge { .. } => "judge",
            Self::Prove { .. } => "prove",
            Self::Delegate { .. } => "delegate",
            Self::Pursue { .. } => "pursue",
        }
    }

    /// Where a FAIL goes.
    #[must_use]
    pub fn on_fail(&self) -> Option<&str> {
        match self {
            Self::Judge { on_fail, .. } | Self::Prove { on_fail, .. } => Some(on_fail),
            Self::Converse { .. } | Self::Produce { .. } | Self::Delegate { .. } | Self::Pursue { .. } => None,
        }
    }

    /// Rounds a FAIL may start before a person is asked.
    #[must_use]
    pub fn rounds(&self) -> Option<u32> {
        match self {
            Self::Judge { rounds, .. } | Self::Prove { rounds, .. } => Some(*rounds),
            Self::Converse { .. } | Self::Produce { .. } | Self::Delegate { .. } | Self::Pursue { .. } => None,
        }
    }

    /// Whether an agent of ours works in the stage itself.
    #[must_use]
    pub fn has_agent(&self) -> bool {
        match self {
            Self::Converse { .. } | Self::Produce { .. } | Self::Judge { .. } | Self::Pursue { .. } => true,
            Self::Prove { .. } | Self::Delegate { .. } => false,
        }
    }

    /// Whether its agent may hand in tasks instead of the work.
    #[must_use]
    pub fn may_delegate(&self) -> bool {
        matches!(self, Self::Produce { may_delegate: true, .. })
    }

    /// What the stage leaves.
    #[must_use]
    pub fn artifact(&self) -> Option<ArtifactKind> {
        match self {
            Self::Converse { .. } => Some(ArtifactKind::Requirement),
            Self::Produce { artifact, .. } => Some(*artifact),
            Self::Judge { .. } => Some(ArtifactKind::ValidationReport),
            Self::Prove { .. } => None,
            Self::Delegate { .. } | Self::Pursue { .. } => Some(ArtifactKind::Code),
        }
    }
}

impl Playbook {
    /// The playbooks that are compiled in.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let source = Self::built_in_source(name)?;
        Some(Self::parse(name, source).expect("built-in playbooks are checked by a test"))
    }

    fn built_in_source(name: &str) -> Option<&'static str> {
        BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, source)| *source)
    }

    /// Names of the playbooks that are compiled in.
    pub fn built_in_names() -> impl Iterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Index of the stage with that name.
    #[must_use]
    pub fn index_of(&self, stage: &str) -> Option<usize> {
        self.stages.iter().position(|candidate| candidate.name == stage)
    }

    /// Whether a person may merge what is there before it was reviewed: where a person reviews at the end.
    #[must_use]
    pub fn may_be_forced(&self) -> bool {
        self.stages.iter().any(|stage| stage.gate == StageGate::Review)
    }

    /// Whether the stage is only begun when the agent before it handed out tasks.
    #[must_use]
    pub fn is_on_demand(&self, index: usize) -> bool {
        let before = index.checked_sub(1).and_then(|before| self.stages.get(before));
        let delegates = self.stages.get(index).is_some_and(|stage| matches!(stage.work, Work::Delegate { .. }));
        delegates && before.is_some_and(|stage| stage.work.may_delegate())
    }

    /// The playbook of the runs that a stage begins.
    #[must_use]
    pub fn child(&self, name: &str) -> Option<&Playbook> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Roles that need a model, its children's too, without repeats, in order.
    #[must_use]
    pub fn roles(&self) -> Vec<&str> {
        let mut roles = Vec::new();
        let own = self.stages.iter().filter(|stage| stage.work.has_agent()).map(|stage| stage.role.as_str());
        let theirs = self.children.iter().flat_map(|child| child.roles());
        for role in own.chain(theirs) {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        roles
    }
}

const BUILT_IN: &[(&str, &str)] = &[
    ("autonomous", include_str!("../../playbooks/autonomous.toml")),
    ("team", include_str!("../../playbooks/team.toml")),
    ("subtask", include_str!("../../playbooks/subtask.toml")),
    ("staged", include_str!("../../playbooks/staged.toml")),
    ("goal", include_str!("../../playbooks/goal.toml")),
    ("task", include_str!("../../playbooks/task.toml")),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_playbook_loads_under_its_own_name() {
        for name in Playbook::built_in_names() {
            assert_eq!(Playbook::built_in(name).map(|playbook| playbook.name), Some(name.to_owned()));
        }
    }
}
