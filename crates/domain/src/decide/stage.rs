//! Stages: beginning one, and passing its gate.

use super::{Conversation, Draft, finish, hold};
use crate::{ArtifactKind, CommitId, Effect, Event, Gate, Proof, Review, Severity, Verdict, Work};

/// Begins a stage, or begins it again.
pub(super) fn begin(draft: &mut Draft, index: usize) {
    let visit = draft.run.stages[index].visits + 1;
    let stage = draft.run.stage(index).clone();
    draft.record(Event::StageStarted { stage: stage.name.clone(), visit });
    let has_checks = !draft.run.opened().config.checks.is_empty();
    match stage.work {
        Work::Judge { prove: true, .. } if has_checks => {
            let commit = judged_commit(draft);
            draft.request(Effect::Prove { stage: stage.name, commit });
        }
        Work::Judge { .. } | Work::Produce { .. } => work(draft, index),
    }
}

/// Lets an agent begin the stage with a fresh conversation.
pub(super) fn work(draft: &mut Draft, index: usize) {
    let minutes = timeout_minutes(draft, index);
    draft.request_agent(index, Conversation::Fresh, minutes);
}

/// Lets an agent go on where its conversation stands.
pub(super) fn go_on(draft: &mut Draft, index: usize) {
    let minutes = timeout_minutes(draft, index);
    draft.request_agent(index, Conversation::GoOn, minutes);
}

/// What the stage made is there: ask a person, or go on.
pub(super) fn gate(draft: &mut Draft, index: usize) {
    let stage = draft.run.stage(index).clone();
    match stage.gate.resolve(&draft.run.opened().config.trust) {
        Gate::Auto => {
            let reason = "the gate is set to auto".to_owned();
            draft.record(Event::AutoAdvanced { stage: stage.name, reason });
            pass(draft, index);
        }
        Gate::Manual => hold::ask_approval(draft, index),
    }
}

/// The gate was passed: show the branch, then the next stage; or finish.
pub(super) fn pass(draft: &mut Draft, index: usize) {
    let stage = draft.run.stage(index).name.clone();
    draft.record(Event::StageCompleted { stage });
    if index + 1 < draft.run.stages.len() {
        let commit = draft.run.head.clone().expect("a stage starts only after the branch was created");
        draft.request(Effect::Publish { commit });
    } else {
        finish::begin(draft);
    }
}

/// The checks ran: a failing one is a verdict without asking a model.
pub(super) fn proved(draft: &mut Draft, index: usize, proof: Proof) {
    let review = (!proof.passed()).then(|| failing_checks(&proof));
    draft.record(Event::ProofRecorded { proof });
    match review {
        Some(review) => failed(draft, index, review),
        None => work(draft, index),
    }
}

/// The validator gave its verdict.
pub(super) fn judged(draft: &mut Draft, index: usize, review: Review) {
    match review.verdict {
        Verdict::Pass => {
            let commit = judged_commit(draft);
            draft.record(Event::ValidationPassed { commit, review });
            gate(draft, index);
        }
        Verdict::Fail => failed(draft, index, review),
    }
}

fn failed(draft: &mut Draft, index: usize, review: Review) {
    let Work::Judge { on_fail, fix_gate, rounds, .. } = draft.run.stage(index).work.clone() else { return };
    let commit = judged_commit(draft);
    let severity = review.severity;
    draft.record(Event::ValidationFailed { commit, review });
    let state = &draft.run.stages[index];
    let rounds_left = state.fails <= rounds + state.rounds_granted;
    let gate = fix_gate.resolve(&draft.run.opened().config.trust);
    match (severity, gate) {
        (Severity::Minor, Gate::Auto) if rounds_left => {
            let stage = draft.run.stage(index).name.clone();
            let round = draft.run.stages[index].fails;
            let reason = format!("minor failure, fix round {round} of {rounds}");
            draft.record(Event::AutoAdvanced { stage, reason });
            let target = draft.run.opened().playbook.index_of(&on_fail);
            begin(draft, target.expect("a playbook's on_fail names one of its stages"));
        }
        (Severity::Minor | Severity::Major, Gate::Auto | Gate::Manual) => hold::ask_fix(draft, index, rounds_left),
    }
}

/// The commit under judgement: the newest code, not the reports committed on top of it.
pub(super) fn judged_commit(draft: &Draft) -> CommitId {
    let code = draft.run.latest(ArtifactKind::Code).map(|artifact| artifact.commit.clone());
    code.or_else(|| draft.run.head.clone()).expect("a stage starts only after the branch was created")
}

fn failing_checks(proof: &Proof) -> Review {
    let failing: Vec<_> = proof.checks.iter().filter(|check| !check.passed()).collect();
    let names: Vec<&str> = failing.iter().map(|check| check.name.as_str()).collect();
    let findings = failing
        .iter()
        .map(|check| crate::Finding {
            message: format!("`{}` failed with {}:\n{}", check.command, exit_words(check.exit), check.tail),
            place: None,
        })
        .collect();
    Review {
        verdict: Verdict::Fail,
        severity: Severity::Minor,
        summary: format!("checks failed: {}", names.join(", ")),
        findings,
    }
}

fn exit_words(exit: Option<i32>) -> String {
    exit.map_or_else(|| "no exit code (ended by a signal or its time limit)".to_owned(), |code| format!("exit {code}"))
}

pub(super) fn timeout_minutes(draft: &Draft, index: usize) -> u32 {
    let stage = draft.run.stage(index);
    draft.run.opened().config.timeout_minutes.get(&stage.name).copied().unwrap_or(stage.timeout_minutes)
}
