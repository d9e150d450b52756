//! A stage's clock ran out: its agent is stopped, its unfinished tree kept, a person asked.

use super::{Draft, hold};
use crate::{Effect, Rejection};

pub(super) fn fire(draft: &mut Draft, timer: u64) -> Result<(), Rejection> {
    let current = draft.run.timer().filter(|current| u64::from(current.id) == timer).ok_or(Rejection::TimerGone)?;
    let Some(index) = draft.run.current_stage() else { return Err(Rejection::TimerGone) };
    draft.request(Effect::StopAgent { target: current.id });
    hold::ask_timeout(draft, index);
    Ok(())
}
