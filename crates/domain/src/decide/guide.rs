//! A person's word to whoever works on the stage: kept for every agent that works on it later, and said to the one that
//! works on it now.

use super::Draft;
use crate::{Actor, Effect, Event, Rejection};

/// Bytes of one word.
const MAX_WORDS: usize = 16 * 1024;

pub(super) fn guide(draft: &mut Draft, text: String, by: Actor) -> Result<(), Rejection> {
    if draft.run.is_ended() {
        return Err(Rejection::AlreadyEnded);
    }
    if text.trim().is_empty() || text.len() > MAX_WORDS {
        return Err(Rejection::BadAnswer(format!("a word to an agent has 1 to {MAX_WORDS} bytes")));
    }
    let Some(index) = draft.run.current_stage() else { return Err(Rejection::TooLate) };
    let (stage, name, number) = (draft.run.stage(index).name.clone(), by.name.clone(), draft.run.version + 1);
    draft.record(Event::GuidanceGiven { stage, text: text.clone(), by });
    if let Some((target, _)) = draft.agent() {
        draft.request(Effect::TellAgent { target, number, by: name, text });
    }
    Ok(())
}
