//! Lets an agent work on a stage, and commits what it hands in.

use std::path::{Path, PathBuf};

use domain::{AgentEnd, AgentProgram, AgentTask, CommitId, Digest, Outcome, ProgramIdentity, Purpose};
use drivers::task_md::{self, TaskFile};
use drivers::{HandIn, JobKind, ReflectionHandIn};
use engine::{Job, boundary};

use crate::artifacts::Refused;
use crate::attempt;
use crate::brief;
use crate::carry;
use crate::commission;
use crate::dir_fd::{Dir, FileError};
use crate::disk_quota;
use crate::git;
use crate::hand_in;
use crate::hands::Hands;
use crate::judge_workspace::judges;
use crate::kept;
use crate::laid::{self, Beside};
use crate::program_identity;
use crate::repos::{Repos, commit_text, from_git, to_git, wished_at};
use crate::rounds::clip;
use crate::shim::client::{Ended, start_or_adopt};
use crate::shim::{self, Exit, How};
use crate::task_file;
use crate::trouble::Trouble;

/// Bytes of what an agent says to a person; its tools allow less.
const MAX_WORDS: usize = 64 * 1024;
/// Bytes of what it printed last.
const MAX_LAST_WORDS: u64 = 16 * 1024;

pub(crate) async fn run(hands: &Hands, job: &Job, task: &AgentTask) -> Result<Outcome, Trouble> {
    let (job, task) = &kept::take_up(&hands.paths, job, task)?;
    let spool = hands.paths.spool(&job.id, None);
    let session = hands.paths.session(&job.id.run, &task.session);
    boundary("agent.before");
    let attempt = start_or_adopt(&spool, || commission::prepare(hands, job, task)).await?;
    boundary("agent.started");
    let ended = attempt::follow(hands, job, task, &spool, &attempt).await?;
    take_login_back(hands, job).await?;
    note_end(hands, job, &task.session).await?;
    if let Ended::Exited(Exit { exit: How::DiskQuota(what), .. }) = &ended {
        return Err(disk_quota::stopped(hands, job, task, what).await?);
    }
    let tier = attempt.marker()?.map(|marker| marker.tier.to_string());
    if task.purpose == Purpose::Sit {
        return left(hands, job, task, &spool, &ended, tier).await;
    }
    let left = take_task_file(hands, job, task).await?;
    let mut end = conclude(hands, job, task, &session, &spool, &ended, left).await?;
    let (paths, inner, inner_task) = (hands.paths.clone(), job.clone(), task.clone());
    let beside = if hands.mcp.has_processes(&task.session.role) { Beside::Programs } else { Beside::Nobody };
    hands.blocking(&job.id.run, move || laid::store_index(&paths, &inner, &inner_task, beside)).await?;
    let wip = match &end {
        AgentEnd::Submitted(_) => None,
        AgentEnd::HoldsSecrets { .. }
        | AgentEnd::Asked { .. }
        | AgentEnd::Said { .. }
        | AgentEnd::Answered { .. }
        | AgentEnd::Reflected { .. }
        | AgentEnd::NeedsTime { .. }
        | AgentEnd::NeedsPermission { .. }
        | AgentEnd::QuotaSpent { .. }
        | AgentEnd::Crashed { .. }
        | AgentEnd::ModelFailed { .. }
        | AgentEnd::BudgetSpent { .. }
        | AgentEnd::Left => keep_unfinished(hands, job, job.run.tree_for(task)).await?,
    };
    if matches!(end, AgentEnd::HoldsSecrets { .. }) {
        kept::keep_blocked(&hands.paths, job, task, wip.as_ref())?;
    }
    if let AgentEnd::Reflected { tree, .. } = &mut end {
        *tree = Some(tree_after(hands, job, wip.as_ref().unwrap_or(job.run.tree_for(task))).await?);
    }
    boundary("agent.after");
    Ok(Outcome::AgentEnded { end, tier, program: program(hands, job, spool).await?, wip })
}

/// The program that worked, where it is not ours.
async fn program(hands: &Hands, job: &Job, spool: PathBuf) -> Result<Option<Box<ProgramIdentity>>, Trouble> {
    hands.blocking(&job.id.run, move || Ok(program_identity::noted(&spool).map(Box::new))).await
}

/// A person left their terminal: what they did is kept, and nothing else is read into it.
async fn left(
    hands: &Hands,
    job: &Job,
    task: &AgentTask,
    spool: &Path,
    ended: &Ended,
    tier: Option<String>,
) -> Result<Outcome, Trouble> {
    take_task_file(hands, job, task).await?;
    let wip = keep_unfinished(hands, job, job.run.tree_for(task)).await?;
    let end = match ended {
        Ended::Exited(exit) if exit.exit == How::Code(0) => AgentEnd::Left,
        Ended::Exited(_) | Ended::Lost => AgentEnd::Crashed { reason: last_words(hands, job, ended, spool).await? },
    };
    boundary("agent.after");
    Ok(Outcome::AgentEnded { end, tier, program: program(hands, job, spool.to_owned()).await?, wip })
}

async fn conclude(
    hands: &Hands,
    job: &Job,
    task: &AgentTask,
    session: &Path,
    spool: &Path,
    ended: &Ended,
    left: Option<TaskFile>,
) -> Result<AgentEnd, Trouble> {
    if *ended == Ended::Lost {
        return Ok(AgentEnd::Crashed { reason: "its supervisor was killed".to_owned() });
    }
    let kind = brief::kind_of(&job.run, task)?;
    // Who was ended by a signal did not come to its end, whatever it had said before.
    let result = if was_killed(ended) { None } else { take_result(hands, job, spool).await? };
    let by_file = || if file_counts(kind, ended) { in_file(job, kind, left.as_ref()) } else { None };
    // A program that is not ours does not tell a spent limit from a broken model; the broker's record does.
    if matches!(result, Some(HandIn::ModelFailed { .. } | HandIn::GaveUp { .. }))
        && !job.run.program(&task.session.role).is_own()
        && let Some(spent) = attempt::spent(spool).await?
    {
        return Ok(spent);
    }
    let handed_in = match result {
        Some(handed_in @ HandIn::GaveUp { .. }) if reads_its_file(job, task, kind) => handed_in,
        Some(handed_in @ HandIn::GaveUp { .. }) => by_file().unwrap_or(handed_in),
        Some(handed_in) => handed_in,
        None => {
            if let Some(spent) = attempt::spent(spool).await? {
                return Ok(spent);
            }
            match by_file() {
                Some(handed_in) => handed_in,
                None => {
                    let words = last_words(hands, job, ended, spool).await?;
                    return Ok(AgentEnd::Crashed { reason: silent(kind, left.as_ref(), words) });
                }
            }
        }
    };
    if !handed_in.fits(kind) {
        let reason = format!("it handed in `{}` where it was wanted for `{}`", handed_in.word(), kind.word());
        return Ok(AgentEnd::Crashed { reason });
    }
    let work = match handed_in {
        HandIn::Questions { questions } => return Ok(AgentEnd::Asked { questions }),
        HandIn::Said { ready, message } => return Ok(AgentEnd::Said { ready, message: clip(&message, MAX_WORDS) }),
        HandIn::Answer { text } => return Ok(AgentEnd::Answered { text: clip(&text, MAX_WORDS) }),
        HandIn::Extension { minutes, reason } => {
            brief::note_extension(session, task.session.attempt)?;
            let minutes = minutes.clamp(1, HandIn::MAX_EXTENSION);
            return Ok(AgentEnd::NeedsTime { minutes, reason: clip(&reason, MAX_WORDS) });
        }
        HandIn::Reflection(ReflectionHandIn { reflection, .. }) if !reflection.goal_achieved => {
            return Ok(AgentEnd::Reflected { reflection, tree: None });
        }
        HandIn::Permission { request } => return Ok(AgentEnd::NeedsPermission { request: clip(&request, MAX_WORDS) }),
        HandIn::ModelFailed { reason } => {
            hands.models.forget_keys(&job.run, &task.session.role);
            return Ok(AgentEnd::ModelFailed { reason });
        }
        HandIn::QuotaSpent { reason, resets_at } => return Ok(AgentEnd::QuotaSpent { reason, resets_at }),
        HandIn::BudgetSpent { reason, shortage } => return Ok(AgentEnd::BudgetSpent { reason, shortage }),
        HandIn::GaveUp { reason } => return Ok(AgentEnd::Crashed { reason }),
        work @ (HandIn::Plan(_)
        | HandIn::Tasks(_)
        | HandIn::Scope(_)
        | HandIn::Research(_)
        | HandIn::Pulse(_)
        | HandIn::Handoff(_)
        | HandIn::Review(_)
        | HandIn::Reflection(_)) => work,
    };
    let (paths, inner, inner_task) = (hands.paths.clone(), job.clone(), task.clone());
    let guard = hands.guard(&job.run);
    let commit = move || hand_in::commit(&paths, &inner, &inner_task, work, &guard);
    let submitted = hands.blocking(&job.id.run, commit).await?;
    match submitted {
        Ok(submission) => Ok(AgentEnd::Submitted(Box::new(submission))),
        Err(Refused::Secrets(findings)) => Ok(AgentEnd::HoldsSecrets { findings }),
        Err(Refused::Because(reason)) => {
            brief::note_refusal(session, &reason)?;
            Ok(AgentEnd::Crashed { reason })
        }
    }
}

/// Whoever forks the run here takes the conversation along up to this.
pub(crate) async fn note_end(hands: &Hands, job: &Job, session: &domain::Session) -> Result<(), Trouble> {
    let (paths, run, session) = (hands.paths.clone(), job.id.run.clone(), session.clone());
    hands.blocking(&job.id.run, move || carry::mark(&paths, &run, &session)).await
}

/// A login is in a session folder only while its program works.
pub(crate) async fn take_login_back(hands: &Hands, job: &Job) -> Result<(), Trouble> {
    if job.run.opened().config.direct.is_empty() {
        return Ok(());
    }
    let (paths, direct, run) = (hands.paths.clone(), hands.direct.clone(), job.id.run.clone());
    hands.blocking(&job.id.run, move || direct.take_back(&paths, &run)).await
}

/// Reads what stands in TASK.md and keeps it for whoever comes next.
async fn take_task_file(hands: &Hands, job: &Job, task: &AgentTask) -> Result<Option<TaskFile>, Trouble> {
    let (paths, run, kind) = (hands.paths.clone(), job.run.clone(), brief::kind_of(&job.run, task)?);
    hands.blocking(&job.id.run, move || task_file::take(&paths, &run, kind)).await
}

/// Whether an attempt was ended by a signal that nobody of ours sent.
pub(crate) fn was_killed(ended: &Ended) -> bool {
    match ended {
        Ended::Lost => true,
        Ended::Exited(exit) => match exit.exit {
            How::Signal(_) | How::DiskQuota(_) => true,
            How::Code(_) | How::Stopped | How::LaunchFailed(_) => false,
        },
    }
}

/// Whether what stands in TASK.md is the agent's word. A verdict is not, if the judge did not end by itself: a program
/// that it ran can have written the file and killed it.
fn file_counts(kind: JobKind, ended: &Ended) -> bool {
    let by_itself = matches!(ended, Ended::Exited(exit) if matches!(exit.exit, How::Code(_)));
    by_itself || !judges(kind)
}

/// Whether the host of a judge has read TASK.md itself, and knows how the program ended.
fn reads_its_file(job: &Job, task: &AgentTask, kind: JobKind) -> bool {
    judges(kind) && matches!(job.run.program(&task.session.role), AgentProgram::Command(_))
}

/// What an agent without tools of ours handed in.
fn in_file(job: &Job, kind: JobKind, left: Option<&TaskFile>) -> Option<HandIn> {
    let answered: Vec<String> = job.run.answers.iter().map(|answer| answer.question.question.clone()).collect();
    task_md::hand_in(kind, left?, &answered)
}

/// Why an agent that handed nothing in counts as crashed.
fn silent(kind: JobKind, left: Option<&TaskFile>, words: String) -> String {
    match left {
        Some(file) => format!("{}: {words}", task_md::missing(kind, file)),
        None => words,
    }
}

/// What the files are after an iteration: the same digest for the same files, whenever they were committed.
async fn tree_after(hands: &Hands, job: &Job, commit: &CommitId) -> Result<Digest, Trouble> {
    let (paths, run, commit) = (hands.paths.clone(), job.run.clone(), to_git(commit)?);
    let read = move || Ok(Repos::open(&paths, &run)?.private.tree_of(&commit)?.to_string());
    let tree = hands.blocking(&job.id.run, read).await?;
    Ok(Digest::of([tree.as_str()]))
}

/// What the agent's host said to the broker; what cannot be read as something of ours was not handed in.
async fn take_result(hands: &Hands, job: &Job, spool: &Path) -> Result<Option<HandIn>, Trouble> {
    let spool = spool.to_owned();
    let read = move || Ok(shim::handed_in(&spool)?);
    let bytes = hands.blocking(&job.id.run, read).await?;
    Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

async fn last_words(hands: &Hands, job: &Job, ended: &Ended, spool: &Path) -> Result<String, Trouble> {
    let (ended, spool) = (ended.clone(), spool.to_owned());
    hands.blocking(&job.id.run, move || Ok(words_at_end(&ended, &spool))).await
}

fn words_at_end(ended: &Ended, spool: &Path) -> String {
    let how = match ended {
        Ended::Lost => "was lost".to_owned(),
        Ended::Exited(exit) => match &exit.exit {
            How::Code(code) => format!("ended with exit code {code}"),
            How::Signal(signal) => format!("was ended by signal {signal}"),
            How::Stopped => "was stopped".to_owned(),
            How::LaunchFailed(message) => return format!("it could not be started: {message}"),
            How::DiskQuota(what) => return format!("it was stopped: {what}"),
        },
    };
    // One that complained of nothing has no file.
    let read = || -> Result<Vec<u8>, FileError> { Dir::open(spool)?.read_end("stderr.log", MAX_LAST_WORDS) };
    let said = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
    let tail: Vec<&str> = said.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    match tail.as_slice() {
        [] => format!("it {how} without handing anything in"),
        lines => format!("it {how} without handing anything in: {}", lines.join(" / ")),
    }
}

/// Commits the unfinished tree under a ref of its own, so that no restart and no clean-up loses it.
pub(crate) async fn keep_unfinished(hands: &Hands, job: &Job, at: &CommitId) -> Result<Option<CommitId>, Trouble> {
    let (paths, job, at) = (hands.paths.clone(), job.clone(), to_git(at)?);
    let id = job.id.run.clone();
    hands
        .blocking(&id, move || {
            let workspace = paths.workspace(&job.id.run);
            if !workspace.is_dir() {
                return Ok(None);
            }
            let repos = Repos::open(&paths, &job.run)?;
            let name = git::BranchName::parse(&format!("{}/{}", job.id.run, job.id.number))?;
            let text = commit_text(&job.id, "unfinished", "Unfinished work".to_owned(), wished_at(&job.run, &job.id));
            match git::rescue(&repos.private, &workspace, &at, &name, &text, &task_file::excluded(&job.run))? {
                git::Rescued::Nothing => Ok(None),
                git::Rescued::Kept { commit, .. } => from_git(&commit).map(Some),
            }
        })
        .await
}
