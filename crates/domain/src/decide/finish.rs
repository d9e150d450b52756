//! After the last stage: record, publish, merge or push, clean up. A child only cleans up: its parent does the rest.

use super::{Draft, assume, cancel, delegate, hold, stage};
use crate::{CommitId, Effect, Event, LandPolicy, Proof, TaskStatus};

/// How the work got into its base.
pub(super) struct Landing {
    pub(super) commit: CommitId,
    pub(super) proof: Option<Proof>,
    pub(super) onto: Option<CommitId>,
}

pub(super) fn begin(draft: &mut Draft) {
    if let Some(index) = assume::rewind(draft) {
        return stage::begin(draft, index);
    }
    delegate::end_children(draft);
    if draft.run.opened().parent.is_some() {
        return clean_up(draft);
    }
    draft.request(Effect::WriteRecord);
}

pub(super) fn publish(draft: &mut Draft) {
    let commit = head(draft);
    draft.request(Effect::Publish { commit });
}

/// Merges only what every gate passed for: a failure that was accepted anyway stays on its branch. What is not whole,
/// shall be looked at, or was made by who read text of strangers, waits for a person first.
pub(super) fn published(draft: &mut Draft) {
    let run = &draft.run;
    let git = &run.opened().config.git;
    let partial = run.tasks.iter().any(|task| matches!(task.status, TaskStatus::Failed | TaskStatus::Skipped));
    let may_merge = run.validated.is_some() && !run.wants_pr;
    if run.goes_out()
        && let Some(tests) = run.doubted_tests().cloned()
    {
        hold::ask_tests(draft, &tests);
    } else if run.awaits_look() && run.goes_out() {
        hold::ask_review(draft, None);
    } else if may_merge && run.merge_approved {
        land(draft);
    } else if may_merge && (git.review || (git.auto_merge && partial)) {
        hold::ask_review(draft, None);
    } else if may_merge && git.auto_merge && !git.create_pr {
        land(draft);
    } else if run.wants_pr || git.create_pr || git.push {
        push(draft);
    } else {
        clean_up(draft);
    }
}

/// A person said yes to what is done with the work.
pub(super) fn agreed(draft: &mut Draft) {
    let merges = draft.run.validated.is_some() && draft.run.merges();
    if merges { land(draft) } else { push(draft) }
}

pub(super) fn land(draft: &mut Draft) {
    let tip = head(draft);
    let onto = draft.run.moved_base.clone();
    match draft.run.validated.clone() {
        Some(validated) => draft.request(Effect::Land(LandPolicy { validated, tip, onto })),
        None => clean_up(draft),
    }
}

pub(super) fn push(draft: &mut Draft) {
    let commit = head(draft);
    let ask = draft.run.opened().config.git.ask_push && !draft.run.is_signed_off();
    draft.request(Effect::PushRemote { commit, ask });
}

/// The remote has the branch.
pub(super) fn pushed(draft: &mut Draft, remote: Option<String>) {
    let wants_pr = draft.run.wants_pr || draft.run.opened().config.git.create_pr;
    let commit = head(draft);
    match remote {
        Some(remote) => {
            draft.record(Event::BranchPushed { remote });
            if wants_pr { draft.request(Effect::OpenPullRequest { commit }) } else { clean_up(draft) }
        }
        None if draft.run.wants_pr => {
            hold::ask_credentials(draft, "there is no remote to open a pull request on; add one and retry".to_owned());
        }
        None => clean_up(draft),
    }
}

pub(super) fn landed(draft: &mut Draft, effect: &Effect, landing: Landing) {
    let Landing { commit, proof, onto } = landing;
    if let Some(proof) = proof {
        draft.record(Event::ProofRecorded { proof });
    }
    if let Effect::Land(policy) = effect {
        draft.record(Event::BranchMerged { commit, validated: policy.validated.clone(), onto });
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
    cancel::tell_parent(draft);
}

/// A person said: try again. What failed is asked for once more.
pub(super) fn again(draft: &mut Draft) {
    match draft.run.failed_effect.clone() {
        Some(effect) => draft.request(effect),
        // The remote was missing: look again.
        None if draft.run.wants_pr => push(draft),
        None => begin(draft),
    }
}

fn head(draft: &Draft) -> CommitId {
    draft.run.head.clone().expect("finishing starts only after the branch was created")
}
