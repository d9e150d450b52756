//! Reports of effects: each one leads to the next step. Never retries by itself: that is a decision.

use super::finish::Landing;
use super::hold::SecretsIn;
use super::{Draft, cancel, clarify, converse, delegate, finish, fork, hold, pursue, stage, submitted};
use crate::{AgentEnd, ArtifactKind, Effect, Event, Outcome, Purpose, Rejection, Report, WhenStuck, Work};

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
        Effect::OpenBranch | Effect::OpenChildBranch => matches!(outcome, Outcome::BranchOpened { .. }),
        Effect::OpenFork { .. } => matches!(outcome, Outcome::ForkOpened { .. }),
        Effect::RunAgent(_) => matches!(outcome, Outcome::AgentEnded { .. }),
        Effect::Prove { .. } => matches!(outcome, Outcome::Proved { .. }),
        Effect::StopAgent { .. } => matches!(outcome, Outcome::AgentStopped { .. }),
        Effect::CommitArtifact { .. } => {
            matches!(outcome, Outcome::ArtifactCommitted { .. } | Outcome::ArtifactRefused { .. })
        }
        Effect::Adopt { .. } => matches!(outcome, Outcome::Adopted { .. } | Outcome::NotAdopted { .. }),
        Effect::StartChild(_) => matches!(outcome, Outcome::ChildStarted { .. }),
        Effect::MergeChild(_) => matches!(outcome, Outcome::ChildMerged { .. } | Outcome::ChildConflicts { .. }),
        Effect::TellChild { .. } | Effect::TellAgent { .. } | Effect::TellParent => matches!(outcome, Outcome::Told),
        Effect::Publish { .. } => matches!(outcome, Outcome::Published),
        Effect::WriteRecord => matches!(outcome, Outcome::RecordWritten { .. }),
        Effect::Land(_) => {
            matches!(
                outcome,
                Outcome::Landed { .. }
                    | Outcome::NotLanded { .. }
                    | Outcome::LandingUnproven { .. }
                    | Outcome::BaseMoved { .. }
                    | Outcome::SecretsFound { .. }
            )
        }
        Effect::PushRemote { ask, .. } => {
            let unasked = *ask && matches!(outcome, Outcome::PushUnasked { .. });
            let ends =
                matches!(outcome, Outcome::Pushed { .. } | Outcome::PushRefused { .. } | Outcome::SecretsFound { .. });
            unasked || ends
        }
        Effect::OpenPullRequest { .. } => {
            matches!(outcome, Outcome::PullRequestOpened { .. } | Outcome::PullRequestRefused { .. })
        }
        Effect::CleanUp => matches!(outcome, Outcome::CleanedUp),
    }
}

fn finished(draft: &mut Draft, number: u32, outcome: &Outcome) {
    let program = if let Outcome::AgentEnded { program, .. } = outcome { program.clone() } else { None };
    let (tier, wip) = match outcome {
        Outcome::AgentEnded { tier, wip, .. } => (tier.clone(), wip.clone()),
        Outcome::AgentStopped { wip } => (None, wip.clone()),
        Outcome::BranchOpened { .. }
        | Outcome::ForkOpened { .. }
        | Outcome::Proved { .. }
        | Outcome::ArtifactCommitted { .. }
        | Outcome::ArtifactRefused { .. }
        | Outcome::Adopted { .. }
        | Outcome::NotAdopted { .. }
        | Outcome::ChildStarted { .. }
        | Outcome::ChildMerged { .. }
        | Outcome::ChildConflicts { .. }
        | Outcome::Told
        | Outcome::PullRequestOpened { .. }
        | Outcome::PullRequestRefused { .. }
        | Outcome::Published
        | Outcome::RecordWritten { .. }
        | Outcome::Landed { .. }
        | Outcome::NotLanded { .. }
        | Outcome::LandingUnproven { .. }
        | Outcome::BaseMoved { .. }
        | Outcome::PushUnasked { .. }
        | Outcome::Pushed { .. }
        | Outcome::SecretsFound { .. }
        | Outcome::PushRefused { .. }
        | Outcome::CleanedUp
        | Outcome::Failed { .. } => (None, None),
    };
    let result = outcome.word().to_owned();
    draft.record(Event::EffectFinished { number, result, tier, program, wip, problem: outcome.problem() });
}

fn next(draft: &mut Draft, effect: &Effect, outcome: Outcome) {
    match outcome {
        Outcome::BranchOpened { base } => {
            draft.record(Event::BranchCreated { base });
            stage::begin(draft, 0);
        }
        Outcome::ForkOpened { carried } => fork::opened(draft, carried),
        Outcome::AgentEnded { end, .. } => agent_ended(draft, effect, end),
        Outcome::Proved { proof } => {
            if let Some(index) = draft.run.current_stage() {
                stage::proved(draft, index, proof);
            }
        }
        Outcome::AgentStopped { .. } | Outcome::Told => {}
        Outcome::ArtifactCommitted { artifact } => {
            if let Some(index) = draft.run.current_stage() {
                submitted::taken_in(draft, index, *artifact, effect);
            }
        }
        Outcome::ArtifactRefused { reason } => {
            if let Some(index) = draft.run.current_stage() {
                submitted::refused(draft, index, &reason);
            }
        }
        Outcome::Adopted { artifact } => {
            if let Some(index) = draft.run.current_stage() {
                submitted::adopted(draft, index, *artifact);
            }
        }
        Outcome::NotAdopted { .. } => {
            if let Some(index) = draft.run.current_stage() {
                hold::ask_paused(draft, index);
            }
        }
        Outcome::ChildStarted { child } => {
            if let Effect::StartChild(task) = effect {
                delegate::started(draft, task, child);
            }
        }
        Outcome::ChildMerged { commit, digest, files } => {
            if let Effect::MergeChild(merge) = effect {
                delegate::merged(draft, &merge.task, commit, digest, files);
            }
        }
        Outcome::ChildConflicts { paths, marked } => {
            if let Effect::MergeChild(merge) = effect {
                delegate::conflicts(draft, &merge.task, paths, marked);
            }
        }
        Outcome::Published => published(draft, effect),
        Outcome::RecordWritten { commit, memory } => {
            draft.record(Event::RecordWritten { commit, memory });
            finish::publish(draft);
        }
        Outcome::Landed { commit, proof, onto } => finish::landed(draft, effect, Landing { commit, proof, onto }),
        Outcome::BaseMoved { base } => {
            draft.record(Event::BaseMoved { base: base.clone() });
            hold::ask_moved(draft, &base);
        }
        Outcome::PushUnasked { remote } => hold::ask_push(draft, &remote),
        Outcome::NotLanded { reason, paths } => hold::ask_conflict(draft, &reason, &paths),
        Outcome::LandingUnproven { proof } => {
            let paths =
                proof.checks.iter().filter(|check| !check.passed()).map(|check| check.name.clone()).collect::<Vec<_>>();
            draft.record(Event::ProofRecorded { proof });
            hold::ask_conflict(draft, "merged with the moved base, these checks fail", &paths);
        }
        Outcome::Pushed { remote } => finish::pushed(draft, remote),
        Outcome::SecretsFound { findings } => {
            let merges = matches!(effect, Effect::Land(_));
            hold::ask_secrets(draft, if merges { SecretsIn::Merge } else { SecretsIn::Push }, findings);
        }
        Outcome::PushRefused { reason } => {
            hold::ask_credentials(draft, format!("the remote did not take the branch: {reason}"));
        }
        Outcome::PullRequestOpened { url } => {
            draft.record(Event::PrOpened { url });
            finish::clean_up(draft);
        }
        Outcome::PullRequestRefused { reason } => {
            hold::ask_credentials(draft, format!("the pull request could not be opened: {reason}"));
        }
        Outcome::CleanedUp => finish::cleaned(draft),
        Outcome::Failed { message, hint } => could_not(draft, effect, &message, hint.as_deref()),
    }
}

fn published(draft: &mut Draft, effect: &Effect) {
    if let Effect::Publish { commit } = effect {
        draft.record(Event::BranchPublished { commit: commit.clone() });
    }
    match draft.run.current_stage() {
        Some(index) if draft.run.taken_over.is_some() => hold::ask_paused(draft, index),
        Some(index) => match draft.run.next_stage(index) {
            Some(next) => stage::begin(draft, next),
            None => finish::begin(draft),
        },
        None => finish::published(draft),
    }
}

fn agent_ended(draft: &mut Draft, effect: &Effect, end: AgentEnd) {
    let Some(index) = draft.run.current_stage() else { return };
    if let Effect::RunAgent(task) = effect {
        match &task.purpose {
            Purpose::Answer { question } => return hold::answered(draft, index, question.clone(), &answer_of(&end)),
            // However it ended: the run waits until the person hands it back.
            Purpose::Sit => return,
            Purpose::Stage | Purpose::Pulse { .. } | Purpose::Iterate { .. } => {}
        }
    }
    match end {
        AgentEnd::Submitted(submission) => submitted::submitted(draft, index, *submission),
        AgentEnd::HoldsSecrets { findings } => {
            hold::ask_secrets(draft, SecretsIn::HandIn { stage: index }, findings);
        }
        AgentEnd::Asked { questions } => clarify::ask(draft, index, questions),
        AgentEnd::Said { ready, message } => converse::said(draft, index, ready, message),
        AgentEnd::Answered { .. } => crashed(draft, index, "it answered a question nobody asked".to_owned()),
        AgentEnd::Reflected { reflection, tree } => pursue::reflected(draft, index, reflection, tree),
        AgentEnd::NeedsTime { minutes, reason } => hold::ask_timeout(draft, index, Some((minutes, &reason))),
        AgentEnd::NeedsPermission { request } => hold::ask_permission(draft, index, request),
        AgentEnd::Crashed { reason } => crashed(draft, index, reason),
        AgentEnd::ModelFailed { reason } => hold::ask_model(draft, index, &reason),
        AgentEnd::QuotaSpent { reason, resets_at } => hold::ask_quota(draft, index, &reason, resets_at),
        AgentEnd::BudgetSpent { reason, shortage } => hold::ask_budget(draft, index, &reason, shortage),
        AgentEnd::Left => crashed(draft, index, "a person left a conversation that they did not have".to_owned()),
    }
}

fn answer_of(end: &AgentEnd) -> String {
    match end {
        AgentEnd::Answered { text } => text.clone(),
        AgentEnd::Crashed { reason }
        | AgentEnd::ModelFailed { reason }
        | AgentEnd::QuotaSpent { reason, .. }
        | AgentEnd::BudgetSpent { reason, .. } => format!("(no answer: {reason})"),
        AgentEnd::Submitted(_)
        | AgentEnd::HoldsSecrets { .. }
        | AgentEnd::Asked { .. }
        | AgentEnd::Said { .. }
        | AgentEnd::Reflected { .. }
        | AgentEnd::NeedsTime { .. }
        | AgentEnd::NeedsPermission { .. }
        | AgentEnd::Left => "(no answer: the agent did something else)".to_owned(),
    }
}

pub(super) fn crashed(draft: &mut Draft, index: usize, reason: String) {
    let stage = draft.run.stage(index).clone();
    let count = draft.run.stages[index].crashes + 1;
    draft.record(Event::AgentCrashed { stage: stage.name.clone(), count, reason: reason.clone() });
    if count < stage.crashes {
        return stage::go_on(draft, index);
    }
    if stage.work.artifact().is_some_and(ArtifactKind::is_code) && matches!(stage.work, Work::Produce { .. }) {
        draft.record(Event::ImplementationFailed { reason: reason.clone() });
    }
    let summary = format!("the agent ended {count} times without handing anything in; last: {reason}");
    match draft.run.opened().playbook.when_stuck {
        WhenStuck::Ask => hold::ask_stuck(draft, Some(index), &summary),
        WhenStuck::Fail => cancel::fail(draft, &summary),
    }
}

/// An effect that could not be done waits for a person, except where nothing depends on it any more.
fn could_not(draft: &mut Draft, effect: &Effect, message: &str, hint: Option<&str>) {
    let told = matches!(
        effect,
        Effect::StopAgent { .. } | Effect::TellChild { .. } | Effect::TellAgent { .. } | Effect::TellParent
    );
    // A merge for a stage that was left since is not missed: the tasks are planned anew.
    let left = matches!(effect, Effect::MergeChild(_)) && !delegate::is_delegating(draft);
    if draft.run.is_ended() || told || left {
        return;
    }
    // The work is done and where it should be; what was left lying about is tried again by a later clean-up.
    if matches!(effect, Effect::CleanUp) {
        return finish::cleaned(draft);
    }
    if let Effect::StartChild(child) = effect {
        return delegate::not_started(draft, child, message);
    }
    if let (Effect::RunAgent(task), Some(index)) = (effect, draft.run.current_stage())
        && let Purpose::Answer { question } = &task.purpose
    {
        return hold::answered(draft, index, question.clone(), &format!("(no answer: {message})"));
    }
    if matches!(effect, Effect::OpenBranch | Effect::OpenChildBranch | Effect::OpenFork { .. }) {
        return cancel::fail(draft, message);
    }
    let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
    let summary = format!("could not do `{}`: {message}{hint}", effect.word());
    if draft.run.hold().is_none() {
        hold::ask_stuck(draft, draft.run.current_stage(), &summary);
    }
}
