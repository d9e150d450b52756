//! The checker: one list of rules, used by the exhaustive search, the property tests, the simulation, the crash tests
//! and `holdpoint verify`. Only reads logs; the numbers are those of ARCHITECTURE.md.

mod caps;
mod family;
mod forks;
mod gates;
mod landing;
mod secrets;
mod strangers;
mod tasks;

use std::collections::{BTreeMap, BTreeSet};

use crate::evolve::advance;
use crate::playbook::Edges;
use crate::{Actor, CommitId, Decision, Digest, Effect, Event, Hold, HoldId, MemoryEntry, Recorded, Run, RunId};

pub use family::check_family;
pub use forks::check_fork;

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
    let mut checker = Checker::new(id.clone());
    log.iter().for_each(|recorded| checker.take(recorded));
    checker.found
}

/// The rules, event by event.
#[derive(Debug, Clone)]
pub struct Checker {
    /// The run as its log stands.
    pub run: Run,
    /// What was found so far.
    pub found: Vec<Violation>,
    seen: Seen,
}

#[derive(Debug, Clone, Default)]
struct Seen {
    landing: landing::Landing,
    // The memory entry in the newest record.
    memory: Option<Digest>,
    edges: Option<std::sync::Arc<Edges>>,
    finished: BTreeSet<u32>,
    requested: BTreeMap<u32, &'static str>,
    fired: BTreeSet<HoldId>,
    used: BTreeSet<HoldId>,
    stopped: BTreeSet<u32>,
    // Stages of which a person said yes to what is there now.
    open_gates: BTreeSet<String>,
    // Stages whose next version is a person's own.
    own_versions: BTreeSet<String>,
    done_children: BTreeSet<String>,
    children: BTreeSet<RunId>,
    // What a person said shall be merged whatever the gates say.
    forced: Option<CommitId>,
    strangers: strangers::Strangers,
    secrets: secrets::Secrets,
    forks: forks::Forks,
}

impl Checker {
    /// Before the first event.
    #[must_use]
    pub fn new(id: RunId) -> Self {
        Self { run: Run::unopened(id), found: Vec::new(), seen: Seen::default() }
    }

    /// Takes in the next event.
    pub fn take(&mut self, recorded: &Recorded) {
        if recorded.sequence != self.run.version + 1 {
            let message = format!("event {} follows {}", recorded.sequence, self.run.version);
            self.broken(recorded, 3, message);
        }
        if matches!(recorded.event, Event::RunStarted { .. }) != (self.run.version == 0) {
            return self.broken(recorded, 1, "a log begins with RUN_STARTED, and only begins with it");
        }
        if self.run.is_ended() {
            self.after_the_end(recorded);
        }
        self.due(recorded);
        self.before(recorded);
        let from = self.run.visible();
        advance(&mut self.run, recorded);
        self.moved(recorded, &from);
        self.caps(recorded);
    }

    fn broken(&mut self, recorded: &Recorded, rule: u8, message: impl Into<String>) {
        self.found.push(Violation { sequence: recorded.sequence, rule, message: message.into() });
    }

    /// Rule 1: only what the playbook's table has.
    fn moved(&mut self, recorded: &Recorded, from: &str) {
        if let Event::RunStarted { playbook, parent, .. } = &recorded.event {
            self.seen.edges = Some(std::sync::Arc::new(playbook.edges(parent.is_some())));
        }
        let to = self.run.visible();
        let known = self.seen.edges.as_ref().is_none_or(|edges| edges.contains(from, &to));
        let known = known || self.seen.forks.moves(&recorded.event, &to);
        if from != to && from != "unopened" && !known {
            self.broken(recorded, 1, format!("it went from `{from}` to `{to}`"));
        }
    }

    fn before(&mut self, recorded: &Recorded) {
        match &recorded.event {
            Event::EffectRequested { number, effect } => self.requested(recorded, *number, effect),
            Event::EffectFinished { number, .. } => self.finished(recorded, *number),
            Event::ApprovalGranted { hold, digest, by, notes, .. } => {
                let approve = Decision::Approve { notes: notes.clone() };
                self.used(recorded, *hold, digest.as_str(), by, &approve);
            }
            Event::ApprovalRejected { hold, digest, by, decision }
            | Event::ClarificationAnswered { hold, digest, by, decision, .. }
            | Event::DecisionMade { hold, digest, by, decision } => {
                self.used(recorded, *hold, digest.as_str(), by, decision);
            }
            Event::ApprovalRequested { hold, .. }
            | Event::ClarificationRequested { hold, .. }
            | Event::HoldPlaced { hold } => self.placed(recorded, hold),
            Event::DeadlinePassed { hold, .. } => self.fired(recorded, *hold),
            Event::RecordWritten { memory, .. } => self.seen.memory.clone_from(memory),
            Event::BaseMoved { base } => self.seen.landing.moved(base),
            Event::ProofRecorded { proof } => self.seen.landing.proved(proof),
            Event::BranchMerged { validated, onto, .. } => {
                if !self.passed_all(validated) {
                    self.broken(recorded, 7, format!("merged although not every gate passed for {validated}"));
                }
                if let Some(base) = onto
                    && !self.seen.landing.covers(base)
                {
                    self.broken(
                        recorded,
                        7,
                        format!("merged onto the moved base {base} without a proof or a yes to it"),
                    );
                }
                self.left_branch(recorded, "merged");
                self.goes_out(recorded, "merged");
            }
            Event::SpendRecorded { effect, call, .. } => {
                if self.run.spend.counted.get(effect).is_some_and(|counted| call <= counted) {
                    self.broken(recorded, 9, format!("call {call} of effect {effect} counted twice"));
                }
            }
            Event::GoalPhaseEntered { effect, step, .. }
            | Event::GoalTasksPlanned { effect, step, .. }
            | Event::GoalTaskUpdated { effect, step, .. } => self.pursued(recorded, *effect, *step),
            Event::StageStarted { stage, visit } => {
                self.seen.secrets.left();
                self.stage_started(recorded, stage, *visit);
            }
            Event::AutoAdvanced { stage, .. } => self.advanced(recorded, stage),
            Event::StageCompleted { stage } => self.stage_completed(recorded, stage),
            Event::ArtifactCreated { artifact, .. } => {
                self.committed(recorded, artifact);
                self.made(&artifact.stage);
            }
            Event::AssumptionOverturned { by, .. }
            | Event::GuidanceGiven { by, .. }
            | Event::PauseAsked { by, .. }
            | Event::RunCancelled { by, .. } => self.named(recorded, by),
            Event::SessionTaken { by, .. } => {
                self.seen.secrets.left();
                self.named(recorded, by);
            }
            Event::RunStarted { by, config, forked_from, .. } => {
                self.named(recorded, by);
                self.seen.forks.comes_from(forked_from.as_ref());
                for brought in &config.from {
                    self.brought(&brought.source, config.trusts(&brought.source));
                }
            }
            Event::RunForked { from, at, by, .. } => self.forked(recorded, from, *at, by),
            Event::RunTainted { source, .. } => self.tainted(recorded, source),
            Event::BranchPushed { .. } => {
                self.left_branch(recorded, "pushed");
                self.goes_out(recorded, "pushed");
            }
            Event::PrOpened { .. } => self.goes_out(recorded, "offered as a pull request"),
            Event::MergeForced { commit, by, .. } => {
                self.named(recorded, by);
                self.seen.forced = Some(commit.clone());
                self.seen.landing.forced();
                self.looked_at(commit);
            }
            Event::ChildStarted { .. }
            | Event::ChildEnded { .. }
            | Event::ChildMerged { .. }
            | Event::TaskAdded { .. }
            | Event::TaskRetried { .. }
            | Event::TaskFailed { .. }
            | Event::TaskSkipped { .. }
            | Event::TasksPlanned { .. } => self.task_event(recorded),
            Event::BranchCreated { .. }
            | Event::ForkOpened { .. }
            | Event::AssumptionMade { .. }
            | Event::ConversationAdvanced { .. }
            | Event::AgentAnswered { .. }
            | Event::ChildConflicted { .. }
            | Event::TaskStrayed { .. }
            | Event::PulseCompleted { .. }
            | Event::ReflectionRecorded { .. }
            | Event::AgentCrashed { .. }
            | Event::ImplementationSucceeded { .. }
            | Event::ImplementationFailed { .. }
            | Event::ValidationPassed { .. }
            | Event::ValidationFailed { .. }
            | Event::BranchPublished { .. }
            | Event::RunCompleted { .. }
            | Event::RunFailed { .. } => {}
        }
    }

    /// Rules 2 and 15: after the end only clean-up, words to other runs, and the counting of money.
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
        self.seen.requested.insert(number, effect.word());
        if matches!(effect, Effect::PushRemote { .. }) {
            self.left_branch(recorded, "pushed");
        }
        if matches!(effect, Effect::Land(_)) {
            self.left_branch(recorded, "merged");
        }
        if let Effect::StopAgent { target } = effect {
            self.seen.stopped.insert(*target);
        }
        if effect.works() && self.run.open_effects.values().any(Effect::works) {
            self.broken(recorded, 13, "two attempts at once");
        }
        if let Effect::RunAgent(task) = effect
            && let Some(left) = self.run.envelope()
            && task.envelope.is_none_or(|envelope| envelope > left)
        {
            self.broken(recorded, 9, "an agent was given more than is left");
        }
        if let Effect::Land(policy) = effect
            && !self.passed_all(&policy.validated)
        {
            self.broken(recorded, 7, "a merge of what not every gate passed for was wanted");
        }
        if let Effect::Land(policy) = effect {
            self.seen.landing.requested();
            if let Some(base) = &policy.onto
                && !self.seen.landing.covers(base)
            {
                self.broken(recorded, 7, format!("a merge onto the moved base {base} was wanted without a yes to it"));
            }
        }
        if let Effect::PushRemote { ask: false, .. } = effect
            && self.run.opened().config.git.ask_push
            && !self.run.is_signed_off()
        {
            self.broken(recorded, 7, "a push of code that nobody said yes to was wanted");
        }
        if matches!(effect, Effect::Land(_) | Effect::PushRemote { .. } | Effect::OpenPullRequest { .. }) {
            self.goes_out(recorded, effect.word());
            self.memory_goes_out(recorded);
            if self.run.doubted_tests().is_some() {
                self.broken(recorded, 7, format!("{} although changed tests fail as they were before", effect.word()));
            }
        }
        if let Effect::StartChild(child) = effect {
            self.child_wanted(recorded, child);
        }
        if let Effect::MergeChild(merge) = effect {
            self.merge_wanted(recorded, merge);
        }
    }

    /// Rule 7: the memory entry that leaves the branch is the one a person approved together with the code.
    fn memory_goes_out(&mut self, recorded: &Recorded) {
        let approved = self.run.looked.as_ref().filter(|_| self.run.is_signed_off());
        let approved = approved.and_then(|look| look.memory.as_ref()).map(MemoryEntry::digest);
        if let (Some(approved), Some(written)) = (approved, &self.seen.memory)
            && approved != *written
        {
            self.broken(recorded, 7, "the memory entry in the record is not the one that was approved");
        }
    }

    /// Rule 7, counted anew: the newest code is this commit, and every stage that judges or proves passed for it, or a
    /// person said by name that exactly this commit shall be merged.
    fn passed_all(&self, commit: &CommitId) -> bool {
        let gates = self.run.opened().playbook.stages.iter().zip(&self.run.stages);
        let mut gates = gates.filter(|(stage, _)| stage.work.on_fail().is_some()).peekable();
        let newest = self.run.code().is_some_and(|code| code.commit == *commit);
        let passed = gates.peek().is_some() && gates.all(|(_, state)| state.passed_for.as_ref() == Some(commit));
        newest && (passed || self.seen.forced.as_ref() == Some(commit))
    }

    /// Rules 11 and 13: an effect ends once, and not after it was taken back.
    fn finished(&mut self, recorded: &Recorded, number: u32) {
        if !self.seen.requested.contains_key(&number) {
            self.broken(recorded, 11, format!("effect {number} finished without being asked for"));
        }
        if !self.seen.finished.insert(number) {
            self.broken(recorded, 11, format!("effect {number} finished twice"));
        }
        if self.seen.stopped.contains(&number) || !self.run.open_effects.contains_key(&number) {
            self.broken(recorded, 13, format!("effect {number} finished although it was taken back"));
        }
    }

    /// Rules 11 and 13: a step is taken in once, and only while its agent works.
    fn pursued(&mut self, recorded: &Recorded, effect: u32, step: u32) {
        if effect == 0 {
            return;
        }
        if !self.run.open_effects.contains_key(&effect) {
            self.broken(recorded, 13, format!("effect {effect} goes on although it is not open"));
        }
        if self.run.goal.counted.is_some_and(|counted| counted >= (effect, step)) {
            self.broken(recorded, 11, format!("step {step} of effect {effect} was taken in twice"));
        }
    }

    /// Rules 5 and 20.
    fn used(&mut self, recorded: &Recorded, hold: HoldId, digest: &str, by: &Actor, decision: &Decision) {
        self.named(recorded, by);
        if !self.seen.used.insert(hold) {
            self.broken(recorded, 5, format!("hold {hold} was decided twice"));
        }
        let Some(current) = self.run.hold().cloned() else {
            return self.broken(recorded, 5, "a decision was used although nobody was asked");
        };
        if current.id != hold || current.digest.as_str() != digest {
            self.broken(recorded, 5, "a decision for another hold or another digest was used");
        }
        if !current.allowed.contains(&decision.kind()) {
            self.broken(recorded, 5, format!("the hold does not take `{}`", decision.kind().word()));
        }
        self.said(&current, decision);
        self.looked(&current, decision);
        self.seen.landing.decided(&current, decision);
        self.seen.secrets.decided(&current);
    }

    fn named(&mut self, recorded: &Recorded, by: &Actor) {
        if by.name.is_empty() || by.channel.is_empty() {
            self.broken(recorded, 20, "a decision without a name or a channel");
        }
    }

    /// Rule 16, and that nobody works while a person is waited for.
    fn placed(&mut self, recorded: &Recorded, hold: &Hold) {
        self.seen.secrets.placed(hold);
        if hold.allowed.is_empty() {
            self.broken(recorded, 16, "a hold that takes no decision");
        }
        if hold.id.0 != recorded.sequence {
            self.broken(recorded, 5, "a hold is named by the event that placed it");
        }
        if self.run.open_effects.values().any(Effect::works) {
            self.broken(recorded, 13, "a person is asked while the stage is worked on");
        }
    }

    /// Rule 21: a deadline comes once, to the hold it was set for.
    fn fired(&mut self, recorded: &Recorded, hold: HoldId) {
        let current = self.run.hold().is_some_and(|current| current.id == hold && current.deadline.is_some());
        if !self.seen.fired.insert(hold) || !current {
            self.broken(recorded, 21, format!("the deadline of hold {hold} came twice, or to another hold"));
        }
    }
}
