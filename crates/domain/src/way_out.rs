//! Where finished work goes: the one decision that merges a run or offers it as a pull request, or why there is none
//! now. Decides nothing itself.

use crate::{Decision, DecisionKind, Effect, Hold, HoldKind, Run};

/// Where a person wants the work to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WayOut {
    /// Into the base branch.
    Merge,
    /// To the remote, as a pull request.
    PullRequest,
}

/// Why no decision leads there now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoWayOut {
    /// It is merged.
    #[error("it is merged already, as {0}")]
    Merged(String),
    /// It has a pull request.
    #[error("it has a pull request already: {0}")]
    Offered(String),
    /// It has ended without either.
    #[error("the run has ended, and its work stayed on the branch `{0}`")]
    Ended(String),
    /// It works, or does what was said.
    #[error("the run waits for nobody: what would be merged is not shown yet")]
    AtWork,
    /// It waits for something else.
    #[error("the run waits on `{}`, which is not about where its work goes", .kind.word())]
    OtherHold {
        /// What it waits on.
        kind: HoldKind,
        /// What that takes.
        takes: Vec<DecisionKind>,
    },
    /// It waits for a person's look, but not every gate passed, or a yes would only push it.
    #[error("what the run shows cannot be merged: {0}")]
    NotMergeable(&'static str),
}

impl WayOut {
    /// The decision that leads there, for the hold the run waits on.
    ///
    /// # Errors
    /// When no decision leads there now.
    pub fn decision(self, run: &Run) -> Result<Decision, NoWayOut> {
        let hold = run.hold().ok_or_else(|| without_hold(run))?;
        let decision = match (hold.kind, self) {
            (HoldKind::Review, Self::PullRequest) => Decision::CreatePr,
            (HoldKind::Review, Self::Merge) => {
                check_merge(run, hold)?;
                Decision::Approve { notes: None }
            }
            // It was said already and did not work out: the same wish tries again.
            (_, _) if hold.stage.is_none() && self.was_tried(run) => Decision::Retry { feedback: None, model: None },
            (kind, _) => return Err(NoWayOut::OtherHold { kind, takes: hold.allowed.clone() }),
        };
        if hold.allowed.contains(&decision.kind()) {
            Ok(decision)
        } else {
            Err(NoWayOut::OtherHold { kind: hold.kind, takes: hold.allowed.clone() })
        }
    }

    fn was_tried(self, run: &Run) -> bool {
        match (self, &run.failed_effect) {
            (Self::Merge, Some(Effect::Land(_))) => true,
            (Self::PullRequest, Some(Effect::PushRemote { .. } | Effect::OpenPullRequest { .. })) => true,
            (Self::PullRequest, None) => run.wants_pr,
            (Self::Merge | Self::PullRequest, _) => false,
        }
    }
}

fn check_merge(run: &Run, hold: &Hold) -> Result<(), NoWayOut> {
    if run.validated.is_none() {
        return Err(NoWayOut::NotMergeable("not every gate passed for it"));
    }
    if hold.stage.is_none() && !run.merges() {
        return Err(NoWayOut::NotMergeable("the run was started to be pushed, and a yes means that"));
    }
    Ok(())
}

fn without_hold(run: &Run) -> NoWayOut {
    match (&run.merged, &run.pull_request) {
        (Some(commit), _) => NoWayOut::Merged(commit.to_string()),
        (None, Some(url)) => NoWayOut::Offered(url.clone()),
        (None, None) if run.is_ended() => NoWayOut::Ended(run.opened().branch.clone()),
        (None, None) => NoWayOut::AtWork,
    }
}

impl NoWayOut {
    /// A word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Merged(_) => "already_merged",
            Self::Offered(_) => "already_offered",
            Self::Ended(_) => "already_ended",
            Self::AtWork => "no_hold",
            Self::OtherHold { .. } => "other_hold",
            Self::NotMergeable(_) => "not_mergeable",
        }
    }

    /// What can be done instead.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Merged(_) | Self::Offered(_) => "there is nothing left to do".to_owned(),
            Self::Ended(branch) => format!(
                "merge it in your own repository (`git merge {branch}`); start runs with `review` to be asked in time"
            ),
            Self::AtWork => {
                "`holdpoint why` tells what it does; it can be merged when it waits for a review".to_owned()
            }
            Self::OtherHold { takes, .. } => {
                let words: Vec<&str> = takes.iter().map(|kind| kind.word()).collect();
                format!("decide on what it waits for first; it takes: {}", words.join(", "))
            }
            Self::NotMergeable(_) => "offer it as a pull request, or send it back with feedback".to_owned(),
        }
    }
}
