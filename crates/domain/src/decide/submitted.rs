//! What an agent handed in, or a person wrote in its place: recorded, then on to the gate.

use super::{Draft, converse, hold, pursue, stage, work};
use crate::{Artifact, ArtifactKind, Effect, Event, Plan, Purpose, Submission, Work};

pub(super) fn submitted(draft: &mut Draft, index: usize, submission: Submission) {
    let Submission { artifact, decisions, review, plan, reflection, .. } = submission;
    let wanted = draft.run.stage(index).work.artifact();
    let handed_out = artifact.kind == ArtifactKind::Plan && draft.run.stage(index).work.may_delegate();
    if (wanted != Some(artifact.kind) && !handed_out) || artifact.kind == ArtifactKind::Requirement {
        let wanted = wanted.map_or("nothing", ArtifactKind::word);
        let reason = format!("it handed in a `{}` where a `{wanted}` was wanted", artifact.kind.word());
        return work::crashed(draft, index, reason);
    }
    let problem = match (artifact.kind, &plan, &review) {
        (ArtifactKind::Plan, None, _) => Some("it gave no tasks".to_owned()),
        (ArtifactKind::Plan, Some(plan), _) => plan.check().err().map(|error| error.to_string()),
        (ArtifactKind::ValidationReport, _, None) => Some("it gave no verdict".to_owned()),
        (_, _, _) => None,
    };
    if let Some(reason) = problem {
        return work::crashed(draft, index, reason);
    }
    let (kind, commit, purpose) = (artifact.kind, artifact.commit.clone(), draft.run.purpose(index));
    draft.record(Event::ArtifactCreated { artifact, decisions });
    if kind.is_code() {
        draft.record(Event::ImplementationSucceeded { commit: commit.clone() });
    }
    if let Some(plan) = plan.filter(|_| kind == ArtifactKind::Plan) {
        tasks(draft, plan);
    }
    if let Some(reflection) = reflection {
        pursue::record(draft, index, reflection, None);
    }
    match (review, purpose) {
        (Some(review), _) => stage::judged(draft, index, review),
        (None, Purpose::Pulse { number }) => {
            let (stage, of) = (draft.run.stage(index).name.clone(), draft.run.pulses());
            draft.record(Event::PulseCompleted { stage, pulse: number, of, commit });
            if number < of { stage::go_on(draft, index) } else { stage::gate(draft, index) }
        }
        (None, Purpose::Iterate { .. }) => pursue::met(draft, index),
        (None, Purpose::Stage | Purpose::Answer { .. } | Purpose::Sit) => stage::gate(draft, index),
    }
}

fn tasks(draft: &mut Draft, plan: Plan) {
    let overlaps = plan.overlaps();
    draft.record(Event::TasksPlanned { plan, overlaps });
}

/// What a person wrote or confirmed is committed: it is theirs, so nobody is asked again.
pub(super) fn taken_in(draft: &mut Draft, index: usize, artifact: Artifact, effect: &Effect) {
    let kind = artifact.kind;
    draft.record(Event::ArtifactCreated { artifact, decisions: Vec::new() });
    if let (ArtifactKind::Plan, Effect::CommitArtifact { content, .. }) = (kind, effect)
        && let Ok(plan) = Plan::parse(content)
    {
        tasks(draft, plan);
    }
    stage::pass(draft, index);
}

/// What a person wrote cannot be used: the version they saw waits again.
pub(super) fn refused(draft: &mut Draft, index: usize, reason: &str) {
    if matches!(draft.run.stage(index).work, Work::Converse { .. }) {
        return converse::refused(draft, index, reason);
    }
    let question = "your own version".to_owned();
    hold::answered(draft, index, question, &format!("it cannot be used: {reason}"));
}

/// What a person did on the branch counts as the stage's work.
pub(super) fn adopted(draft: &mut Draft, index: usize, artifact: Artifact) {
    let commit = artifact.commit.clone();
    draft.record(Event::ArtifactCreated { artifact, decisions: Vec::new() });
    draft.record(Event::ImplementationSucceeded { commit });
    stage::pass(draft, index);
}
