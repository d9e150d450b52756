//! Reports of effects: each one leads to the next step. Never retries by itself: that is a decision.

use super::{Draft, clarify, finish, hold, stage};
use crate::{AgentEnd, ArtifactKind, Effect, Event, Outcome, Rejection, Report, Submission, Work};

pub(super) fn report(draft: &mut Draft, report: Report) -> Result<(), Rejection> {
    let number = report.effect;
    let effect = draft.run.open_effects.get(&number).cloned().ok_or(Rejection::EffectNotOpen(number))?;
    if !fits(&effect, &report.outcome) {
        return Err(Rejection::WrongOutcome(number));
    }
    finished(draft, number, &report.outcome);
    next(draft, &effect, report.outcome);
    Ok(())
}

fn fits(effect: &Effect, outcome: &Outcome) -> bool {
    if matches!(outcome, Outcome::Failed { .. }) {
        return true;
    }
    match effect {
        Effect::OpenBranch => matches!(outcome, Outcome::BranchOpened { .. }),
        Effect::RunAgent(_) => matches!(outcome, Outcome::AgentEnded { .. }),
        Effect::Prove { .. } => matches!(outcome, Outcome::Proved { .. }),
        Effect::StopAgent { .. } => matches!(outcome, Outcome::AgentStopped { .. }),
        Effect::Publish { .. } => matches!(outcome, Outcome::Published),
        Effect::WriteRecord => matches!(outcome, Outcome::RecordWritten { .. }),
        Effect::Land(_) => {
            matches!(outcome, Outcome::Landed { .. } | Outcome::NotLanded { .. } | Outcome::LandingUnproven { .. })
        }
        Effect::PushRemote { .. } => matches!(outcome, Outcome::Pushed { .. } | Outcome::PushRefused { .. }),
        Effect::CleanUp => matches!(outcome, Outcome::CleanedUp),
    }
}

fn finished(draft: &mut Draft, number: u32, outcome: &Outcome) {
    let (tier, wip) = match outcome {
        Outcome::AgentEnded { tier, wip, .. } => (tier.clone(), wip.clone()),
        Outcome::AgentStopped { wip } => (None, wip.clone()),
        Outcome::BranchOpened { .. }
        | Outcome::Proved { .. }
        | Outcome::Published
        | Outcome::RecordWritten { .. }
        | Outcome::Landed { .. }
        | Outcome::NotLanded { .. }
        | Outcome::LandingUnproven { .. }
        | Outcome::Pushed { .. }
        | Outcome::PushRefused { .. }
        | Outcome::CleanedUp
        | Outcome::Failed { .. } => (None, None),
    };
    let result = outcome.word().to_owned();
    draft.record(Event::EffectFinished { number, result, tier, wip, problem: outcome.problem() });
}

fn next(draft: &mut Draft, effect: &Effect, outcome: Outcome) {
    match outcome {
        Outcome::BranchOpened { base } => {
            draft.record(Event::BranchCreated { base });
            stage::begin(draft, 0);
        }
        Outcome::AgentEnded { end, .. } => agent_ended(draft, end),
        Outcome::Proved { proof } => {
            if let Some(index) = draft.run.current_stage() {
                stage::proved(draft, index, proof);
            }
        }
        Outcome::AgentStopped { .. } => {}
        Outcome::Published => published(draft, effect),
        Outcome::RecordWritten { commit } => {
            draft.record(Event::RecordWritten { commit });
            finish::publish(draft);
        }
        Outcome::Landed { commit, proof } => finish::landed(draft, effect, commit, proof),
        Outcome::NotLanded { reason, paths } => hold::ask_conflict(draft, &reason, &paths),
        Outcome::LandingUnproven { proof } => {
            let paths =
                proof.checks.iter().filter(|check| !check.passed()).map(|check| check.name.clone()).collect::<Vec<_>>();
            draft.record(Event::ProofRecorded { proof });
            hold::ask_conflict(draft, "merged with the moved base, these checks fail", &paths);
        }
        Outcome::Pushed { remote } => {
            if let Some(remote) = remote {
                draft.record(Event::BranchPushed { remote });
            }
            finish::clean_up(draft);
        }
        Outcome::PushRefused { reason } => hold::ask_credentials(draft, &reason),
        Outcome::CleanedUp => finish::cleaned(draft),
        Outcome::Failed { message, hint } => could_not(draft, effect, &message, hint.as_deref()),
    }
}

fn published(draft: &mut Draft, effect: &Effect) {
    if let Effect::Publish { commit } = effect {
        draft.record(Event::BranchPublished { commit: commit.clone() });
    }
    match draft.run.current_stage() {
        Some(index) => stage::begin(draft, index + 1),
        None => finish::published(draft),
    }
}

fn agent_ended(draft: &mut Draft, end: AgentEnd) {
    let Some(index) = draft.run.current_stage() else { return };
    match end {
        AgentEnd::Submitted(submission) => submitted(draft, index, *submission),
        AgentEnd::Asked { questions } => clarify::ask(draft, index, questions),
        AgentEnd::Crashed { reason } => crashed(draft, index, reason),
        AgentEnd::ModelFailed { reason } => hold::ask_model(draft, index, &reason),
        AgentEnd::BudgetSpent { reason } => hold::ask_budget(draft, index, &reason),
    }
}

fn submitted(draft: &mut Draft, index: usize, submission: Submission) {
    let Submission { artifact, decisions, review, .. } = submission;
    let wanted = match &draft.run.stage(index).work {
        Work::Produce { artifact } => *artifact,
        Work::Judge { .. } => ArtifactKind::ValidationReport,
    };
    if artifact.kind != wanted {
        let reason = format!("it handed in a `{}` where a `{}` was wanted", artifact.kind.word(), wanted.word());
        return crashed(draft, index, reason);
    }
    let commit = artifact.commit.clone();
    draft.record(Event::ArtifactCreated { artifact, decisions });
    match (wanted, review) {
        (ArtifactKind::Code, _) => {
            draft.record(Event::ImplementationSucceeded { commit });
            stage::gate(draft, index);
        }
        (ArtifactKind::Spec, _) => stage::gate(draft, index),
        (ArtifactKind::ValidationReport, Some(review)) => stage::judged(draft, index, review),
        (ArtifactKind::ValidationReport, None) => crashed(draft, index, "it gave no verdict".to_owned()),
    }
}

fn crashed(draft: &mut Draft, index: usize, reason: String) {
    let stage = draft.run.stage(index).clone();
    let count = draft.run.stages[index].crashes + 1;
    draft.record(Event::AgentCrashed { stage: stage.name.clone(), count, reason: reason.clone() });
    if count < stage.crashes {
        return stage::go_on(draft, index);
    }
    if matches!(stage.work, Work::Produce { artifact: ArtifactKind::Code }) {
        draft.record(Event::ImplementationFailed { reason: reason.clone() });
    }
    hold::ask_stuck(
        draft,
        Some(index),
        &format!("the agent ended {count} times without handing anything in; last: {reason}"),
    );
}

/// An effect that could not be done waits for a person, except where nothing depends on it any more.
fn could_not(draft: &mut Draft, effect: &Effect, message: &str, hint: Option<&str>) {
    if draft.run.is_ended() || matches!(effect, Effect::StopAgent { .. }) {
        return;
    }
    if matches!(effect, Effect::OpenBranch) {
        return super::cancel::fail(draft, message);
    }
    let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    let summary = format!("could not do `{}`: {message}{hint}", effect.word());
    hold::ask_stuck(draft, draft.run.current_stage(), &summary);
}
