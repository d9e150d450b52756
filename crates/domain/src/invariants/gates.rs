//! Rule 6: a stage is done only when its gate was passed, and begins only after the one before is done.

use super::Checker;
use crate::{Decision, Gate, Hold, HoldKind, Recorded, Work};

impl Checker {
    /// What a decision means for the gate of the stage it was made in.
    pub(super) fn said(&mut self, hold: &Hold, decision: &Decision) {
        let Some(stage) = hold.stage.clone() else { return };
        match decision {
            // Yes to a question, a tool call, more money or another iteration is no yes to what the stage makes.
            Decision::Approve { .. } if hold.kind == HoldKind::Confirm => self.own_version(stage),
            Decision::Approve { .. } if hold.question.is_some() || !is_of_work(hold.kind) => {}
            Decision::Approve { .. } | Decision::AcceptAnyway { .. } | Decision::CreatePr => {
                self.seen.open_gates.insert(stage);
            }
            Decision::ModifyPlan { .. } | Decision::TakeOver => self.own_version(stage),
            Decision::Reject { .. }
            | Decision::Suggest { .. }
            | Decision::Ask { .. }
            | Decision::Answer { .. }
            | Decision::Ignore
            | Decision::Retry { .. }
            | Decision::ApproveForRun
            | Decision::Extend { .. }
            | Decision::Raise { .. }
            | Decision::Resolve
            | Decision::Resume
            | Decision::Cancel { .. } => {}
        }
    }

    fn own_version(&mut self, stage: String) {
        self.seen.own_versions.insert(stage);
    }

    /// A new version needs a new yes, except a person's own.
    pub(super) fn made(&mut self, stage: &str) {
        if self.seen.own_versions.remove(stage) {
            self.seen.open_gates.insert(stage.to_owned());
        } else {
            self.seen.open_gates.remove(stage);
        }
    }

    pub(super) fn stage_started(&mut self, recorded: &Recorded, stage: &str, visit: u32) {
        let Some(index) = self.run.opened().playbook.index_of(stage) else {
            return self.broken(recorded, 1, format!("there is no stage `{stage}`"));
        };
        if visit != self.run.stages[index].visits + 1 {
            self.broken(recorded, 3, format!("visit {visit} of `{stage}` follows {}", self.run.stages[index].visits));
        }
        let idle = self.run.tasks.iter().all(|task| task.status.is_settled());
        let unneeded = |index: usize| idle && self.run.opened().playbook.is_on_demand(index);
        let done = |index: usize| self.run.stages[index].completed_at.is_some() || unneeded(index);
        if !(0..index).all(done) {
            self.broken(recorded, 6, format!("`{stage}` began before the stages before it were done"));
        }
        self.seen.open_gates.remove(stage);
        self.seen.own_versions.remove(stage);
    }

    pub(super) fn stage_completed(&mut self, recorded: &Recorded, stage: &str) {
        let Some(index) = self.run.opened().playbook.index_of(stage) else {
            return self.broken(recorded, 1, format!("there is no stage `{stage}`"));
        };
        let (stage, config) = (self.run.stage(index), &self.run.opened().config);
        let risky = self.run.artifacts.last().is_some_and(|made| made.stage == stage.name && !made.risks.is_empty());
        let required = config.require_approval.contains(&stage.name);
        let manual = stage.gate.resolve(&config.trust) == Gate::Manual || required || risky;
        let skipped = matches!(stage.work, Work::Converse { .. }) && config.skip_clarification;
        if manual && !skipped && !self.seen.open_gates.contains(&stage.name) {
            let message = format!("`{}` was left without a yes to what it made", stage.name);
            self.broken(recorded, 6, message);
        }
    }
}

/// Whether a hold of this kind shows what a stage made.
fn is_of_work(kind: HoldKind) -> bool {
    match kind {
        HoldKind::Approval | HoldKind::Review | HoldKind::Confirm | HoldKind::Fix => true,
        HoldKind::Clarification
        | HoldKind::Permission
        | HoldKind::Timeout
        | HoldKind::Model
        | HoldKind::Quota
        | HoldKind::Budget
        | HoldKind::Conflict
        | HoldKind::Credentials
        | HoldKind::Stuck
        | HoldKind::Paused => false,
    }
}
