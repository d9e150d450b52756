//! Rule 7 where the base has moved: the merged tree was proved by checks, or a person said yes to exactly this base.

use crate::{CommitId, Decision, Hold, HoldKind, Proof};

/// What is known of a base that moved under a run.
#[derive(Debug, Clone, Default)]
pub(super) struct Landing {
    /// The last one that was noted.
    moved: Option<CommitId>,
    /// The one a person said yes to.
    approved: Option<CommitId>,
    /// Whether checks passed since the merge was last asked for.
    proved: bool,
}

impl Landing {
    pub(super) fn moved(&mut self, base: &CommitId) {
        (self.moved, self.approved) = (Some(base.clone()), None);
    }

    pub(super) fn requested(&mut self) {
        self.proved = false;
    }

    pub(super) fn proved(&mut self, proof: &Proof) {
        self.proved = proof.passed() && !proof.checks.is_empty();
    }

    pub(super) fn decided(&mut self, hold: &Hold, decision: &Decision) {
        if hold.kind == HoldKind::Review && matches!(decision, Decision::Approve { .. }) {
            self.approved = self.moved.clone();
        }
    }

    /// A merge that is forced by name goes onto the base that was shown last.
    pub(super) fn forced(&mut self) {
        self.approved = self.moved.clone();
    }

    pub(super) fn covers(&self, base: &CommitId) -> bool {
        self.proved || self.approved.as_ref() == Some(base)
    }
}
