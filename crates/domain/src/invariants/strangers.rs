//! Rule 22: what was made by who read text of strangers goes nowhere before a person said yes to exactly it, knowing of
//! that text; except where the user said on record that the source is trusted.

use super::Checker;
use crate::{Artifact, CommitId, Decision, Hold, HoldKind, Recorded, TaintSource};

/// What is known of strangers and of the last look at the work.
#[derive(Debug, Clone, Default)]
pub(super) struct Strangers {
    sources: Vec<TaintSource>,
    /// The newest code when a person said yes; the outer `None`: nobody has since the last text was read.
    looked: Option<Option<CommitId>>,
}

impl Checker {
    pub(super) fn brought(&mut self, source: &TaintSource, trusted: bool) {
        if !trusted {
            self.seen.strangers.sources.push(source.clone());
            self.seen.strangers.looked = None;
        }
    }

    pub(super) fn tainted(&mut self, recorded: &Recorded, source: &TaintSource) {
        if self.run.taints.iter().any(|taint| taint.source == *source) {
            self.broken(recorded, 22, format!("{} was noted twice", source.words()));
        }
        let trusted = self.run.opened().config.trusts(source);
        self.brought(source, trusted);
    }

    /// A decision on a hold: only a yes to the work itself is a look at it.
    pub(super) fn looked(&mut self, hold: &Hold, decision: &Decision) {
        let newest = self.run.code().map(|code| code.commit.clone());
        let code = |made: &&Artifact| made.kind.is_code();
        match (hold.kind, decision) {
            (HoldKind::Review, Decision::Approve { .. } | Decision::CreatePr) => {
                self.seen.strangers.looked = Some(newest);
            }
            (HoldKind::Approval, Decision::Approve { .. }) => {
                if let Some(made) = hold.artifact.as_ref().filter(code) {
                    self.seen.strangers.looked = Some(Some(made.commit.clone()));
                }
            }
            (_, _) => {}
        }
    }

    pub(super) fn looked_at(&mut self, commit: &CommitId) {
        self.seen.strangers.looked = Some(Some(commit.clone()));
    }

    /// The work leaves its branch, or is about to.
    pub(super) fn goes_out(&mut self, recorded: &Recorded, what: &str) {
        let newest = self.run.code().map(|code| code.commit.clone());
        let strangers = &self.seen.strangers;
        if !strangers.sources.is_empty() && strangers.looked != Some(newest) {
            let names: Vec<String> = strangers.sources.iter().map(TaintSource::words).collect();
            let message = format!("{what} although it has read {} and nobody has looked", names.join(", "));
            self.broken(recorded, 22, message);
        }
    }
}
