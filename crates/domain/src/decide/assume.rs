//! Assumptions: what a run went on with because nobody answered in time, and how a person takes one back.

use super::{Draft, stage};
use crate::{Actor, Effect, Event, Phase, Rejection, looks_secret};

pub(super) fn overturn(draft: &mut Draft, number: u32, answer: Vec<String>, by: Actor) -> Result<(), Rejection> {
    if draft.run.is_ended() {
        return Err(Rejection::AlreadyEnded);
    }
    // Who forced the merge said that it shall not be worked on any more.
    let forced = draft.run.forced.is_some();
    if matches!(draft.run.phase, Phase::Finishing { .. }) || draft.run.merged.is_some() || forced {
        return Err(Rejection::TooLate);
    }
    let known = draft.run.assumptions.iter().find(|known| known.number == number && !known.overturned);
    let known = known.ok_or(Rejection::NoAssumption(number))?;
    let secret = known.question.secret || answer.iter().any(|part| looks_secret(part));
    if answer.iter().all(|part| part.trim().is_empty()) {
        return Err(Rejection::BadAnswer("say what is right instead".to_owned()));
    }
    draft.record(Event::AssumptionOverturned { number, answer, by, secret });
    // A stage that is still to come takes the correction from its notes.
    let Some(index) = rewind(draft) else { return Ok(()) };
    let agent = draft.agent();
    match &draft.run.phase {
        Phase::Working { .. } if agent.is_some() => {
            if let Some((target, _)) = agent {
                draft.request(Effect::StopAgent { target });
            }
            stage::begin(draft, index);
        }
        Phase::Delegating { .. } | Phase::Holding { .. } => {
            if let Some((target, _)) = agent {
                draft.request(Effect::StopAgent { target });
            }
            stage::begin(draft, index);
        }
        // What is being done ends first; the next step then goes back.
        Phase::Unopened
        | Phase::Opening { .. }
        | Phase::Working { .. }
        | Phase::Publishing { .. }
        | Phase::Finishing { .. }
        | Phase::Ended { .. } => {}
    }
    Ok(())
}

/// Where to go instead, when a person overturned what the coming step rests on.
pub(super) fn rewind(draft: &Draft) -> Option<usize> {
    let stage = draft.run.rewind.as_deref()?;
    draft.run.opened().playbook.index_of(stage)
}

/// Nobody answered in time: the agent's own choice stands until a person says otherwise.
pub(super) fn assume(draft: &mut Draft, index: usize) {
    let Some(question) = draft.run.hold().and_then(|hold| hold.question.clone()) else { return };
    let number = u32::try_from(draft.run.assumptions.len() + 1).unwrap_or(u32::MAX);
    let (stage, answer) = (draft.run.stage(index).name.clone(), question.default.clone());
    draft.record(Event::AssumptionMade { number, stage, question, answer });
    super::clarify::answered(draft, index);
}
