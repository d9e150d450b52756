//! What an agent is given: its workspace, its job's file, its launch.

use std::collections::BTreeMap;
use std::path::Path;

use domain::{AgentProgram, AgentTask};
use drivers::{JOB_FILE, RESULT_FILE};
use engine::{Job, boundary};

use crate::brief;
use crate::git;
use crate::hands::Hands;
use crate::laid;
use crate::models::GrantLimits;
use crate::paths::Paths;
use crate::repos::{Repos, to_git};
use crate::sandbox::{Limits, TierChoice};
use crate::shim::{BROKER_URL, DOOR, HOLDPOINT, Launch};
use crate::task_file;
use crate::trouble::Trouble;

/// Prepares the first start of an attempt. Called only when no process of it was ever started.
pub(crate) async fn prepare(hands: &Hands, job: &Job, task: &AgentTask) -> Result<Launch, PrepareError> {
    let (paths, inner, inner_task) = (hands.paths.clone(), job.clone(), task.clone());
    let (web_search, doors) = (hands.models.search.is_some(), hands.models.doors());
    let embeddings = hands.models.embeddings.as_ref().map(ToString::to_string);
    let mcp = hands.mcp.offered(&task.session.role);
    let given = move |job: drivers::Job| drivers::Job { web_search, embeddings, doors, mcp, ..job };
    let prepared = hands.blocking(&job.id.run, move || lay_out(&paths, &inner, &inner_task, given)).await;
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

fn lay_out(
    paths: &Paths,
    job: &Job,
    task: &AgentTask,
    given: impl FnOnce(drivers::Job) -> drivers::Job,
) -> Result<(), Trouble> {
    let repos = Repos::open(paths, &job.run)?;
    git::materialise(&repos.private, &to_git(job.run.tree_for(task))?, &paths.workspace(&job.id.run))?;
    let session = paths.session(&job.id.run, &task.session);
    std::fs::create_dir_all(&session).map_err(|error| Trouble::io("creating", &session, &error))?;
    remove(&session.join(RESULT_FILE))?;
    laid::lay_out(paths, &repos, job, task)?;
    task_file::lay_out(paths, &repos, job, task)?;
    let agent_job = given(brief::describe(paths, &repos, job, task)?);
    let text = serde_json::to_vec_pretty(&agent_job).map_err(|error| Trouble::of(&error))?;
    let path = session.join(JOB_FILE);
    laid::put(&path, &text)
}

fn remove(path: &Path) -> Result<(), Trouble> {
    match std::fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Trouble::io("removing", path, &error)),
    }
}

fn launch(hands: &Hands, job: &Job, task: &AgentTask) -> Result<Launch, Trouble> {
    let run = &*job.run;
    let retries = run.opened().playbook.index_of(&task.stage).map_or(3, |index| run.stage(index).retries);
    let limits = GrantLimits {
        envelope: task.envelope,
        ask_after: task.ask_after,
        purses: hands.models.shared.purses(&run.opened().project, Some(&task.waived)),
        retries,
        home: hands.paths.home().to_owned(),
    };
    let mut grant = hands.models.grant(run, &task.session, &job.id.to_string(), limits)?;
    grant.mcp = hands.mcp.granted(&task.session.role);
    let session = hands.paths.session(&run.id, &task.session);
    let session_text = session.display().to_string();
    Ok(Launch {
        spool: hands.paths.spool(&job.id, None),
        workspace: hands.paths.workspace(&run.id),
        session,
        extra_ro: hands.mcp.readable(&task.session.role),
        hide: vec![hands.paths.home().to_owned()],
        argv: drivers::Own::argv(HOLDPOINT, &session_text, DOOR),
        env: variables(&run.program(&task.session.role)),
        tier: TierChoice::Best,
        grant,
        limits: Limits::default(),
        program: hands.program.clone(),
    })
}

/// Another program reaches its model only over TCP; where there is none it is not started.
fn variables(program: &AgentProgram) -> BTreeMap<String, String> {
    match program {
        AgentProgram::Own | AgentProgram::Command(_) => BTreeMap::new(),
        AgentProgram::Claude
        | AgentProgram::Codex
        | AgentProgram::Gemini
        | AgentProgram::Opencode
        | AgentProgram::CodexExec
        | AgentProgram::Acp(_) => BTreeMap::from([("HOLDPOINT_BROKER_URL".to_owned(), BROKER_URL.to_owned())]),
    }
}
