//! Rule 24: work with what looks like secrets in it is neither committed, merged nor pushed before a person decided on
//! exactly that: allowed it, sent it back, or took the work over.

use super::Checker;
use crate::{Artifact, Hold, Recorded};

/// What waits for a word about secrets.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets {
    /// The stage whose work is not committed; the inner `None`: nothing leaves the branch.
    blocked: Option<Option<String>>,
}

impl Secrets {
    pub(super) fn placed(&mut self, hold: &Hold) {
        if !hold.findings.is_empty() {
            self.blocked = Some(hold.stage.clone());
        }
    }

    pub(super) fn decided(&mut self, hold: &Hold) {
        if !hold.findings.is_empty() {
            self.blocked = None;
        }
    }

    /// The work is begun anew, or is a person's now: what an agent hands in after that is looked at again.
    pub(super) fn left(&mut self) {
        self.blocked = None;
    }
}

impl Checker {
    pub(super) fn committed(&mut self, recorded: &Recorded, artifact: &Artifact) {
        let blocked = self.seen.secrets.blocked.as_ref().is_some_and(|stage| stage.as_ref() == Some(&artifact.stage));
        if blocked && artifact.kind.is_code() {
            self.broken(recorded, 24, "work with what looks like secrets was committed before anybody allowed it");
        }
    }

    /// `what`: merged, or pushed.
    pub(super) fn left_branch(&mut self, recorded: &Recorded, what: &str) {
        if self.seen.secrets.blocked == Some(None) {
            let message = format!("commits with what looks like secrets were {what} before anybody allowed it");
            self.broken(recorded, 24, message);
        }
    }
}
