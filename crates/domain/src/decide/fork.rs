//! Beginning where another run stood, and going on from there once the branch is made.

use super::{Draft, assume, hold, stage};
use crate::{
    Decide, Decision, Effect, Event, Fork, ForkStand, ForkedFrom, Recorded, Rejection, Resumes, Run, TaintSource,
    branch_name, replay,
};

pub(super) fn fork(draft: &mut Draft, mut fork: Fork) -> Result<(), Rejection> {
    if draft.run.opened.is_some() {
        return Err(Rejection::AlreadyStarted);
    }
    let refuse = |text: &str| Rejection::NotForkable(text.to_owned());
    let gapless = fork.log.iter().zip(1..).all(|(recorded, sequence)| recorded.sequence == sequence);
    let Some((first, last)) = fork.log.first().zip(fork.log.last()).filter(|_| gapless) else {
        return Err(refuse("there is no such log"));
    };
    let Event::RunStarted { project, request, playbook, config, parent, .. } = &first.event else {
        return Err(refuse("a log begins with RUN_STARTED"));
    };
    if parent.is_some() {
        return Err(refuse("it works on a task of another run; fork that one"));
    }
    let origin = replay(fork.origin.clone(), fork.log.iter().cloned());
    let point = origin.fork_point(last).ok_or_else(|| refuse("something was half done there"))?;
    check(&origin, point.stand, &fork, draft.now)?;
    let at = point.at;
    let named = config.task.as_ref().and_then(|task| task.name.as_deref()).unwrap_or(request);
    let mut config = config.clone();
    // It was started together with nobody.
    config.group = None;
    draft.record(Event::RunStarted {
        project: project.clone(),
        request: request.clone(),
        playbook: playbook.clone(),
        branch: branch_name(&draft.run.id, named),
        config,
        by: fork.by.clone(),
        parent: None,
        forked_from: Some(ForkedFrom { run: fork.origin.clone(), at }),
    });
    for Recorded { at, event, .. } in fork.log.into_iter().skip(1) {
        draft.record_at(at, event);
    }
    let read_since = std::mem::take(&mut fork.changes.read_since);
    draft.record(Event::RunForked { from: fork.origin, at, by: fork.by, changes: fork.changes });
    for source in read_since.into_iter().take(TaintSource::MOST) {
        if !draft.run.taints.iter().any(|taint| taint.source == source) {
            draft.record(Event::RunTainted { source, stage: None, child: None });
        }
    }
    draft.request(Effect::OpenFork { at: point.commit });
    Ok(())
}

/// A decision is looked at before anything is made, as it will be looked at when the branch is there.
fn check(origin: &Run, stand: ForkStand, fork: &Fork, now: jiff::Timestamp) -> Result<(), Rejection> {
    let Some(decision) = &fork.changes.decision else { return Ok(()) };
    if stand != ForkStand::Hold {
        let text = "nobody was asked anything there, so there is nothing to decide";
        return Err(Rejection::NotForkable(text.to_owned()));
    }
    if matches!(decision, Decision::Cancel { .. }) {
        return Err(Rejection::NotForkable("a fork is not made to be cancelled".to_owned()));
    }
    let mut draft = Draft { run: origin.clone(), events: Vec::new(), now };
    decide_there(&mut draft, decision.clone(), fork.by.clone())
}

fn decide_there(draft: &mut Draft, decision: Decision, by: crate::Actor) -> Result<(), Rejection> {
    let held = draft.run.hold().map(|held| (held.id, held.digest.clone()));
    let (hold, digest) = held.ok_or(Rejection::NoHold)?;
    hold::decide(draft, Decide { hold, digest, decision, by })
}

/// The branch is there: the fork goes on as its origin could have.
pub(super) fn opened(draft: &mut Draft, carried: bool) {
    // Who asked for a pause meanwhile decides later.
    let resumes = draft.run.resumes.clone().filter(|_| draft.run.pausing.is_none());
    draft.record(Event::ForkOpened { carried });
    if let Some(index) = assume::rewind(draft) {
        return stage::begin(draft, index);
    }
    match (draft.run.fork_stand(), resumes.map(|resumes| *resumes)) {
        (Some(ForkStand::Hold), Some(Resumes { decision: Some(decision), by, .. })) => {
            // It was looked at when the fork was made, and what it is about has not changed since.
            let _ = decide_there(draft, decision, by);
        }
        (Some(ForkStand::Begun(index)), _) => stage::work(draft, index),
        (Some(ForkStand::Done(index)), _) => stage::left(draft, index),
        (Some(ForkStand::Hold) | None, _) => {}
    }
}
