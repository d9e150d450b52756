//! The checker: one list of rules, used by the property tests, the crash tests and `holdpoint verify`.

use std::collections::{BTreeMap, BTreeSet};

use crate::evolve::advance;
use crate::{DecisionKind, Effect, Event, HoldId, Phase, Recorded, Run, RunId, TaskStatus, Work};

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
    // Stages a person let pass without a plain approval: with their own version, or as they were.
    let_pass: BTreeSet<String>,
    done_children: BTreeSet<String>,
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
            | Event::ClarificationAnswered { hold, digest, by, .. } => {
                self.used(recorded, *hold, digest.as_str(), &by.name);
            }
            Event::DecisionMade { hold, digest, by, decision } => {
                self.used(recorded, *hold, digest.as_str(), &by.name);
                let stage = self.run.hold().and_then(|hold| hold.stage.clone());
                if let (Some(stage), true) = (stage, lets_pass(decision.kind())) {
                    self.seen.let_pass.insert(stage);
                }
            }
            Event::BranchMerged { validated, .. } => {
                if self.run.validated.as_ref() != Some(validated) {
                    self.broken(recorded, 7, format!("merged although not every gate passed for {validated}"));
                }
            }
            Event::ChildEnded { task, ending, .. } => {
                if *ending == crate::Ending::Completed {
                    self.seen.done_children.insert(task.clone());
                }
            }
            Event::ChildMerged { task, .. } => {
                if !self.seen.done_children.remove(task) {
                    self.broken(recorded, 7, format!("task `{task}` was merged although its run did not end well"));
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
            | Event::DeadlinePassed { .. }
            | Event::AssumptionMade { .. }
            | Event::AssumptionOverturned { .. }
            | Event::PauseAsked { .. }
            | Event::ConversationAdvanced { .. }
            | Event::AgentAnswered { .. }
            | Event::TasksPlanned { .. }
            | Event::TaskAdded { .. }
            | Event::ChildStarted { .. }
            | Event::ChildConflicted { .. }
            | Event::TaskRetried { .. }
            | Event::TaskFailed { .. }
            | Event::TaskSkipped { .. }
            | Event::TaskStrayed { .. }
            | Event::PulseCompleted { .. }
            | Event::ReflectionRecorded { .. }
            | Event::PrOpened { .. }
            | Event::AutoAdvanced { .. }
            | Event::AgentCrashed { .. }
            | Event::ImplementationSucceeded { .. }
            | Event::ImplementationFailed { .. }
            | Event::ProofRecorded { .. }
            | Event::ValidationPassed { .. }
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
                | Event::EffectRequested {
                    effect: Effect::CleanUp | Effect::TellParent | Effect::TellChild { .. },
                    ..
                }
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
        if let Effect::StartChild(child) = effect {
            self.child_wanted(recorded, child);
        }
    }

    /// Rules 9, 14 and 18: a task starts when what it depends on is merged, there is room, and money.
    fn child_wanted(&mut self, recorded: &Recorded, child: &crate::ChildTask) {
        let Some(state) = self.run.task(&child.task) else {
            return self.broken(recorded, 18, format!("there is no task `{}`", child.task));
        };
        let unmet = state
            .task
            .depends_on
            .iter()
            .find(|id| self.run.task(id).is_none_or(|other| other.status != TaskStatus::Merged));
        let unmet = unmet.cloned();
        let Some(index) = self.run.current_stage() else {
            return self.broken(recorded, 18, format!("task `{}` started outside of any stage", child.task));
        };
        let Work::Delegate { agents, .. } = self.run.stage(index).work else {
            return self.broken(
                recorded,
                18,
                format!("task `{}` started in a stage that does not delegate", child.task),
            );
        };
        let busy = self.run.tasks.iter().filter(|task| task.status.has_child()).count();
        let given = child.budget;
        if let Some(id) = unmet {
            self.broken(recorded, 18, format!("task `{}` started before `{id}` was merged", child.task));
        }
        if busy >= usize::try_from(agents).unwrap_or(usize::MAX) {
            self.broken(recorded, 14, format!("task `{}` started although {agents} agents are at work", child.task));
        }
        if let Some(left) = self.run.envelope()
            && given.is_none_or(|given| given > left)
        {
            self.broken(recorded, 9, format!("task `{}` was given more than is left", child.task));
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
        let config = &self.run.opened().config;
        let required = config.require_approval.contains(&stage.name);
        let manual = stage.gate.resolve(&config.trust) == crate::Gate::Manual || required;
        let skipped = matches!(stage.work, Work::Converse { .. }) && config.skip_clarification;
        let let_pass = self.seen.let_pass.remove(&stage.name) || skipped;
        let made = self.run.artifacts.iter().rev().find(|artifact| artifact.stage == stage.name);
        let approved = made.is_some_and(|made| self.seen.approved_commits.contains(made.commit.as_str()));
        if manual && !approved && !let_pass {
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
            if let Some(rounds) = stage.work.rounds()
                && state.fails > rounds + state.rounds_granted + 1
            {
                found.push((10, format!("`{}` failed more often than its rounds", stage.name)));
            }
            if let Work::Pursue { iterations } = &stage.work
                && state.iterations > iterations + state.iterations_granted
            {
                found.push((10, format!("`{}` went on longer than its iterations", stage.name)));
            }
            if let Work::Converse { rounds } = &stage.work
                && state.turns > run.opened().config.max_clarification_rounds.unwrap_or(*rounds).max(1)
            {
                found.push((10, format!("`{}` talked longer than its rounds", stage.name)));
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

/// Decisions by which a person lets a stage pass without a plain approval.
fn lets_pass(kind: DecisionKind) -> bool {
    match kind {
        DecisionKind::Approve
        | DecisionKind::ModifyPlan
        | DecisionKind::AcceptAnyway
        | DecisionKind::CreatePr
        | DecisionKind::TakeOver => true,
        DecisionKind::Reject
        | DecisionKind::Suggest
        | DecisionKind::Ask
        | DecisionKind::Answer
        | DecisionKind::Ignore
        | DecisionKind::Retry
        | DecisionKind::Extend
        | DecisionKind::Raise
        | DecisionKind::Resolve
        | DecisionKind::Resume
        | DecisionKind::Cancel => false,
    }
}
