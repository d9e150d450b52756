//! Stages: beginning one, and passing its gate.

use super::{Draft, assume, cancel, clarify, converse, delegate, finish, hold};
use crate::{CommitId, Effect, Event, Gate, Proof, Review, Severity, StageGate, Verdict, WhenStuck, Work};

/// Begins a stage, or begins it again.
pub(super) fn begin(draft: &mut Draft, index: usize) {
    let index = assume::rewind(draft).unwrap_or(index);
    let visit = draft.run.stages[index].visits + 1;
    let stage = draft.run.stage(index).name.clone();
    draft.record(Event::StageStarted { stage, visit });
    work(draft, index);
}

/// Lets the work of a stage that has just begun be done.
pub(super) fn work(draft: &mut Draft, index: usize) {
    let visit = draft.run.stages[index].visits;
    let stage = draft.run.stage(index).clone();
    if !matches!(stage.work, Work::Delegate { .. }) {
        // Going back to an earlier stage leaves no child at work on what is planned anew.
        delegate::end_children(draft);
    }
    let has_checks = !draft.run.opened().config.checks.is_empty();
    match stage.work {
        Work::Prove { .. } if draft.run.pausing.is_some() => hold::ask_paused(draft, index),
        Work::Converse { .. } if draft.run.opened().config.skip_clarification => converse::skip(draft, index),
        Work::Judge { prove: true, .. } | Work::Prove { .. } if has_checks => {
            let commit = judged_commit(draft);
            draft.request(Effect::Prove { stage: stage.name, commit });
        }
        Work::Prove { .. } => {
            let reason = "no checks are declared".to_owned();
            draft.record(Event::AutoAdvanced { stage: stage.name, reason });
            gate(draft, index);
        }
        Work::Delegate { .. } => delegate::begin(draft, index),
        Work::Produce { .. } if visit == 1 && index == 0 && clarify::asks_first(draft) => {
            clarify::ask_first(draft, index)
        }
        Work::Converse { .. } | Work::Produce { .. } | Work::Judge { .. } | Work::Pursue { .. } => go_on(draft, index),
    }
}

/// Lets an agent go on where its conversation stands, or begin one.
pub(super) fn go_on(draft: &mut Draft, index: usize) {
    let minutes = timeout_minutes(draft, index);
    go_on_for(draft, index, minutes);
}

/// As `go_on`, with a time of its own.
pub(super) fn go_on_for(draft: &mut Draft, index: usize, minutes: u32) {
    if assume::rewind(draft).is_some() {
        return begin(draft, index);
    }
    if delegate::is_delegating(draft) {
        return delegate::advance(draft);
    }
    if draft.run.pausing.is_some() {
        return hold::ask_paused(draft, index);
    }
    let purpose = draft.run.purpose(index);
    draft.request_agent(index, purpose, minutes);
}

/// What the stage made is there: ask a person, or go on. Risk can only add a question, never take one away.
pub(super) fn gate(draft: &mut Draft, index: usize) {
    let stage = draft.run.stage(index).clone();
    let config = &draft.run.opened().config;
    let required = config.require_approval.contains(&stage.name);
    let risky = draft.run.artifacts.last().is_some_and(|made| made.stage == stage.name && !made.risks.is_empty());
    match (stage.gate, stage.gate.resolve(&config.trust)) {
        (StageGate::Review, _) => hold::ask_review(draft, Some(index)),
        (_, Gate::Auto) if !required && !risky => {
            let reason = "the gate is set to auto".to_owned();
            draft.record(Event::AutoAdvanced { stage: stage.name, reason });
            pass(draft, index);
        }
        (_, Gate::Auto | Gate::Manual) => hold::ask_approval(draft, index),
    }
}

/// The gate was passed.
pub(super) fn pass(draft: &mut Draft, index: usize) {
    let stage = draft.run.stage(index).name.clone();
    draft.record(Event::StageCompleted { stage });
    left(draft, index);
}

/// After a stage: show the branch, then the next one; or finish. A child's branch is its parent's business.
pub(super) fn left(draft: &mut Draft, index: usize) {
    let Some(next) = draft.run.next_stage(index) else { return finish::begin(draft) };
    if draft.run.opened().parent.is_some() {
        return begin(draft, next);
    }
    let commit = draft.run.head.clone().expect("a stage starts only after the branch was created");
    draft.request(Effect::Publish { commit });
}

/// The checks ran: a failing one is a verdict without asking a model.
pub(super) fn proved(draft: &mut Draft, index: usize, proof: Proof) {
    let review = (!proof.passed()).then(|| failing_checks(&proof));
    draft.record(Event::ProofRecorded { proof });
    match (review, &draft.run.stage(index).work) {
        (Some(review), _) => failed(draft, index, review),
        // Checks have no agent to stop: the pause begins here, and after it they run again.
        (None, Work::Prove { .. }) if draft.run.pausing.is_some() => hold::ask_paused(draft, index),
        (None, Work::Prove { .. }) => gate(draft, index),
        (
            None,
            Work::Converse { .. }
            | Work::Produce { .. }
            | Work::Judge { .. }
            | Work::Delegate { .. }
            | Work::Pursue { .. },
        ) => go_on(draft, index),
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
    let (on_fail, fix_gate, rounds) = match draft.run.stage(index).work.clone() {
        Work::Judge { on_fail, fix_gate, rounds, .. } | Work::Prove { on_fail, fix_gate, rounds } => {
            (on_fail, fix_gate, rounds)
        }
        Work::Converse { .. } | Work::Produce { .. } | Work::Delegate { .. } | Work::Pursue { .. } => return,
    };
    let commit = judged_commit(draft);
    let (severity, said) = (review.severity, review.summary.clone());
    draft.record(Event::ValidationFailed { commit, review });
    let state = &draft.run.stages[index];
    let rounds_left = state.fails <= rounds + state.rounds_granted;
    let gate = fix_gate.resolve(&draft.run.opened().config.trust);
    let fails = draft.run.opened().playbook.when_stuck == WhenStuck::Fail;
    // Where a person looks at the end anyway, a major failure goes back like a minor one as long as there are rounds.
    let reviewed = draft.run.stage(index).gate == StageGate::Review;
    match (severity, gate) {
        (Severity::Minor, Gate::Auto) if rounds_left => fix(draft, index, "minor", &on_fail, rounds),
        // Nobody sits beside a run that may fail: a major failure is tried again as long as there are rounds.
        (Severity::Major, Gate::Auto) if rounds_left && (fails || reviewed) => {
            fix(draft, index, "major", &on_fail, rounds)
        }
        (Severity::Minor | Severity::Major, Gate::Auto) if fails => {
            cancel::fail(draft, &format!("{rounds} fix rounds did not mend it: {said}"));
        }
        (Severity::Minor | Severity::Major, Gate::Auto | Gate::Manual) => hold::ask_fix(draft, index, rounds_left),
    }
}

fn fix(draft: &mut Draft, index: usize, how: &str, on_fail: &str, rounds: u32) {
    let stage = draft.run.stage(index).name.clone();
    let round = draft.run.stages[index].fails;
    let reason = format!("{how} failure, fix round {round} of {rounds}");
    draft.record(Event::AutoAdvanced { stage, reason });
    let target = draft.run.opened().playbook.index_of(on_fail);
    begin(draft, target.expect("a playbook's on_fail names one of its stages"));
}

/// The commit under judgement: the newest code, not the reports committed on top of it.
pub(super) fn judged_commit(draft: &Draft) -> CommitId {
    let code = draft.run.code().map(|artifact| artifact.commit.clone());
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
