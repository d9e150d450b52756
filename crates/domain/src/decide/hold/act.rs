//! Using a decision exactly once: refused unless it is this hold, this digest and an allowed decision.

use crate::decide::{Draft, cancel, clarify, converse, delegate, finish, pause, pursue, stage};
use crate::{
    Decide, Decision, Effect, Event, Hold, HoldKind, Plan, Purpose, Rejection, Work, looks_secret, parse_goal_tasks,
};

/// A person decided.
pub(in crate::decide) fn decide(draft: &mut Draft, decide: Decide) -> Result<(), Rejection> {
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
    check_text(&hold, &decide.decision)?;
    check_tasks(draft, &hold, &decide.decision)?;
    if let Some(question) = &hold.question {
        clarify::check(question, &decide.decision)?;
    }
    draft.record(decision_event(draft, &hold, &decide));
    act(draft, &hold, decide);
    Ok(())
}

fn check_text(hold: &Hold, decision: &Decision) -> Result<(), Rejection> {
    let refuse = |text: &str| Err(Rejection::BadAnswer(text.to_owned()));
    match decision {
        Decision::Reject { feedback: text } | Decision::Suggest { text } if text.trim().is_empty() => {
            refuse("say what shall be different")
        }
        Decision::Ask { question } if question.trim().is_empty() => refuse("say what you want to know"),
        Decision::ModifyPlan { plan } if plan.trim().is_empty() => refuse("the plan is empty"),
        Decision::ModifyPlan { plan } if plan.len() > Plan::MAX_BYTES => refuse("the plan is longer than 512 KiB"),
        Decision::ModifyPlan { plan } => match hold.artifact.as_ref().map(|artifact| artifact.kind) {
            Some(crate::ArtifactKind::Plan) => {
                let parsed = Plan::parse(plan).and_then(|plan| plan.check());
                parsed.map_err(|error| Rejection::BadPlan(error.to_string()))
            }
            Some(_) | None => Ok(()),
        },
        Decision::Extend { minutes } if !(1..=10_080).contains(minutes) => refuse("extend by 1 to 10080 minutes"),
        Decision::Raise { by } if by.0 == 0 => refuse("raise the limit by more than nothing"),
        Decision::Approve { .. }
        | Decision::Reject { .. }
        | Decision::Suggest { .. }
        | Decision::Ask { .. }
        | Decision::Answer { .. }
        | Decision::Ignore
        | Decision::Retry { .. }
        | Decision::ApproveForRun
        | Decision::AcceptAnyway { .. }
        | Decision::Extend { .. }
        | Decision::Raise { .. }
        | Decision::Resolve
        | Decision::CreatePr
        | Decision::TakeOver
        | Decision::Resume
        | Decision::Cancel { .. } => Ok(()),
    }
}

/// What a person wants done on the way to a goal must be tasks.
fn check_tasks(draft: &Draft, hold: &Hold, decision: &Decision) -> Result<(), Rejection> {
    if let Decision::ModifyPlan { plan } = decision
        && pursues(draft, hold)
    {
        parse_goal_tasks(plan).map_err(|error| Rejection::BadPlan(error.to_string()))?;
    }
    Ok(())
}

fn pursues(draft: &Draft, hold: &Hold) -> bool {
    let index = hold.stage.as_deref().and_then(|name| draft.run.opened().playbook.index_of(name));
    index.is_some_and(|index| matches!(draft.run.stage(index).work, Work::Pursue { .. }))
}

/// Whether what a person says to a hold is a secret: who asked said so, or it looks like one.
fn is_secret(draft: &Draft, hold: &Hold, said: &[String]) -> bool {
    let Some(question) = &hold.question else { return false };
    let marked = question.secret
        || (hold.kind == HoldKind::Approval && draft.run.pending_questions.iter().any(|pending| pending.secret));
    marked || said.iter().any(|part| looks_secret(part))
}

fn decision_event(draft: &Draft, hold: &Hold, decide: &Decide) -> Event {
    let Decide { decision, digest, by, .. } = decide.clone();
    match (hold.kind, &decision) {
        (HoldKind::Approval, Decision::Approve { notes }) => {
            let secret = notes.is_some() && is_secret(draft, hold, notes.as_slice());
            Event::ApprovalGranted { hold: hold.id, digest, by, notes: notes.clone(), secret }
        }
        (HoldKind::Approval, Decision::Reject { .. } | Decision::Suggest { .. }) => {
            Event::ApprovalRejected { hold: hold.id, digest, by, decision }
        }
        (HoldKind::Clarification, Decision::Answer { answer }) => {
            let secret = is_secret(draft, hold, answer);
            Event::ClarificationAnswered { hold: hold.id, digest, by, decision, secret }
        }
        (HoldKind::Clarification, Decision::Ignore) => {
            Event::ClarificationAnswered { hold: hold.id, digest, by, decision, secret: false }
        }
        (_, _) => Event::DecisionMade { hold: hold.id, digest, by, decision },
    }
}

fn act(draft: &mut Draft, hold: &Hold, decide: Decide) {
    let stage = hold.stage.as_deref().and_then(|name| draft.run.opened().playbook.index_of(name));
    match (decide.decision, stage) {
        (Decision::Cancel { reason }, _) => cancel::end(draft, decide.by, reason),
        (decision, Some(index)) => in_stage(draft, hold, index, decision, &decide.by.name),
        (decision, None) => in_finish(draft, hold, &decision),
    }
}

fn in_stage(draft: &mut Draft, hold: &Hold, index: usize, decision: Decision, by: &str) {
    match decision {
        Decision::Approve { .. } => match hold.kind {
            HoldKind::Confirm => converse::confirmed(draft, index, hold),
            HoldKind::Permission | HoldKind::Budget => stage::go_on(draft, index),
            HoldKind::Stuck => stage::begin(draft, index),
            HoldKind::Approval
            | HoldKind::Clarification
            | HoldKind::Fix
            | HoldKind::Timeout
            | HoldKind::Model
            | HoldKind::Quota
            | HoldKind::Conflict
            | HoldKind::Credentials
            | HoldKind::Review
            | HoldKind::Paused => {
                if hold.question.is_some() {
                    stage::go_on(draft, index)
                } else {
                    stage::pass(draft, index)
                }
            }
        },
        Decision::Reject { .. } | Decision::Suggest { .. } if hold.kind == HoldKind::Permission => {
            stage::go_on(draft, index);
        }
        Decision::Reject { .. } | Decision::Suggest { .. } => send_back(draft, hold, index),
        Decision::ModifyPlan { plan } if pursues(draft, hold) => pursue::planned(draft, index, &plan, by),
        Decision::ModifyPlan { plan } => {
            let stage = draft.run.stage(index).name.clone();
            let kind = hold.artifact.as_ref().map(|artifact| artifact.kind);
            let kind = kind.expect("only a hold that shows an artifact takes another version of it");
            draft.request(Effect::CommitArtifact { stage, kind, content: plan });
        }
        Decision::Ask { question } => {
            let minutes = stage::timeout_minutes(draft, index);
            draft.request_agent(index, Purpose::Answer { question }, minutes);
        }
        Decision::Answer { .. } | Decision::Ignore => clarify::answered(draft, index),
        Decision::Raise { .. } => stage::go_on(draft, index),
        Decision::Extend { minutes } => stage::go_on_for(draft, index, minutes),
        Decision::ApproveForRun => stage::go_on(draft, index),
        Decision::AcceptAnyway { .. } | Decision::CreatePr => stage::pass(draft, index),
        Decision::Retry { .. } => retry(draft, hold, index),
        Decision::Resolve => delegate::advance(draft),
        Decision::TakeOver => {
            let commit = draft.run.head.clone().expect("a stage starts only after the branch was created");
            draft.request(Effect::Publish { commit });
        }
        Decision::Resume => pause::resume(draft, index, by),
        Decision::Cancel { .. } => {}
    }
}

fn in_finish(draft: &mut Draft, hold: &Hold, decision: &Decision) {
    match decision {
        Decision::Approve { .. } if !hold.findings.is_empty() => finish::again(draft),
        Decision::Approve { .. } => finish::agreed(draft),
        Decision::CreatePr => finish::push(draft),
        Decision::Reject { .. }
        | Decision::Suggest { .. }
        | Decision::ModifyPlan { .. }
        | Decision::Ask { .. }
        | Decision::Answer { .. }
        | Decision::Ignore
        | Decision::Retry { .. }
        | Decision::ApproveForRun
        | Decision::AcceptAnyway { .. }
        | Decision::Extend { .. }
        | Decision::Raise { .. }
        | Decision::Resolve
        | Decision::TakeOver
        | Decision::Resume
        | Decision::Cancel { .. } => finish::again(draft),
    }
}

/// Work that was judged goes back to the stage that made it; everything else is done again where it was made or asked.
fn send_back(draft: &mut Draft, hold: &Hold, index: usize) {
    let on_fail = draft.run.stage(index).work.on_fail();
    let made_by = on_fail.and_then(|name| draft.run.opened().playbook.index_of(name));
    match (hold.kind, made_by) {
        (HoldKind::Approval | HoldKind::Review | HoldKind::Stuck, Some(target)) if hold.question.is_none() => {
            stage::begin(draft, target);
        }
        (_, _) => stage::begin(draft, index),
    }
}

fn retry(draft: &mut Draft, hold: &Hold, index: usize) {
    if let (true, Some(publish @ Effect::Publish { .. })) =
        (delegate::is_delegating(draft), draft.run.failed_effect.clone())
    {
        return draft.request(publish);
    }
    if delegate::is_delegating(draft) {
        return delegate::retry(draft, hold);
    }
    match hold.kind {
        HoldKind::Model | HoldKind::Quota | HoldKind::Budget => stage::go_on(draft, index),
        HoldKind::Fix => {
            let on_fail = draft.run.stage(index).work.on_fail();
            let target = on_fail.and_then(|name| draft.run.opened().playbook.index_of(name));
            stage::begin(draft, target.unwrap_or(index));
        }
        HoldKind::Stuck => match draft.run.failed_effect.clone() {
            Some(
                effect @ (Effect::Prove { .. }
                | Effect::Publish { .. }
                | Effect::CommitArtifact { .. }
                | Effect::Adopt { .. }),
            ) => draft.request(effect),
            Some(_) | None => stage::begin(draft, index),
        },
        HoldKind::Approval
        | HoldKind::Clarification
        | HoldKind::Confirm
        | HoldKind::Permission
        | HoldKind::Timeout
        | HoldKind::Conflict
        | HoldKind::Credentials
        | HoldKind::Review
        | HoldKind::Paused => stage::begin(draft, index),
    }
}
