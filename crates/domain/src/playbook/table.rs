//! The transition table of a playbook: every way a run can go from one visible state to another, derived from the
//! stages alone. Knows nothing of `decide`; the exhaustive search shows that the two agree.

use std::collections::BTreeSet;

use super::{Playbook, Stage, StageGate, WhenStuck, Work};
use crate::{ArtifactKind, DecisionKind, Ending, HoldKind, Phase, Run};

/// One way from a state to another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transition {
    /// `opening`, a stage, `finishing`, or one of these with the hold it waits on: `planning: approval`.
    pub from: String,
    /// As `from`, or `completed`, `failed`, `cancelled`.
    pub to: String,
    /// What leads there.
    pub because: Because,
}

/// What leads from a state to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Because {
    /// What was being done came to an end, or what was decided leads on by itself.
    Work,
    /// A time ran out.
    Clock,
    /// A person decided so.
    Decided(&'static str),
    /// A person asked for a pause.
    Pause,
    /// A person said that an assumption was wrong.
    Overturn,
    /// A person cancelled.
    Cancel,
}

impl Because {
    /// For people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Work => "work ends",
            Self::Clock => "time runs out",
            Self::Decided(word) => word,
            Self::Pause => "pause",
            Self::Overturn => "overturn",
            Self::Cancel => "cancel",
        }
    }
}

/// Pairs of states a run may go between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edges(BTreeSet<(String, String)>);

impl Edges {
    pub(crate) fn contains(&self, from: &str, to: &str) -> bool {
        self.0.contains(&(from.to_owned(), to.to_owned()))
    }
}

impl Run {
    /// Where it stands, as the transition table names it.
    #[must_use]
    pub fn visible(&self) -> String {
        match &self.phase {
            Phase::Unopened => "unopened".to_owned(),
            Phase::Opening { .. } => OPENING.to_owned(),
            Phase::Working { stage, .. } | Phase::Publishing { stage, .. } | Phase::Delegating { stage } => {
                self.stage(*stage).name.clone()
            }
            Phase::Holding { hold } => held(hold.stage.as_deref().unwrap_or(FINISHING), hold.kind),
            Phase::Finishing { .. } => FINISHING.to_owned(),
            Phase::Ended { ending } => ended(*ending).to_owned(),
        }
    }
}

const OPENING: &str = "opening";
const FINISHING: &str = "finishing";

fn ended(ending: Ending) -> &'static str {
    match ending {
        Ending::Completed => "completed",
        Ending::Failed => "failed",
        Ending::Cancelled => "cancelled",
    }
}

fn held(place: &str, kind: HoldKind) -> String {
    format!("{place}: {}", kind.word())
}

impl Playbook {
    /// Every transition of a run of this playbook, whatever its configuration; `child` when it works for another run.
    #[must_use]
    pub fn table(&self, child: bool) -> Vec<Transition> {
        let mut table = Table { playbook: self, child, rows: BTreeSet::new() };
        table.add(OPENING, &self.stages[0].name, Because::Work);
        table.add(OPENING, ended(Ending::Failed), Because::Work);
        for index in 0..self.stages.len() {
            table.stage(index);
        }
        table.finish();
        table.overturns();
        table.forces();
        table.cancels();
        table.rows.into_iter().collect()
    }

    pub(crate) fn edges(&self, child: bool) -> Edges {
        Edges(self.table(child).into_iter().map(|row| (row.from, row.to)).collect())
    }
}

struct Table<'a> {
    playbook: &'a Playbook,
    child: bool,
    rows: BTreeSet<Transition>,
}

impl Table<'_> {
    fn add(&mut self, from: &str, to: &str, because: Because) {
        if from != to {
            self.rows.insert(Transition { from: from.to_owned(), to: to.to_owned(), because });
        }
    }

    /// From a hold of a stage, by a decision.
    fn on(&mut self, stage: &Stage, kind: HoldKind, decision: DecisionKind, to: &str) {
        self.add(&held(&stage.name, kind), to, Because::Decided(decision.word()));
    }

    /// A hold of a stage that its work leads to, and the decisions that lead back to work.
    fn hold(&mut self, stage: &Stage, kind: HoldKind, back: &[DecisionKind]) {
        self.add(&stage.name, &held(&stage.name, kind), Because::Work);
        for decision in back {
            self.on(stage, kind, *decision, &stage.name);
        }
    }

    fn stage(&mut self, index: usize) {
        let stage = &self.playbook.stages[index];
        let paused = held(&stage.name, HoldKind::Paused);
        self.add(&stage.name, &paused, Because::Pause);
        self.on(stage, HoldKind::Paused, DecisionKind::Resume, &stage.name);
        self.hold(stage, HoldKind::Stuck, &[DecisionKind::Retry]);
        if self.leaves_by_itself(index) {
            self.leave(index, &stage.name, Because::Work);
        }
        if stage.work.has_agent() {
            self.agent(index);
        }
        match &stage.work {
            Work::Converse { .. } => {
                self.hold(stage, HoldKind::Confirm, &[DecisionKind::Approve, DecisionKind::Answer]);
                // A pause that was asked for while what the person said yes to was being committed.
                self.add(&held(&stage.name, HoldKind::Confirm), &paused, Because::Pause);
            }
            Work::Judge { .. } | Work::Prove { .. } => self.verdicts(index),
            Work::Delegate { .. } => self.tasks(stage),
            Work::Pursue { .. } => self.pursuit(stage),
            Work::Produce { .. } => {}
        }
        self.gate(index);
        self.stuck(index);
    }

    /// What an agent's attempt can lead to besides what it shall make.
    fn agent(&mut self, index: usize) {
        use DecisionKind::{Answer, Approve, ApproveForRun, Extend, Ignore, Raise, Reject, Retry, Suggest};
        let stage = &self.playbook.stages[index];
        self.hold(stage, HoldKind::Permission, &[Approve, ApproveForRun, Reject, Suggest]);
        self.hold(stage, HoldKind::Timeout, &[Extend, Retry]);
        self.add(&stage.name, &held(&stage.name, HoldKind::Timeout), Because::Clock);
        self.hold(stage, HoldKind::Model, &[Retry]);
        self.hold(stage, HoldKind::Quota, &[Retry]);
        self.add(&held(&stage.name, HoldKind::Quota), &stage.name, Because::Clock);
        self.hold(stage, HoldKind::Budget, &[Approve, Raise, Retry]);
        self.add(&held(&stage.name, HoldKind::Budget), &stage.name, Because::Clock);
        self.hold(stage, HoldKind::Clarification, &[Answer, Ignore]);
        let asked = held(&stage.name, HoldKind::Clarification);
        self.add(&asked, &stage.name, Because::Clock);
        // Questions that ran out, or that nobody answered in time, become a full approval.
        self.hold(stage, HoldKind::Approval, &[Approve]);
        for because in [Because::Clock, Because::Decided(Answer.word()), Because::Decided(Ignore.word())] {
            self.add(&asked, &held(&stage.name, HoldKind::Approval), because);
        }
        if stage.revisions > 0 {
            self.on(stage, HoldKind::Approval, Reject, &stage.name);
        }
        if self.playbook.when_stuck == WhenStuck::Fail {
            self.add(&stage.name, ended(Ending::Failed), Because::Work);
        }
        self.attach(stage);
    }

    /// A person takes the conversation to a terminal of their own.
    fn attach(&mut self, stage: &Stage) {
        if !matches!(stage.work, Work::Produce { .. } | Work::Judge { .. }) {
            return;
        }
        let kinds = [
            HoldKind::Stuck,
            HoldKind::Clarification,
            HoldKind::Permission,
            HoldKind::Timeout,
            HoldKind::Model,
            HoldKind::Quota,
        ];
        for kind in kinds {
            self.add(&held(&stage.name, kind), &held(&stage.name, HoldKind::Paused), Because::Pause);
        }
    }

    /// A FAIL goes back by itself while there are rounds, or asks.
    fn verdicts(&mut self, index: usize) {
        let stage = &self.playbook.stages[index];
        let (Work::Judge { on_fail, fix_gate, .. } | Work::Prove { on_fail, fix_gate, .. }) = &stage.work else {
            return;
        };
        let fails = self.playbook.when_stuck == WhenStuck::Fail;
        let may_be_auto = matches!(fix_gate, StageGate::Auto | StageGate::Trust(_));
        let may_be_manual = !matches!(fix_gate, StageGate::Auto);
        if may_be_auto {
            self.add(&stage.name, on_fail, Because::Work);
        }
        if may_be_auto && fails {
            self.add(&stage.name, ended(Ending::Failed), Because::Work);
        }
        if may_be_manual || !fails {
            self.add(&stage.name, &held(&stage.name, HoldKind::Fix), Because::Work);
            self.on(stage, HoldKind::Fix, DecisionKind::Retry, on_fail);
            match (stage.gate == StageGate::Review, stage.revisions > 0) {
                (true, true) => self.on(stage, HoldKind::Fix, DecisionKind::Suggest, &stage.name),
                (true, false) => {}
                (false, _) => self.pass(index, HoldKind::Fix, DecisionKind::AcceptAnyway),
            }
        }
    }

    fn tasks(&mut self, stage: &Stage) {
        self.hold(stage, HoldKind::Conflict, &[DecisionKind::Retry, DecisionKind::Resolve]);
        self.hold(stage, HoldKind::Budget, &[DecisionKind::Approve, DecisionKind::Raise]);
        // A failed task ends the run where the policy says so.
        self.add(&stage.name, ended(Ending::Failed), Because::Work);
    }

    /// A goal that does not get on waits for a person, who may also ask about it.
    fn pursuit(&mut self, stage: &Stage) {
        use DecisionKind::{Approve, Ask, ModifyPlan, Reject, Suggest};
        self.hold(stage, HoldKind::Stuck, &[Approve, Reject, Suggest, ModifyPlan, Ask]);
        for because in [Because::Clock, Because::Pause] {
            self.add(&stage.name, &held(&stage.name, HoldKind::Stuck), because);
        }
        if stage.revisions > 0 {
            self.on(stage, HoldKind::Approval, ModifyPlan, &stage.name);
        }
    }

    /// What the stage made is looked at: always where the gate says so, and wherever policy or risk add a question.
    fn gate(&mut self, index: usize) {
        let stage = &self.playbook.stages[index];
        if matches!(stage.work, Work::Converse { .. }) {
            return;
        }
        let kind = if stage.gate == StageGate::Review { HoldKind::Review } else { HoldKind::Approval };
        self.add(&stage.name, &held(&stage.name, kind), Because::Work);
        self.pass(index, kind, DecisionKind::Approve);
        let back = stage.work.on_fail().unwrap_or(&stage.name);
        if stage.revisions > 0 {
            self.on(stage, kind, DecisionKind::Reject, back);
        }
        if kind == HoldKind::Review {
            return self.pass(index, kind, DecisionKind::CreatePr);
        }
        if stage.revisions > 0 {
            self.on(stage, kind, DecisionKind::Suggest, back);
        }
        if stage.work.has_agent() {
            self.on(stage, kind, DecisionKind::Ask, &stage.name);
            // An answer that does not come in time, or is not waited for, brings the same hold back.
            for because in [Because::Clock, Because::Pause] {
                self.add(&stage.name, &held(&stage.name, kind), because);
            }
        }
        if stage.work.artifact().is_some_and(ArtifactKind::can_be_written) || stage.work.may_delegate() {
            self.on(stage, kind, DecisionKind::ModifyPlan, &stage.name);
        }
    }

    fn stuck(&mut self, index: usize) {
        let stage = &self.playbook.stages[index];
        let made = stage.work.artifact();
        match (made.is_some(), stage.gate == StageGate::Review, stage.work.on_fail()) {
            (true, false, _) => self.pass(index, HoldKind::Stuck, DecisionKind::AcceptAnyway),
            (_, true, Some(back)) if stage.revisions > 0 => {
                self.on(stage, HoldKind::Stuck, DecisionKind::Reject, back);
            }
            (_, _, _) => {}
        }
        let delegates = matches!(stage.work, Work::Delegate { .. });
        if made.is_some_and(ArtifactKind::is_code) && !self.child && !delegates {
            self.on(stage, HoldKind::Stuck, DecisionKind::TakeOver, &stage.name);
        }
    }

    /// A decision that lets the stage pass: it is published first, except the last one and those of children.
    fn pass(&mut self, index: usize, kind: HoldKind, decision: DecisionKind) {
        let stage = &self.playbook.stages[index];
        let from = held(&stage.name, kind);
        let delegates = matches!(stage.work, Work::Delegate { .. });
        let last = index + 1 == self.playbook.stages.len();
        if delegates || !(last || self.child) {
            self.on(stage, kind, decision, &stage.name);
        } else {
            self.leave(index, &from, Because::Decided(decision.word()));
        }
    }

    /// Whether work alone leads out of the stage: by an open gate, by what a person wrote or did themselves, or because
    /// it is published after the yes.
    fn leaves_by_itself(&self, index: usize) -> bool {
        let stage = &self.playbook.stages[index];
        let opens = matches!(stage.gate, StageGate::Auto | StageGate::Trust(_));
        let delegates = matches!(stage.work, Work::Delegate { .. });
        let own = |kind: ArtifactKind| kind.can_be_written() || (kind.is_code() && !self.child);
        let published = !self.child && index + 1 < self.playbook.stages.len();
        opens || published || delegates || stage.work.artifact().is_some_and(own)
    }

    /// To the next stage, or to the end.
    fn leave(&mut self, index: usize, from: &str, because: Because) {
        match self.playbook.stages.get(index + 1) {
            Some(next) => self.add(from, &next.name, because),
            None => self.add(from, FINISHING, because),
        }
        if self.playbook.is_on_demand(index + 1) {
            self.leave(index + 1, from, because);
        }
    }

    fn finish(&mut self) {
        use DecisionKind::{Approve, CreatePr, Retry};
        let judged = self.playbook.stages.iter().any(|stage| stage.work.on_fail().is_some());
        let mut holds: Vec<(HoldKind, &[DecisionKind])> = Vec::new();
        // A child only cleans up, and a clean-up that fails holds nobody.
        if !self.child {
            holds.extend([(HoldKind::Stuck, &[Retry][..]), (HoldKind::Credentials, &[Retry][..])]);
            // What is to be merged or pushed may hold what looks like secrets.
            holds.push((HoldKind::Permission, &[Approve]));
        }
        if !self.child && judged {
            holds.push((HoldKind::Conflict, &[Retry]));
        }
        // Who comes from a review was asked where it goes.
        let asked = self.playbook.stages.last().is_some_and(|stage| stage.gate == StageGate::Review);
        // One that judges nothing is pushed, and waits for that where it has read text of strangers. One that is merged waits
        // where the base has moved meanwhile.
        if !self.child && (!asked || judged) {
            holds.push((HoldKind::Review, &[Approve, CreatePr]));
        }
        for (kind, back) in holds {
            self.add(FINISHING, &held(FINISHING, kind), Because::Work);
            for decision in back {
                self.add(&held(FINISHING, kind), FINISHING, Because::Decided(decision.word()));
            }
        }
        self.add(FINISHING, ended(Ending::Completed), Because::Work);
    }

    /// What was assumed in a stage can be taken back from everywhere behind it, until the work is being merged.
    fn overturns(&mut self) {
        for (target, _) in self.playbook.stages.iter().enumerate().filter(|(_, stage)| stage.work.has_agent()) {
            let place = |state: &str| state.split(": ").next().unwrap_or_default().to_owned();
            let behind = |state: &str| match self.playbook.index_of(&place(state)) {
                Some(index) => index >= target,
                None => state.starts_with(&format!("{FINISHING}: ")),
            };
            let from: Vec<String> = self.states().into_iter().filter(|state| behind(state)).collect();
            let to = self.playbook.stages[target].name.clone();
            from.iter().for_each(|state| self.add(state, &to, Because::Overturn));
        }
    }

    /// What was handed over may be merged before it was reviewed, from wherever nothing is half done.
    fn forces(&mut self) {
        if self.child || !self.playbook.may_be_forced() {
            return;
        }
        let place = |state: &str| state.split(": ").next().unwrap_or_default().to_owned();
        let plain = |state: &String| {
            let index = self.playbook.index_of(&place(state));
            index.is_some_and(|index| !matches!(self.playbook.stages[index].work, Work::Delegate { .. }))
        };
        for state in self.states().into_iter().filter(plain).collect::<Vec<_>>() {
            self.add(&state, FINISHING, Because::Decided("force_merge"));
        }
    }

    fn cancels(&mut self) {
        for state in self.states() {
            self.add(&state, ended(Ending::Cancelled), Because::Cancel);
        }
    }

    /// All states a run can leave.
    fn states(&self) -> BTreeSet<String> {
        self.rows.iter().map(|row| row.from.clone()).collect()
    }
}
