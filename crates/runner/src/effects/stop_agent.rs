//! Ends an agent's processes and keeps its unfinished tree.

use domain::{EffectId, Outcome};
use engine::{Job, boundary};

use super::run_agent::{keep_unfinished, note_end, take_login_back};
use crate::attempt;
use crate::hands::Hands;
use crate::shim::client::Attempt;
use crate::task_file;
use crate::trouble::Trouble;

pub(crate) async fn run(hands: &Hands, job: &Job, target: u32) -> Result<Outcome, Trouble> {
    let spool = hands.paths.spool(&EffectId { run: job.id.run.clone(), number: target }, None);
    if spool.exists() {
        boundary("stop.before");
        Attempt::of_spool(&spool).stop().await?;
        boundary("stop.after");
        attempt::settle(job, &spool, target).await?;
        take_login_back(hands, job).await?;
        keep_task_file(hands, job).await?;
        let working = job.run.current_stage().and_then(|index| job.run.sessions.get(&job.run.stage(index).role));
        if let Some(session) = working {
            note_end(hands, job, session).await?;
        }
    }
    let wip = match &job.run.head {
        Some(head) => keep_unfinished(hands, job, head).await?,
        None => None,
    };
    Ok(Outcome::AgentStopped { wip })
}

/// What the stopped agent noted in TASK.md is there for the next one.
async fn keep_task_file(hands: &Hands, job: &Job) -> Result<(), Trouble> {
    let (paths, run) = (hands.paths.clone(), job.run.clone());
    hands.blocking(&job.id.run, move || task_file::keep(&paths, &run)).await
}
