//! Clocks: a stage's time ran out, or a hold's deadline came.

use super::{Draft, assume, clarify, hold, stage};
use crate::{AtDeadline, Effect, Event, Purpose, Rejection, TimerKind};

pub(super) fn fire(draft: &mut Draft, timer: u64) -> Result<(), Rejection> {
    let current = draft.run.timer().filter(|current| current.id == timer).ok_or(Rejection::TimerGone)?;
    let Some(index) = draft.run.current_stage() else { return Err(Rejection::TimerGone) };
    match current.kind {
        TimerKind::StageTimeout => stop(draft, index),
        TimerKind::HoldDeadline => deadline(draft, index),
    }
    Ok(())
}

/// The agent is stopped, its unfinished tree kept, a person asked.
fn stop(draft: &mut Draft, index: usize) {
    let Some((target, purpose)) = draft.agent() else { return };
    draft.request(Effect::StopAgent { target });
    match purpose {
        Purpose::Answer { question } => hold::answered(draft, index, question, "(no answer came in time)"),
        Purpose::Stage | Purpose::Pulse { .. } | Purpose::Iterate { .. } | Purpose::Sit => {
            hold::ask_timeout(draft, index, None);
        }
    }
}

fn deadline(draft: &mut Draft, index: usize) {
    let Some(hold) = draft.run.hold().cloned() else { return };
    let then = hold.at_deadline.unwrap_or(AtDeadline::Wait);
    draft.record(Event::DeadlinePassed { hold: hold.id, then });
    match (then, hold.question) {
        (AtDeadline::Assume, Some(_)) => assume::assume(draft, index),
        (AtDeadline::Escalate, Some(question)) => {
            let pending = draft.run.pending_questions.clone();
            clarify::escalate(draft, index, question, pending, "nobody answered in time");
        }
        (AtDeadline::GoOn, _) => stage::go_on(draft, index),
        (AtDeadline::Wait, _) | (AtDeadline::Assume | AtDeadline::Escalate, None) => {}
    }
}
