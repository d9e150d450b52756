//! Endings that are not the good one. Cancel wins: nothing but clean-up starts after it.

use super::{Draft, delegate};
use crate::{Actor, Effect, Event, Rejection};

pub(super) fn cancel(draft: &mut Draft, by: Actor, reason: Option<String>) -> Result<(), Rejection> {
    if draft.run.is_ended() {
        return Err(Rejection::AlreadyEnded);
    }
    end(draft, by, reason);
    Ok(())
}

pub(super) fn end(draft: &mut Draft, by: Actor, reason: Option<String>) {
    draft.record(Event::RunCancelled { by, reason });
    after(draft);
}

pub(super) fn fail(draft: &mut Draft, reason: &str) {
    draft.record(Event::RunFailed { reason: reason.to_owned() });
    after(draft);
}

fn after(draft: &mut Draft) {
    draft.request(Effect::CleanUp);
    delegate::end_children(draft);
    tell_parent(draft);
}

/// A child's end is told to the run that began it.
pub(super) fn tell_parent(draft: &mut Draft) {
    if draft.run.opened().parent.is_some() {
        draft.request(Effect::TellParent);
    }
}
