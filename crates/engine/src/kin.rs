//! What runs say to each other: a parent begins, pauses and ends its children, a child tells how it ended.
//! Every word is a command through the same door as all others, and may be said twice.

use std::time::Duration;

use domain::{
    Actor, ChildTask, ChildWord, Command, Decide, Decision, Effect, HoldKind, Outcome, Parent, Rejection, Run, RunId,
};

use crate::{Engine, Job, Refusal};

/// Does an effect between runs; `None` for all others.
pub(crate) async fn run(engine: &Engine, job: &Job) -> Option<Outcome> {
    match &job.effect {
        Effect::StartChild(child) => Some(start(engine, &job.run, child).await),
        Effect::TellChild { task, attempt, word } => Some(tell(engine, &job.run, task, *attempt, *word).await),
        Effect::TellParent => Some(report(engine, &job.run).await),
        Effect::OpenChildBranch => orphaned(engine, &job.run).await,
        Effect::OpenBranch
        | Effect::OpenFork { .. }
        | Effect::RunAgent(_)
        | Effect::Prove { .. }
        | Effect::StopAgent { .. }
        | Effect::CommitArtifact { .. }
        | Effect::Adopt { .. }
        | Effect::MergeChild(_)
        | Effect::TellAgent { .. }
        | Effect::Publish { .. }
        | Effect::WriteRecord
        | Effect::Land(_)
        | Effect::PushRemote { .. }
        | Effect::OpenPullRequest { .. }
        | Effect::CleanUp => None,
    }
}

async fn start(engine: &Engine, run: &Run, child: &ChildTask) -> Outcome {
    let Some(start) = run.child_start(child) else {
        return failed(format!("there is no task `{}`", child.task));
    };
    for salt in 0..RunId::SALTS {
        let id = RunId::child_of(&run.id, &child.task, child.attempt, salt);
        match submit(engine, &id, Command::Start(Box::new(start.clone()))).await {
            Ok(()) => return Outcome::ChildStarted { child: id },
            Err(Refusal::ShortIdTaken) => {}
            Err(Refusal::Rejected(Rejection::AlreadyStarted)) => {
                if is_child(engine, &id, run, &child.task, child.attempt).await.is_some() {
                    return Outcome::ChildStarted { child: id };
                }
            }
            Err(
                refusal @ (Refusal::Rejected(_)
                | Refusal::Store(_)
                | Refusal::Stopped
                | Refusal::Panicked(_)
                | Refusal::Quarantined(_)),
            ) => return failed(refusal.to_string()),
        }
    }
    failed("no free name was found for its run".to_owned())
}

async fn tell(engine: &Engine, run: &Run, task: &str, attempt: u32, word: ChildWord) -> Outcome {
    for salt in 0..RunId::SALTS {
        let id = RunId::child_of(&run.id, task, attempt, salt);
        let Some(child) = is_child(engine, &id, run, task, attempt).await else { continue };
        let by = Actor { name: run.opened().by.name.clone(), channel: format!("run {}", run.id.short()) };
        let command = match word {
            ChildWord::Cancel => {
                Some(Command::Cancel { by, reason: Some("its parent run ended or began anew".to_owned()) })
            }
            ChildWord::Pause => Some(Command::Pause { by, reason: Some("its parent run was paused".to_owned()) }),
            ChildWord::Resume => resume(&child, by),
        };
        if let Some(command) = command {
            // A child that is over, or waits already, needs no word.
            let _ = submit(engine, &id, command).await;
        }
        break;
    }
    Outcome::Told
}

fn resume(child: &Run, by: Actor) -> Option<Command> {
    let hold = child.hold().filter(|hold| hold.kind == HoldKind::Paused)?;
    let (hold, digest) = (hold.id, hold.digest.clone());
    Some(Command::Decide(Decide { hold, digest, decision: Decision::Resume, by }))
}

async fn report(engine: &Engine, run: &Run) -> Outcome {
    if let (Some(parent), Some(report)) = (run.opened().parent.clone(), run.child_report()) {
        // A parent that is over, or has given the task to another child, does not need to know.
        let _ = submit(engine, &parent.run, Command::ChildEnded(report)).await;
    }
    Outcome::Told
}

/// A child that came to life after its parent's end is ended before it does anything.
async fn orphaned(engine: &Engine, run: &Run) -> Option<Outcome> {
    let parent = run.opened().parent.clone()?;
    let over = load(engine, &parent.run).await.is_none_or(|found| found.is_ended());
    over.then(|| failed("its parent run is over".to_owned()))
}

/// The child of that task and attempt, if the run of that id is it.
async fn is_child(engine: &Engine, id: &RunId, parent: &Run, task: &str, attempt: u32) -> Option<Run> {
    let ours = |known: &Parent| known.run == parent.id && known.task == task && known.attempt == attempt;
    let child = load(engine, id).await?;
    child.opened().parent.as_ref().is_some_and(ours).then_some(child)
}

/// Reads until the store answers: "cannot be read" is not "does not exist".
async fn load(engine: &Engine, id: &RunId) -> Option<Run> {
    loop {
        match engine.load(id).await {
            Ok(found) => return found,
            Err(_) if engine.quarantined(id).is_some() => return None,
            Err(error) => {
                tracing::warn!(run = %id, %error, "a run could not be read; trying again");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// Submits until the store takes it or the run refuses it.
async fn submit(engine: &Engine, id: &RunId, command: Command) -> Result<(), Refusal> {
    loop {
        match engine.submit(id.clone(), command.clone(), None).await {
            Ok(_) => return Ok(()),
            Err(Refusal::Store(error)) => {
                tracing::warn!(run = %id, %error, "a word between runs could not be stored; trying again");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Err(
                refusal @ (Refusal::Rejected(_)
                | Refusal::ShortIdTaken
                | Refusal::Stopped
                | Refusal::Panicked(_)
                | Refusal::Quarantined(_)),
            ) => return Err(refusal),
        }
    }
}

fn failed(message: String) -> Outcome {
    Outcome::Failed { message, hint: None }
}
