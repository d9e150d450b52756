//! Endings that are not the good one. Cancel wins: nothing but clean-up starts after it.

use super::Draft;
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
    draft.request(Effect::CleanUp);
}

pub(super) fn fail(draft: &mut Draft, reason: &str) {
    draft.record(Event::RunFailed { reason: reason.to_owned() });
    draft.request(Effect::CleanUp);
}
