//! Merging a task that was not reviewed: a person's own yes, recorded as such, in place of the gates.

use super::{Draft, finish};
use crate::{Actor, CommitId, Effect, Event, Phase, Purpose, Rejection, Step, Work};

/// Leaves the stages where they stand and finishes with the newest code that was handed over.
pub(super) fn merge(
    draft: &mut Draft,
    by: Actor,
    reason: Option<String>,
    shown: Option<CommitId>,
) -> Result<(), Rejection> {
    if draft.run.is_ended() {
        return Err(Rejection::AlreadyEnded);
    }
    if !draft.run.opened().playbook.may_be_forced() || draft.run.opened().parent.is_some() {
        return Err(Rejection::NotForced);
    }
    check_time(draft)?;
    let commit = draft.run.code().map(|artifact| artifact.commit.clone()).ok_or(Rejection::NothingToMerge)?;
    if shown.is_some_and(|shown| shown != commit) {
        return Err(Rejection::DigestChanged);
    }
    draft.record(Event::MergeForced { commit, by, reason });
    if let Some((target, _)) = draft.agent() {
        draft.request(Effect::StopAgent { target });
    }
    finish::begin(draft);
    Ok(())
}

/// Only where nothing is half done: an agent at work is stopped, a hold is left.
fn check_time(draft: &Draft) -> Result<(), Rejection> {
    let delegates = |index: usize| matches!(draft.run.stage(index).work, Work::Delegate { .. });
    if draft.run.rewind.is_some() {
        return Err(Rejection::NotNow("it goes back to an earlier stage"));
    }
    match &draft.run.phase {
        Phase::Holding { hold } if hold.stage.is_none() => Err(Rejection::TooLate),
        Phase::Holding { .. } if draft.run.current_stage().is_some_and(delegates) => {
            Err(Rejection::NotNow("the parts it was split into are under way"))
        }
        Phase::Holding { .. } => Ok(()),
        Phase::Working { step: Step::Agent, .. } => match draft.agent() {
            Some((_, Purpose::Answer { .. } | Purpose::Sit)) | None => {
                Err(Rejection::NotNow("a question is being answered"))
            }
            Some((_, Purpose::Stage | Purpose::Pulse { .. } | Purpose::Iterate { .. })) => Ok(()),
        },
        Phase::Working { step: Step::Prove, .. } => Err(Rejection::NotNow("the declared checks run")),
        Phase::Working { step: Step::Begin | Step::TakeIn, .. } | Phase::Publishing { .. } => {
            Err(Rejection::NotNow("something is being taken in"))
        }
        Phase::Delegating { .. } => Err(Rejection::NotNow("the parts it was split into are under way")),
        Phase::Unopened | Phase::Opening { .. } => Err(Rejection::NothingToMerge),
        Phase::Finishing { .. } => Err(Rejection::TooLate),
        Phase::Ended { .. } => Err(Rejection::AlreadyEnded),
    }
}
