//! Playbooks: declared lists of stages.

mod parse;

use serde::{Deserialize, Serialize};

use crate::{ArtifactKind, Gate, Trust, TrustKey};

pub use parse::PlaybookError;

/// A kind of work, as a list of stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Playbook {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Invariant: never empty, names unique, every `on_fail` names an earlier stage.
    pub stages: Vec<Stage>,
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
    /// One agent makes one artifact.
    Produce {
        /// What it must leave.
        artifact: ArtifactKind,
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
}

/// A gate, fixed or by a trust switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageGate {
    /// Always goes on by itself.
    Auto,
    /// Always asks.
    Manual,
    /// As the run's trust says.
    Trust(TrustKey),
}

impl StageGate {
    /// What the gate is for this run.
    #[must_use]
    pub fn resolve(self, trust: &Trust) -> Gate {
        match self {
            Self::Auto => Gate::Auto,
            Self::Manual => Gate::Manual,
            Self::Trust(key) => trust.get(key),
        }
    }
}

impl Playbook {
    /// The playbooks that are compiled in.
    #[must_use]
    pub fn built_in(name: &str) -> Option<Self> {
        let (_, source) = BUILT_IN.iter().find(|(known, _)| *known == name)?;
        Some(Self::parse(name, source).expect("built-in playbooks are checked by a test"))
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

    /// Roles that need a model, without repeats, in order.
    #[must_use]
    pub fn roles(&self) -> Vec<&str> {
        let mut roles = Vec::new();
        for stage in &self.stages {
            if !roles.contains(&stage.role.as_str()) {
                roles.push(stage.role.as_str());
            }
        }
        roles
    }
}

const BUILT_IN: &[(&str, &str)] = &[("autonomous", include_str!("../../playbooks/autonomous.toml"))];

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
