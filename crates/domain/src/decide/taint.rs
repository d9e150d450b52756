//! Text of strangers that was read on the way. Each source is noted once.

use super::Draft;
use crate::{Effect, Event, Phase, Rejection, RunId, TaintReport, TaintSource};

/// An agent reads it. One that was stopped may tell late; when the run is finishing, nothing of it is in the work.
pub(super) fn read(draft: &mut Draft, report: TaintReport) -> Result<(), Rejection> {
    let TaintReport { effect, source } = report;
    if !draft.run.has_effect(effect) {
        return Err(Rejection::EffectNotOpen(effect));
    }
    match &draft.run.phase {
        Phase::Ended { .. } => return Err(Rejection::AlreadyEnded),
        Phase::Finishing { .. } => return Err(Rejection::TooLate),
        Phase::Holding { hold } if hold.stage.is_none() => return Err(Rejection::TooLate),
        Phase::Unopened
        | Phase::Opening { .. }
        | Phase::Working { .. }
        | Phase::Delegating { .. }
        | Phase::Publishing { .. }
        | Phase::Holding { .. } => {}
    }
    let reader = match draft.run.open_effects.get(&effect) {
        Some(Effect::RunAgent(task)) => Some(task.stage.clone()),
        Some(_) | None => draft.run.current_stage().map(|index| draft.run.stage(index).name.clone()),
    };
    if is_new(draft, &source) {
        draft.record(Event::RunTainted { source, stage: reader, child: None });
        return Ok(());
    }
    Err(Rejection::TaintKnown)
}

/// What a child has read is in what it made.
pub(super) fn from_child(draft: &mut Draft, child: &RunId, sources: Vec<TaintSource>) {
    for source in sources {
        if is_new(draft, &source) {
            draft.record(Event::RunTainted { source, stage: None, child: Some(child.clone()) });
        }
    }
}

fn is_new(draft: &Draft, source: &TaintSource) -> bool {
    let known = draft.run.taints.iter().any(|taint| taint.source == *source);
    !known && draft.run.taints.len() < TaintSource::MOST
}
