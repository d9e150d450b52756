//! After the last stage: record, publish, merge or push, clean up.

use super::Draft;
use crate::{CommitId, Effect, Event, LandPolicy, Proof};

pub(super) fn begin(draft: &mut Draft) {
    draft.request(Effect::WriteRecord);
}

pub(super) fn publish(draft: &mut Draft) {
    let commit = head(draft);
    draft.request(Effect::Publish { commit });
}

/// Merges only what every gate passed for: a failure that was accepted anyway stays on its branch.
pub(super) fn published(draft: &mut Draft) {
    let tip = head(draft);
    let git = &draft.run.opened().config.git;
    match (&draft.run.validated, git.auto_merge, git.push) {
        (Some(validated), true, _) => {
            let validated = validated.clone();
            draft.request(Effect::Land(LandPolicy { validated, tip }));
        }
        (_, _, true) => draft.request(Effect::PushRemote { commit: tip }),
        (_, _, false) => clean_up(draft),
    }
}

pub(super) fn landed(draft: &mut Draft, effect: &Effect, commit: CommitId, proof: Option<Proof>) {
    if let Some(proof) = proof {
        draft.record(Event::ProofRecorded { proof });
    }
    if let Effect::Land(policy) = effect {
        draft.record(Event::BranchMerged { commit, validated: policy.validated.clone() });
    }
    clean_up(draft);
}

pub(super) fn clean_up(draft: &mut Draft) {
    draft.request(Effect::CleanUp);
}

pub(super) fn cleaned(draft: &mut Draft) {
    if draft.run.is_ended() {
        return;
    }
    let commit = draft.run.merged.clone().unwrap_or_else(|| head(draft));
    draft.record(Event::RunCompleted { commit });
}

/// A person said: try again. What failed is asked for once more.
pub(super) fn again(draft: &mut Draft) {
    match draft.run.failed_effect.clone() {
        Some(effect) => draft.request(effect),
        None => begin(draft),
    }
}

fn head(draft: &Draft) -> CommitId {
    draft.run.head.clone().expect("finishing starts only after the branch was created")
}
