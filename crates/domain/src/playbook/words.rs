//! A playbook in words: one row per stage, for tables on a terminal, on a page and in views.

use std::fmt;

use super::{OnOverlap, Playbook, Stage, StageGate, WhenStuck, Work};
use crate::{OnFailure, TrustKey};

/// A stage for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageWords {
    /// Its name.
    pub name: String,
    /// What is done.
    pub work: String,
    /// Who does it; empty where no agent works.
    pub role: String,
    /// Who lets it pass.
    pub gate: String,
    /// What bounds it.
    pub limits: String,
    /// Where it goes back to, how often, and what happens then; empty if it never does.
    pub loops: String,
}

impl fmt::Display for StageGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
            Self::Review => "review",
            Self::Trust(TrustKey::Planning) => "trust.planning",
            Self::Trust(TrustKey::Implementation) => "trust.implementation",
            Self::Trust(TrustKey::Fixes) => "trust.fixes",
        })
    }
}

impl Playbook {
    /// Its stages for people, in order.
    #[must_use]
    pub fn words(&self) -> Vec<StageWords> {
        let row = |stage: &Stage| StageWords {
            name: stage.name.clone(),
            work: work(&stage.work),
            role: stage.role.clone(),
            gate: stage.gate.to_string(),
            limits: limits(stage),
            loops: loops(stage, self.when_stuck),
        };
        self.stages.iter().map(row).collect()
    }
}

fn work(work: &Work) -> String {
    match work {
        Work::Converse { .. } => "converse until the person confirms".to_owned(),
        Work::Produce { artifact, may_delegate: true, .. } => format!("produce {}, or hand out tasks", artifact.word()),
        Work::Produce { artifact, pulses: true, .. } => format!("produce {} in pulses, one per task", artifact.word()),
        Work::Produce { artifact, .. } => format!("produce {}", artifact.word()),
        Work::Judge { prove: true, .. } => "run the checks, then judge".to_owned(),
        Work::Judge { prove: false, .. } => "judge".to_owned(),
        Work::Prove { .. } => "prove by running the checks".to_owned(),
        Work::Delegate { playbook, .. } => format!("delegate tasks to {playbook} runs"),
        Work::Pursue { .. } => "pursue the goal".to_owned(),
    }
}

fn limits(stage: &Stage) -> String {
    let mut limits = Vec::new();
    match &stage.work {
        Work::Converse { rounds } => limits.push(counted(*rounds, "turn")),
        Work::Pursue { iterations } => limits.push(counted(*iterations, "iteration")),
        Work::Delegate { agents, on_failure, overlap, .. } => {
            limits.push(format!("{} at once", counted(*agents, "agent")));
            limits.push(
                match on_failure {
                    OnFailure::Retry => "a failing task is tried once more",
                    OnFailure::Continue => "a failing task is left out",
                    OnFailure::Stop => "a failing task ends the run",
                }
                .to_owned(),
            );
            limits.push(
                match overlap {
                    OnOverlap::Serialise => "tasks on the same files wait for each other",
                    OnOverlap::Allow => "tasks on the same files may overlap",
                }
                .to_owned(),
            );
        }
        Work::Produce { .. } | Work::Judge { .. } | Work::Prove { .. } => {}
    }
    if stage.work.has_agent() {
        limits.push(format!("{} min", stage.timeout_minutes));
        limits.push(counted(stage.crashes, "crash"));
    }
    limits.join(", ")
}

fn loops(stage: &Stage, when_stuck: WhenStuck) -> String {
    let mut loops = Vec::new();
    if let Work::Judge { on_fail, fix_gate, rounds, .. } | Work::Prove { on_fail, fix_gate, rounds } = &stage.work {
        let gate = if *fix_gate == StageGate::Auto { String::new() } else { format!(" by {fix_gate}") };
        let then = match when_stuck {
            WhenStuck::Ask => "then a person decides",
            WhenStuck::Fail => "then the run fails",
        };
        loops.push(format!("FAIL → {on_fail}{gate}, {}, {then}", counted(*rounds, "round")));
    }
    if stage.gate != StageGate::Auto && stage.revisions > 0 {
        let target = stage.work.on_fail().unwrap_or(&stage.name);
        loops.push(format!("sent back → {target}, {}", counted(stage.revisions, "time")));
    }
    loops.join("; ")
}

pub(super) fn counted(count: u32, what: &str) -> String {
    match (count, what) {
        (1, what) => format!("1 {what}"),
        (count, "crash") => format!("{count} crashes"),
        (count, what) => format!("{count} {what}s"),
    }
}
