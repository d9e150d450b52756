//! The checker: one list of rules, used by the property tests, the crash tests and `holdpoint verify`.

use std::collections::{BTreeMap, BTreeSet};

use crate::evolve::advance;
use crate::{Effect, Event, HoldId, Phase, Recorded, Run, RunId, Work};

/// A rule that a log breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Where.
    pub sequence: u64,
    /// Number of the rule in ARCHITECTURE.md.
    pub rule: u8,
    /// What is wrong.
    pub message: String,
}

/// Checks a whole log; an empty list means that every rule holds.
#[must_use]
pub fn check_log(id: &RunId, log: &[Recorded]) -> Vec<Violation> {
    let mut checker = Checker { run: Run::unopened(id.clone()), seen: Seen::default(), found: Vec::new() };
    for recorded in log {
        checker.before(recorded);
        advance(&mut checker.run, recorded);
        checker.after(recorded);
    }
    checker.found
}

#[derive(Default)]
struct Seen {
    finished: BTreeSet<u32>,
    requested: BTreeMap<u32, Effect>,
    used: BTreeSet<HoldId>,
    approved_commits: BTreeSet<String>,
    passed: BTreeSet<String>,
}

struct Checker {
    run: Run,
    seen: Seen,
    found: Vec<Violation>,
}

impl Checker {
    fn broken(&mut self, recorded: &Recorded, rule: u8, message: impl Into<String>) {
        self.found.push(Violation { sequence: recorded.sequence, rule, message: message.into() });
    }

    fn before(&mut self, recorded: &Recorded) {
        if recorded.sequence != self.run.version + 1 {
            let message = format!("event {} follows {}", recorded.sequence, self.run.version);
            self.broken(recorded, 3, message);
        }
        if matches!(recorded.event, Event::RunStarted { .. }) != (self.run.version == 0) {
            self.broken(recorded, 1, "a log begins with RUN_STARTED, and only begins with it");
        }
        if self.run.is_ended() {
            self.after_the_end(recorded);
        }
        match &recorded.event {
            Event::EffectRequested { number, effect } => self.requested(recorded, *number, effect),
            Event::EffectFinished { number, .. } => self.finished(recorded, *number),
            Event::ApprovalGranted { hold, digest, by, .. } => {
                self.used(recorded, *hold, digest.as_str(), &by.name);
                if let Some(artifact) = self.run.hold().and_then(|hold| hold.artifact.as_ref()) {
                    self.seen.approved_commits.insert(artifact.commit.to_string());
                }
            }
            Event::ApprovalRejected { hold, digest, by, .. }
            | Event::ClarificationAnswered { hold, digest, by, .. }
            | Event::DecisionMade { hold, digest, by, .. } => self.used(recorded, *hold, digest.as_str(), &by.name),
            Event::ValidationPassed { commit, .. } => {
                self.seen.passed.insert(commit.to_string());
            }
            Event::BranchMerged { validated, .. } => {
                if !self.seen.passed.contains(validated.as_str()) {
                    self.broken(recorded, 7, format!("merged although validation did not pass for {validated}"));
                }
            }
            Event::SpendRecorded { effect, call, .. } => {
                if self.run.spend.counted.get(effect).is_some_and(|counted| call <= counted) {
                    self.broken(recorded, 9, format!("call {call} of effect {effect} counted twice"));
                }
            }
            Event::StageStarted { stage, .. } => self.stage_started(recorded, stage),
            Event::RunStarted { .. }
            | Event::BranchCreated { .. }
            | Event::StageCompleted { .. }
            | Event::ArtifactCreated { .. }
            | Event::ApprovalRequested { .. }
            | Event::ClarificationRequested { .. }
            | Event::HoldPlaced { .. }
            | Event::AutoAdvanced { .. }
            | Event::AgentCrashed { .. }
            | Event::ImplementationSucceeded { .. }
            | Event::ImplementationFailed { .. }
            | Event::ProofRecorded { .. }
            | Event::ValidationFailed { .. }
            | Event::RecordWritten { .. }
            | Event::BranchPublished { .. }
            | Event::BranchPushed { .. }
            | Event::RunCompleted { .. }
            | Event::RunFailed { .. }
            | Event::RunCancelled { .. } => {}
        }
    }

    /// Rules 2 and 15: after the end only clean-up and the counting of money.
    fn after_the_end(&mut self, recorded: &Recorded) {
        let annotation = matches!(
            recorded.event,
            Event::SpendRecorded { .. }
                | Event::EffectFinished { .. }
                | Event::EffectRequested { effect: Effect::CleanUp, .. }
        );
        if !annotation {
            self.broken(recorded, 2, "something happened after the end");
        }
    }

    fn requested(&mut self, recorded: &Recorded, number: u32, effect: &Effect) {
        if number != self.run.effects_requested + 1 {
            self.broken(recorded, 11, format!("effect {number} follows {}", self.run.effects_requested));
        }
        self.seen.requested.insert(number, effect.clone());
        let active =
            self.run.open_effects.values().any(|open| matches!(open, Effect::RunAgent(_) | Effect::Prove { .. }));
        if active && matches!(effect, Effect::RunAgent(_) | Effect::Prove { .. }) {
            self.broken(recorded, 13, "two attempts at once");
        }
        if let Effect::RunAgent(task) = effect
            && let Some(left) = self.run.envelope()
            && task.envelope.is_none_or(|envelope| envelope > left)
        {
            self.broken(recorded, 9, "an agent was given more than is left");
        }
    }

    fn finished(&mut self, recorded: &Recorded, number: u32) {
        if !self.seen.requested.contains_key(&number) {
            self.broken(recorded, 11, format!("effect {number} finished without being asked for"));
        }
        if !self.seen.finished.insert(number) {
            self.broken(recorded, 11, format!("effect {number} finished twice"));
        }
    }

    fn used(&mut self, recorded: &Recorded, hold: HoldId, digest: &str, by: &str) {
        if !self.seen.used.insert(hold) {
            self.broken(recorded, 5, format!("hold {hold} was decided twice"));
        }
        let current = self.run.hold().map(|current| (current.id, current.digest.clone()));
        if current.is_none_or(|(id, shown)| id != hold || shown.as_str() != digest) {
            self.broken(recorded, 5, "a decision for another hold or another digest was used");
        }
        if by.is_empty() {
            self.broken(recorded, 20, "a decision without a name");
        }
    }

    /// Rule 6: no stage after a manual gate starts without a used approval of what the gate showed.
    fn stage_started(&mut self, recorded: &Recorded, stage: &str) {
        let Some(index) = self.run.opened().playbook.index_of(stage) else {
            return self.broken(recorded, 1, format!("there is no stage `{stage}`"));
        };
        let Some(previous) = index.checked_sub(1) else { return };
        // A fix round comes back from a later stage; its own gate was passed on the way.
        if self.run.current_stage().is_some_and(|current| current >= index) {
            return;
        }
        let stage = self.run.stage(previous);
        let manual = stage.gate.resolve(&self.run.opened().config.trust) == crate::Gate::Manual;
        let made = self.run.artifacts.iter().rev().find(|artifact| artifact.stage == stage.name);
        let approved = made.is_some_and(|made| self.seen.approved_commits.contains(made.commit.as_str()));
        if manual && !approved {
            let message = format!("`{}` was left without an approval", stage.name);
            self.broken(recorded, 6, message);
        }
    }

    fn after(&mut self, recorded: &Recorded) {
        let run = &self.run;
        if run.opened.is_none() {
            return;
        }
        let mut found = Vec::new();
        if run.questions_asked > run.opened().config.max_clarifications {
            found.push((8, "more questions than allowed".to_owned()));
        }
        for (state, stage) in run.stages.iter().zip(&run.opened().playbook.stages) {
            if state.crashes > stage.crashes {
                found.push((10, format!("`{}` crashed more often than its cap", stage.name)));
            }
            if state.revisions > stage.revisions {
                found.push((10, format!("`{}` was sent back more often than its cap", stage.name)));
            }
            if let Work::Judge { rounds, .. } = &stage.work
                && state.fails > rounds + state.rounds_granted + 1
            {
                found.push((10, format!("`{}` failed more often than its rounds", stage.name)));
            }
        }
        if let Phase::Holding { hold } = &run.phase
            && hold.allowed.is_empty()
        {
            found.push((16, "a hold that takes no decision".to_owned()));
        }
        for (rule, message) in found {
            self.broken(recorded, rule, message);
        }
    }
}
