//! A person takes the conversation of a stage to their own terminal, and hands it back. The agent is stopped first, so
//! that there is one hand on the work at a time; what it had done is there, and what the person does is kept.

use super::{Draft, hold, stage};
use crate::{Actor, Effect, Event, Hold, HoldKind, Phase, Purpose, Rejection, Step, Work};

/// What the agent is told when it gets its conversation back.
const BACK: &str = "I had this conversation on my own terminal and hand it back to you. Look at the workspace before \
                    you go on: files may have changed.";

pub(super) fn attach(draft: &mut Draft, by: Actor) -> Result<(), Rejection> {
    if draft.run.is_ended() {
        return Err(Rejection::AlreadyEnded);
    }
    if let (Some(_), Some(attached)) = (draft.run.sitting(), &draft.run.attached) {
        return Err(Rejection::Attached { by: attached.by.name.clone(), since: attached.since });
    }
    let index = taken(draft)?;
    let agent = draft.agent();
    draft.record(Event::SessionTaken { stage: draft.run.stage(index).name.clone(), by });
    if let Some((target, _)) = agent {
        draft.request(Effect::StopAgent { target });
    }
    hold::ask_paused(draft, index);
    let minutes = stage::timeout_minutes(draft, index);
    draft.request_agent(index, Purpose::Sit, minutes);
    Ok(())
}

/// The stage whose conversation can be taken.
fn taken(draft: &Draft) -> Result<usize, Rejection> {
    if draft.run.rewind.is_some() || draft.run.pausing.is_some() && draft.run.hold().is_none() {
        return Err(Rejection::NotNow("it is about to stop where it is"));
    }
    match &draft.run.phase {
        Phase::Working { stage, step: Step::Agent, .. } => match draft.agent() {
            Some((_, Purpose::Stage | Purpose::Pulse { .. } | Purpose::Iterate { .. })) => Ok(*stage),
            Some((_, Purpose::Answer { .. } | Purpose::Sit)) | None => {
                Err(Rejection::NotNow("a question is being answered"))
            }
        },
        Phase::Holding { hold } => held(draft, hold),
        Phase::Working { step: Step::Prove, .. } => Err(Rejection::NoSession("the declared checks run")),
        Phase::Working { step: Step::Begin | Step::TakeIn, .. } | Phase::Publishing { .. } => {
            Err(Rejection::NotNow("something is being taken in"))
        }
        Phase::Delegating { .. } => Err(Rejection::NoSession("its tasks are worked by runs of their own")),
        Phase::Unopened | Phase::Opening { .. } => Err(Rejection::NoSession("no agent has begun yet")),
        Phase::Finishing { .. } => Err(Rejection::TooLate),
        Phase::Ended { .. } => Err(Rejection::AlreadyEnded),
    }
}

fn held(draft: &Draft, hold: &Hold) -> Result<usize, Rejection> {
    let index = draft.run.current_stage().ok_or(Rejection::TooLate)?;
    if draft.run.taken_over.is_some() {
        return Err(Rejection::NoSession("you work on its branch in your own repository"));
    }
    let by_agent = matches!(draft.run.stage(index).work, Work::Produce { .. } | Work::Judge { .. });
    let paused = hold.kind == HoldKind::Paused && draft.run.stage(index).work.has_agent();
    let begun = draft.run.stages[index].begun;
    // What could not be done is asked for again by a retry; the agent was not at it.
    let other = draft.run.failed_effect.as_ref().is_some_and(|effect| !matches!(effect, Effect::RunAgent(_)));
    match hold.kind {
        _ if !begun => Err(Rejection::NoSession("no agent has begun here yet")),
        HoldKind::Paused if paused => Ok(index),
        HoldKind::Stuck if other => Err(Rejection::NoSession("the agent was not at work when it got stuck")),
        HoldKind::Stuck
        | HoldKind::Clarification
        | HoldKind::Permission
        | HoldKind::Timeout
        | HoldKind::Model
        | HoldKind::Quota
            if by_agent =>
        {
            Ok(index)
        }
        HoldKind::Approval
        | HoldKind::Clarification
        | HoldKind::Confirm
        | HoldKind::Fix
        | HoldKind::Permission
        | HoldKind::Timeout
        | HoldKind::Model
        | HoldKind::Quota
        | HoldKind::Budget
        | HoldKind::Conflict
        | HoldKind::Credentials
        | HoldKind::Review
        | HoldKind::Stuck
        | HoldKind::Paused => Err(Rejection::NoSession("it waits for your decision, and nobody is at work on it")),
    }
}

/// The conversation goes back to its agent, which is told before it goes on.
pub(super) fn hand_back(draft: &mut Draft, index: usize, by: &str) {
    let target = draft.run.effects_requested + if draft.run.sitting().is_some() { 3 } else { 2 };
    if let Some((sitting, _)) = draft.run.sitting() {
        draft.request(Effect::StopAgent { target: sitting });
    }
    let number = draft.run.version + 1;
    draft.request(Effect::TellAgent { target, number, by: by.to_owned(), text: BACK.to_owned() });
    stage::go_on(draft, index);
}
