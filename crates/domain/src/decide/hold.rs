//! Placing holds, and using a decision exactly once.

use super::{Conversation, Draft, cancel, clarify, finish, stage};
use crate::{Decide, Decision, DecisionKind, Digest, Event, Hold, HoldKind, Rejection, Run, Severity, Work};

/// A person decided: refused unless it is this hold, this digest and an allowed decision.
pub(super) fn decide(draft: &mut Draft, decide: Decide) -> Result<(), Rejection> {
    if let Some(first) = draft.run.decided.iter().find(|decided| decided.hold == decide.hold) {
        return Err(Rejection::AlreadyDecided { by: first.by.name.clone(), decision: first.kind, at: first.at });
    }
    if draft.run.is_ended() {
        return Err(Rejection::AlreadyEnded);
    }
    let hold = draft.run.hold().cloned().ok_or(Rejection::NoHold)?;
    if hold.id != decide.hold {
        return Err(Rejection::HoldChanged);
    }
    if hold.digest != decide.digest {
        return Err(Rejection::DigestChanged);
    }
    let kind = decide.decision.kind();
    if !hold.allowed.contains(&kind) {
        return Err(Rejection::NotAllowed { decision: kind, allowed: hold.allowed });
    }
    check_text(&decide.decision)?;
    if let Some(question) = &hold.question {
        clarify::check(question, &decide.decision)?;
    }
    draft.record(decision_event(&hold, &decide));
    act(draft, &hold, decide);
    Ok(())
}

fn check_text(decision: &Decision) -> Result<(), Rejection> {
    match decision {
        Decision::Reject { feedback: text } | Decision::Suggest { text } if text.trim().is_empty() => {
            Err(Rejection::BadAnswer("say what shall be different".to_owned()))
        }
        Decision::Extend { minutes } if !(1..=10_080).contains(minutes) => {
            Err(Rejection::BadAnswer("extend by 1 to 10080 minutes".to_owned()))
        }
        Decision::Raise { by } if by.0 == 0 => {
            Err(Rejection::BadAnswer("raise the limit by more than nothing".to_owned()))
        }
        Decision::Approve { .. }
        | Decision::Reject { .. }
        | Decision::Suggest { .. }
        | Decision::Answer { .. }
        | Decision::Ignore
        | Decision::Retry { .. }
        | Decision::AcceptAnyway { .. }
        | Decision::Extend { .. }
        | Decision::Raise { .. }
        | Decision::Cancel { .. } => Ok(()),
    }
}

fn decision_event(hold: &Hold, decide: &Decide) -> Event {
    let Decide { decision, digest, by, .. } = decide.clone();
    match (hold.kind, &decision) {
        (HoldKind::Approval, Decision::Approve { notes }) => {
            Event::ApprovalGranted { hold: hold.id, digest, by, notes: notes.clone() }
        }
        (HoldKind::Approval, Decision::Reject { .. } | Decision::Suggest { .. }) => {
            Event::ApprovalRejected { hold: hold.id, digest, by, decision }
        }
        (HoldKind::Clarification, Decision::Answer { .. } | Decision::Ignore) => {
            Event::ClarificationAnswered { hold: hold.id, digest, by, decision }
        }
        (_, _) => Event::DecisionMade { hold: hold.id, digest, by, decision },
    }
}

fn act(draft: &mut Draft, hold: &Hold, decide: Decide) {
    let index = draft.run.current_stage();
    match (decide.decision, index) {
        (Decision::Cancel { reason }, _) => cancel::end(draft, decide.by, reason),
        (Decision::Retry { .. }, None) => finish::again(draft),
        (Decision::Approve { .. }, Some(index)) if hold.question.is_some() => stage::go_on(draft, index),
        (Decision::Approve { .. }, Some(index)) => stage::pass(draft, index),
        (Decision::Reject { .. } | Decision::Suggest { .. }, Some(index)) => stage::begin(draft, index),
        (Decision::Answer { .. } | Decision::Ignore, Some(index)) => clarify::answered(draft, index),
        (Decision::Raise { .. }, Some(index)) => stage::go_on(draft, index),
        (Decision::Extend { minutes }, Some(index)) => draft.request_agent(index, Conversation::GoOn, minutes),
        (Decision::AcceptAnyway { .. }, Some(index)) => stage::pass(draft, index),
        (Decision::Retry { .. }, Some(index)) => retry(draft, hold, index),
        (_, None) => finish::again(draft),
    }
}

fn retry(draft: &mut Draft, hold: &Hold, index: usize) {
    match hold.kind {
        HoldKind::Model => stage::go_on(draft, index),
        HoldKind::Fix => {
            let target = match &draft.run.stage(index).work {
                Work::Judge { on_fail, .. } => draft.run.opened().playbook.index_of(on_fail),
                Work::Produce { .. } => None,
            };
            stage::begin(draft, target.unwrap_or(index));
        }
        HoldKind::Stuck => match draft.run.failed_effect.clone() {
            Some(effect @ (crate::Effect::Prove { .. } | crate::Effect::Publish { .. })) => draft.request(effect),
            Some(_) | None => stage::begin(draft, index),
        },
        HoldKind::Approval
        | HoldKind::Clarification
        | HoldKind::Timeout
        | HoldKind::Budget
        | HoldKind::Conflict
        | HoldKind::Credentials => stage::begin(draft, index),
    }
}

/// What a stage made waits for a yes to exactly it.
pub(super) fn ask_approval(draft: &mut Draft, index: usize) {
    let stage = draft.run.stage(index).clone();
    let artifact = draft.run.artifacts.last().cloned();
    let stamp = stamp(draft);
    let digest = match &artifact {
        Some(artifact) => Digest::of([&stamp, artifact.commit.as_str(), artifact.digest.as_str()]),
        None => Digest::of([stamp.as_str()]),
    };
    let title = artifact.as_ref().map(|artifact| artifact.title.clone()).unwrap_or_default();
    let mut allowed = vec![DecisionKind::Approve];
    if draft.run.stages[index].revisions < stage.revisions {
        allowed.extend([DecisionKind::Reject, DecisionKind::Suggest]);
    }
    allowed.push(DecisionKind::Cancel);
    let hold = Hold {
        id: draft.next_hold(),
        kind: HoldKind::Approval,
        stage: Some(stage.name.clone()),
        since: draft.now,
        summary: format!("{} is done: {title}", stage.name),
        artifact,
        question: None,
        attempt_number: 0,
        digest,
        allowed,
    };
    draft.record(Event::ApprovalRequested { hold, pending: Vec::new() });
}

/// Validation failed and a person must choose.
pub(super) fn ask_fix(draft: &mut Draft, index: usize, rounds_left: bool) {
    let review = draft.run.review.clone();
    let severity = review.as_ref().map_or(Severity::Major, |review| review.severity);
    let said = review.map(|review| review.summary).unwrap_or_default();
    let why = match (severity, rounds_left) {
        (Severity::Major, _) => "the failure is major",
        (Severity::Minor, false) => "the fix rounds are spent",
        (Severity::Minor, true) => "fixes are set to manual",
    };
    let allowed = vec![DecisionKind::Retry, DecisionKind::AcceptAnyway, DecisionKind::Cancel];
    place(draft, HoldKind::Fix, Some(index), format!("validation failed ({why}): {said}"), allowed);
}

/// A stage ran out of time.
pub(super) fn ask_timeout(draft: &mut Draft, index: usize) {
    let minutes = stage::timeout_minutes(draft, index);
    let summary = format!("{} did not end in its time ({minutes} min)", draft.run.stage(index).name);
    let allowed = vec![DecisionKind::Extend, DecisionKind::Retry, DecisionKind::Cancel];
    place(draft, HoldKind::Timeout, Some(index), summary, allowed);
}

/// The model failed after all retries.
pub(super) fn ask_model(draft: &mut Draft, index: usize, reason: &str) {
    let allowed = vec![DecisionKind::Retry, DecisionKind::Cancel];
    place(draft, HoldKind::Model, Some(index), format!("the model is unavailable: {reason}"), allowed);
}

/// The limit is reached.
pub(super) fn ask_budget(draft: &mut Draft, index: usize, reason: &str) {
    let spent = draft.run.spend.cost;
    let allowed = vec![DecisionKind::Raise, DecisionKind::Cancel];
    place(
        draft,
        HoldKind::Budget,
        Some(index),
        format!("the spend limit is reached ({spent} spent): {reason}"),
        allowed,
    );
}

/// The work does not get into its base.
pub(super) fn ask_conflict(draft: &mut Draft, reason: &str, paths: &[String]) {
    let shown = paths.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    let more = paths.len().saturating_sub(5);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    let summary = if paths.is_empty() { reason.to_owned() } else { format!("{reason}: {shown}{tail}") };
    place(draft, HoldKind::Conflict, None, summary, vec![DecisionKind::Retry, DecisionKind::Cancel]);
}

/// The remote did not take a push.
pub(super) fn ask_credentials(draft: &mut Draft, reason: &str) {
    let summary = format!("the remote did not take the branch: {reason}");
    place(draft, HoldKind::Credentials, None, summary, vec![DecisionKind::Retry, DecisionKind::Cancel]);
}

/// Nothing more can be done without a person.
pub(super) fn ask_stuck(draft: &mut Draft, index: Option<usize>, summary: &str) {
    place(draft, HoldKind::Stuck, index, summary.to_owned(), vec![DecisionKind::Retry, DecisionKind::Cancel]);
}

fn place(draft: &mut Draft, kind: HoldKind, index: Option<usize>, summary: String, allowed: Vec<DecisionKind>) {
    let digest = Digest::of([stamp(draft).as_str(), kind.word(), summary.as_str()]);
    let stage = index.map(|index| draft.run.stage(index).name.clone());
    let hold = Hold {
        id: draft.next_hold(),
        kind,
        stage,
        since: draft.now,
        summary,
        artifact: None,
        question: None,
        attempt_number: 0,
        digest,
        allowed,
    };
    draft.place(hold);
}

/// Makes every hold's digest its own, even when two holds show the same text.
pub(super) fn stamp(draft: &Draft) -> String {
    let run: &Run = &draft.run;
    format!("{}#{}", run.id, run.version + 1)
}
