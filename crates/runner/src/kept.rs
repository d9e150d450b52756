//! What an agent handed in is kept until it is committed: when its effect had to give up although the agent had ended,
//! the next effect for the same work takes the ended attempt up, and no agent is paid again. A person who says something
//! new, or names another model, lets the agent work again instead.

use std::path::PathBuf;
use std::sync::Arc;

use domain::{AgentTask, CommitId, EffectId, Run};
use engine::Job;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::paths::Paths;
use crate::repos::wished_at;
use crate::shim::client::Attempt;
use crate::shim::{Exit, How, Seen};
use crate::trouble::Trouble;

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kept {
    /// The effect whose agent has ended.
    number: u32,
    wished_at: Timestamp,
    task: AgentTask,
    /// What the agent was given besides.
    said: Said,
    /// The effect that has taken it up.
    taken_by: Option<u32>,
    /// Its tree, where it was kept apart because a person is asked about what is in it.
    #[serde(default)]
    blocked_at: Option<CommitId>,
}

/// What people told the run so far; the same for as long as nobody says anything new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    notes: usize,
    answers: usize,
    model: Option<String>,
}

impl Said {
    fn to(run: &Run, role: &str) -> Self {
        let model = run.model(role).map(ToString::to_string);
        Self { notes: run.notes.len(), answers: run.answers.len(), model }
    }
}

/// Notes that an effect gives up on an attempt that has ended. Nothing is noted for one that has not.
pub(crate) fn keep(paths: &Paths, job: &Job, task: &AgentTask) -> Result<(), Trouble> {
    let spool = paths.spool(&job.id, None);
    if let Some(taken) = read(paths, job)?.filter(|kept| kept.taken_by == Some(job.id.number)) {
        return write(paths, job, &Kept { taken_by: None, ..taken });
    }
    let ended = spool.exists().then(|| Attempt::of_spool(&spool).look()).transpose()?;
    match ended {
        // One that filled the disk was stopped, and what it left is removed: it works again.
        Some(Seen::Exited(Exit { exit: How::DiskQuota(_), .. })) => return Ok(()),
        Some(Seen::Exited(_)) => {}
        Some(Seen::NeverStarted | Seen::Running | Seen::Lost) | None => return Ok(()),
    }
    let (number, wished_at) = (job.id.number, wished_at(&job.run, &job.id));
    let said = Said::to(&job.run, &task.session.role);
    write(paths, job, &Kept { number, wished_at, task: task.clone(), said, taken_by: None, blocked_at: None })
}

/// Notes an attempt whose work waits for a person's word before it is committed. Unless they say something new to the
/// agent, the next effect commits it, and the agent does not work again.
pub(crate) fn keep_blocked(paths: &Paths, job: &Job, task: &AgentTask, tree: Option<&CommitId>) -> Result<(), Trouble> {
    let (number, wished_at) = (job.id.number, wished_at(&job.run, &job.id));
    let said = Said::to(&job.run, &task.session.role);
    let kept = Kept { number, wished_at, task: task.clone(), said, taken_by: None, blocked_at: tree.cloned() };
    write(paths, job, &kept)
}

/// The job and task to go on with: those of an attempt that has ended and was given up on, or the ones given.
pub(crate) fn take_up(paths: &Paths, job: &Job, task: &AgentTask) -> Result<(Job, AgentTask), Trouble> {
    let own = || Ok((job.clone(), task.clone()));
    let Some(kept) = read(paths, job)? else { return own() };
    let free = kept.taken_by.is_none_or(|by| by == job.id.number) && kept.number < job.id.number;
    let id = EffectId { run: job.id.run.clone(), number: kept.number };
    if !free || !is_the_same_work(&kept, &job.run, task) || !paths.spool(&id, None).exists() {
        return own();
    }
    if kept.taken_by.is_none() {
        tracing::info!(effect = %job.id, of = %id, "what an agent handed in before is taken up");
        write(paths, job, &Kept { taken_by: Some(job.id.number), ..kept.clone() })?;
    }
    let mut run = Run::clone(&job.run);
    run.requested_at.insert(kept.number, kept.wished_at);
    Ok((Job { id, run: Arc::new(run), ..job.clone() }, kept.task))
}

fn is_the_same_work(kept: &Kept, run: &Run, task: &AgentTask) -> bool {
    let work = |task: &AgentTask| (task.stage.clone(), task.session.role.clone(), task.purpose.clone());
    let at = task.at == kept.task.at || kept.blocked_at.as_ref() == Some(&task.at);
    work(&kept.task) == work(task) && at && kept.said == Said::to(run, &task.session.role)
}

fn path(paths: &Paths, job: &Job) -> PathBuf {
    paths.effects(&job.id.run).join("kept.json")
}

fn read(paths: &Paths, job: &Job) -> Result<Option<Kept>, Trouble> {
    let path = path(paths, job);
    match std::fs::read(&path) {
        // One that cannot be read is none: then an agent works again.
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Trouble::io("reading", &path, &error)),
    }
}

fn write(paths: &Paths, job: &Job, kept: &Kept) -> Result<(), Trouble> {
    let path = path(paths, job);
    let text = serde_json::to_vec(kept).map_err(|error| Trouble::of(&error))?;
    let written = durable::replace(&path.with_extension("new"), &path, &text);
    written.map_err(|error| Trouble::io("writing", &path, &error))
}
