//! What an agent is given: its workspace, its job, its launch.

use std::collections::BTreeMap;
use std::path::Path;

use domain::{AgentTask, ArtifactKind, Note, NoteKind, Run, Work};
use drivers::{JOB_FILE, Job as AgentJob, JobKind, PastAnswer, RESULT_FILE};
use engine::{Job, boundary};

use crate::git::{self, CappedDiff};
use crate::hands::Hands;
use crate::models::GrantLimits;
use crate::paths::Paths;
use crate::repos::{Repos, to_git};
use crate::sandbox::{Limits, TierChoice};
use crate::shim::{DOOR, HOLDPOINT, Launch};
use crate::trouble::Trouble;

const REFUSAL_FILE: &str = "refusal.txt";
const MAX_DIFF: u64 = 200 * 1024;
const MAX_TURNS: u32 = 150;

/// Prepares the first start of an attempt. Called only when no process of it was ever started.
pub(crate) async fn prepare(hands: &Hands, job: &Job, task: &AgentTask) -> Result<Launch, PrepareError> {
    let (paths, inner, inner_task) = (hands.paths.clone(), job.clone(), task.clone());
    let prepared = hands.blocking(&job.id.run, move || lay_out(&paths, &inner, &inner_task)).await;
    prepared?;
    boundary("agent.prepared");
    Ok(launch(hands, job, task)?)
}

/// Why an attempt could not be prepared.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct PrepareError(String);

impl From<Trouble> for PrepareError {
    fn from(trouble: Trouble) -> Self {
        let hint = trouble.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        Self(format!("{trouble}{hint}"))
    }
}

fn lay_out(paths: &Paths, job: &Job, task: &AgentTask) -> Result<(), Trouble> {
    let repos = Repos::open(paths, &job.run)?;
    git::materialise(&repos.private, &to_git(&task.at)?, &paths.workspace(&job.id.run))?;
    let session = paths.session(&job.id.run, &task.session);
    std::fs::create_dir_all(&session).map_err(|error| Trouble::io("creating", &session, &error))?;
    remove(&session.join(RESULT_FILE))?;
    let agent_job = describe(paths, &repos, job, task)?;
    let text = serde_json::to_vec_pretty(&agent_job).map_err(|error| Trouble::of(&error))?;
    let path = session.join(JOB_FILE);
    std::fs::write(&path, text).map_err(|error| Trouble::io("writing", &path, &error))
}

fn remove(path: &Path) -> Result<(), Trouble> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Trouble::io("removing", path, &error)),
    }
}

/// Keeps for the conversation's next process why its work was refused.
pub(crate) fn note_refusal(session: &Path, reason: &str) -> Result<(), Trouble> {
    let path = session.join(REFUSAL_FILE);
    std::fs::write(&path, reason).map_err(|error| Trouble::io("writing", &path, &error))
}

fn describe(paths: &Paths, repos: &Repos, job: &Job, task: &AgentTask) -> Result<AgentJob, Trouble> {
    let run = &*job.run;
    let opened = run.opened();
    let session = paths.session(&job.id.run, &task.session);
    let work = opened.playbook.index_of(&task.stage).map(|index| &run.stage(index).work);
    let kind = match work {
        Some(Work::Produce { artifact, .. }) if artifact.is_code() => JobKind::Code,
        Some(Work::Judge { .. }) => JobKind::Review,
        Some(_) | None => JobKind::Plan,
    };
    let spec = text_of(repos, run, ArtifactKind::Spec)?;
    let (spec, previous) = match kind {
        JobKind::Plan => (None, spec),
        JobKind::Code | JobKind::Review => (spec, None),
    };
    let base = Repos::base_commit(run)?;
    let memory = repos.private.read_file(&base, ".autonomous/memory.md")?;
    let model = opened.config.models.get(&task.session.role).map(ToString::to_string);
    Ok(AgentJob {
        run: run.id.to_string(),
        role: task.session.role.clone(),
        kind,
        model: model.ok_or_else(|| Trouble::new(format!("no model is set for the role `{}`", task.session.role)))?,
        workspace: paths.workspace(&run.id).display().to_string(),
        request: opened.request.clone(),
        spec,
        memory: memory.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        notes: run.notes.iter().filter(|note| note.stage == task.stage).map(note_text).collect(),
        previous,
        diff: judged_diff(repos, run, kind)?,
        proof: run.proof.as_ref().filter(|_| kind == JobKind::Review).map(crate::report::proof_text),
        answers: answers(run, task),
        refusal: std::fs::read_to_string(session.join(REFUSAL_FILE)).ok(),
        max_turns: MAX_TURNS,
    })
}

fn text_of(repos: &Repos, run: &Run, kind: ArtifactKind) -> Result<Option<String>, Trouble> {
    let Some(artifact) = run.latest(kind) else { return Ok(None) };
    let Some(path) = &artifact.path else { return Ok(None) };
    let bytes = repos.private.read_file(&to_git(&artifact.commit)?, path)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn judged_diff(repos: &Repos, run: &Run, kind: JobKind) -> Result<Option<String>, Trouble> {
    let (JobKind::Review, Some(code)) = (kind, run.latest(ArtifactKind::Code)) else { return Ok(None) };
    let diff = repos.private.diff_capped(&Repos::base_commit(run)?, &to_git(&code.commit)?, MAX_DIFF)?;
    Ok(Some(match diff {
        CappedDiff::Whole(text) => text,
        CappedDiff::CutOff(text) => format!("{text}\n[the diff goes on; read the files]\n"),
    }))
}

fn note_text(note: &Note) -> String {
    let kind = match note.kind {
        NoteKind::Approval => "approved, with notes",
        NoteKind::Feedback => "sent back",
        NoteKind::Validation => "validation failed",
        NoteKind::Guidance => "guidance",
        NoteKind::Correction => "correction",
    };
    format!("{} ({kind}): {}", note.by, note.text)
}

fn answers(run: &Run, task: &AgentTask) -> Vec<PastAnswer> {
    let same = |session: &domain::Session| session.role == task.session.role && session.visit == task.session.visit;
    let of_session = run.answers.iter().filter(|answer| same(&answer.session));
    of_session
        .map(|answer| PastAnswer { question: answer.question.question.clone(), answer: answer.answer.clone() })
        .collect()
}

fn launch(hands: &Hands, job: &Job, task: &AgentTask) -> Result<Launch, Trouble> {
    let run = &*job.run;
    let retries = run.opened().playbook.index_of(&task.stage).map_or(3, |index| run.stage(index).retries);
    let limits = GrantLimits { envelope: task.envelope, retries };
    let grant = hands.models.grant(run, &task.session, &job.id.to_string(), limits)?;
    let session = hands.paths.session(&run.id, &task.session);
    let session_text = session.display().to_string();
    Ok(Launch {
        spool: hands.paths.spool(&job.id, None),
        workspace: hands.paths.workspace(&run.id),
        session,
        extra_ro: Vec::new(),
        hide: vec![hands.paths.home().to_owned()],
        argv: drivers::Own::argv(HOLDPOINT, &session_text, DOOR),
        env: BTreeMap::new(),
        tier: TierChoice::Best,
        grant,
        limits: Limits::default(),
        program: hands.program.clone(),
    })
}
