//! Pausing: at once where an agent works, otherwise as soon as what is being done ends.

use super::{Draft, attach, delegate, hold, stage};
use crate::{Actor, Effect, Event, Phase, Purpose, Rejection};

pub(super) fn pause(draft: &mut Draft, by: Actor, reason: Option<String>) -> Result<(), Rejection> {
    if draft.run.is_ended() {
        return Err(Rejection::AlreadyEnded);
    }
    if draft.run.hold().is_some() || draft.run.pausing.is_some() {
        return Err(Rejection::WaitsAlready);
    }
    if matches!(draft.run.phase, Phase::Finishing { .. }) {
        return Err(Rejection::TooLate);
    }
    if let (Phase::Working { stage, .. }, Some((target, Purpose::Answer { question }))) =
        (draft.run.phase.clone(), draft.agent())
    {
        // Back to the hold the question was about: there it waits.
        draft.request(Effect::StopAgent { target });
        hold::answered(draft, stage, question, "(paused before an answer came)");
        return Ok(());
    }
    draft.record(Event::PauseAsked { by, reason });
    match (&draft.run.phase, draft.agent()) {
        (Phase::Delegating { stage }, _) => {
            let stage = *stage;
            delegate::pause_children(draft);
            hold::ask_paused(draft, stage);
        }
        (Phase::Working { stage, .. }, Some((target, _))) => {
            let stage = *stage;
            draft.request(Effect::StopAgent { target });
            hold::ask_paused(draft, stage);
        }
        (
            Phase::Unopened
            | Phase::Opening { .. }
            | Phase::Working { .. }
            | Phase::Publishing { .. }
            | Phase::Holding { .. }
            | Phase::Finishing { .. }
            | Phase::Ended { .. },
            _,
        ) => {}
    }
    Ok(())
}

/// A person says: go on. What they did on the branch themselves is taken up first.
pub(super) fn resume(draft: &mut Draft, index: usize, by: &str) {
    if draft.run.attached.is_some() {
        return attach::hand_back(draft, index, by);
    }
    if draft.run.taken_over.is_some() {
        let stage = draft.run.stage(index).name.clone();
        return draft.request(Effect::Adopt { stage });
    }
    if delegate::is_delegating(draft) {
        delegate::resume_children(draft);
        return delegate::advance(draft);
    }
    if draft.run.stage(index).work.has_agent() { stage::go_on(draft, index) } else { stage::begin(draft, index) }
}
