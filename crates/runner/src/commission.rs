//! What an agent is given: its workspace, its job's file, its launch.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use domain::{AgentProgram, AgentTask, Purpose, Reach};
use drivers::{JOB_FILE, Way};
use engine::{Job, boundary};

use crate::brief;
use crate::dir_fd::Dir;
use crate::direct::Direct;
use crate::git;
use crate::hands::Hands;
use crate::isolation::Needs;
use crate::judge_workspace;
use crate::laid;
use crate::models::GrantLimits;
use crate::paths::Paths;
use crate::program_identity;
use crate::program_paths;
use crate::repos::{Repos, to_git};
use crate::sandbox::TierChoice;
use crate::shim::{BROKER_URL, DOOR, HOLDPOINT, Input, Launch};
use crate::strangers;
use crate::task_file;
use crate::trouble::{Prospect, Trouble};

/// Prepares the first start of an attempt. Called only when no process of it was ever started.
pub(crate) async fn prepare(hands: &Hands, job: &Job, task: &AgentTask) -> Result<Launch, PrepareError> {
    let role = &task.session.role;
    if !job.run.is_direct(role) {
        hands.models.fetch_keys(job.run.model(role).into_iter().chain(job.run.fallbacks(role))).await;
    }
    let needs = Needs::of(&job.run.program(&task.session.role), &task.purpose);
    let tier = hands.tier(Path::new(&job.run.opened().project), needs).await?;
    let (paths, inner, inner_task) = (hands.paths.clone(), job.clone(), task.clone());
    let (web_search, doors) = (hands.models.search.is_some(), hands.models.doors());
    let embeddings = hands.models.embeddings.as_ref().map(ToString::to_string);
    let servers = hands.mcp.within(job.run.reach());
    let (run, mcp) = (job.run.clone(), servers.offered(&task.session.role));
    let direct = match task.purpose {
        // Who sits at a terminal is given no login.
        Purpose::Sit => None,
        Purpose::Stage | Purpose::Pulse { .. } | Purpose::Iterate { .. } | Purpose::Answer { .. } => {
            hands.direct.of(&job.run, task).map_err(Trouble::from)?
        }
    };
    let way = match &direct {
        Some(direct) => direct.way(),
        None if job.run.is_direct(&task.session.role) => Way::Direct { login: Vec::new(), hosts: Vec::new() },
        None => Way::Broker,
    };
    let own = direct.clone();
    let given = move |job: drivers::Job| {
        strangers::within(&run, &servers, drivers::Job { web_search, embeddings, doors, mcp, way, ..job })
    };
    let (spool, program) = (hands.paths.spool(&job.id, None), job.run.program(&task.session.role));
    let prepared = hands.blocking(&job.id.run, move || {
        program_identity::note(&paths, &spool, &program)
            .map_err(|error| Trouble::io("noting the program in", &spool, &error))?;
        lay_out(&paths, &inner, &inner_task, given)?;
        let session = paths.session(&inner.id.run, &inner_task.session);
        own.map_or(Ok(()), |direct| direct.put(&session))
    });
    prepared.await?;
    boundary("agent.prepared");
    Ok(launch(hands, job, task, direct.as_ref(), tier)?)
}

/// Why an attempt could not be prepared.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct PrepareError {
    message: String,
    pub(crate) prospect: Prospect,
}

impl From<Trouble> for PrepareError {
    fn from(trouble: Trouble) -> Self {
        let hint = trouble.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        Self { message: format!("{trouble}{hint}"), prospect: trouble.prospect }
    }
}

fn lay_out(
    paths: &Paths,
    job: &Job,
    task: &AgentTask,
    given: impl FnOnce(drivers::Job) -> drivers::Job,
) -> Result<(), Trouble> {
    let repos = Repos::open(paths, &job.run)?;
    judge_workspace::make_room(paths, &job.id.run, brief::kind_of(&job.run, task)?)?;
    git::materialise(&repos.private, &to_git(job.run.tree_for(task))?, &paths.workspace(&job.id.run))?;
    let session = paths.session(&job.id.run, &task.session);
    Dir::create(&session).map_err(|error| Trouble::io("creating", &session, &error))?;
    laid::lay_out(paths, &repos, job, task)?;
    task_file::lay_out(paths, &repos, job, task)?;
    let agent_job = given(brief::describe(paths, &repos, job, task)?);
    let text = serde_json::to_vec_pretty(&agent_job).map_err(|error| Trouble::of(&error))?;
    laid::put(&session, JOB_FILE, &text)
}

fn launch(
    hands: &Hands,
    job: &Job,
    task: &AgentTask,
    direct: Option<&Direct>,
    tier: TierChoice,
) -> Result<Launch, Trouble> {
    let run = &*job.run;
    let retries = run.opened().playbook.index_of(&task.stage).map_or(3, |index| run.stage(index).retries);
    let limits = GrantLimits {
        envelope: task.envelope,
        ask_after: task.ask_after,
        purses: hands.models.shared.purses(&run.opened().project, Some(&task.waived)),
        retries,
        home: hands.paths.home().to_owned(),
    };
    let attempt = job.id.to_string();
    let mut grant = match direct {
        // Nothing is asked of the broker's own providers for it.
        Some(direct) => {
            let grant = hands.models.grant_nothing(run, &task.session, &attempt, limits)?;
            let own = direct.grant(run.model(&task.session.role), &hands.models.prices);
            broker::Grant { direct: Some(own), ..grant }
        }
        None if run.is_direct(&task.session.role) => {
            hands.models.grant_nothing(run, &task.session, &attempt, limits)?
        }
        None => hands.models.grant(run, &task.session, &attempt, limits)?,
    };
    let servers = hands.mcp.within(run.reach());
    grant.mcp = servers.granted(&task.session.role);
    if run.reach() == Reach::ModelsOnly {
        grant.search = None;
        for upstream in &mut grant.upstreams {
            upstream.hosted = broker::HostedFeatures::default();
        }
    }
    let session = hands.paths.session(&run.id, &task.session);
    let session_text = session.display().to_string();
    let program = run.program(&task.session.role);
    let mut shown = servers.readable(&task.session.role, hands.paths.home());
    shown.extend(own_program(&program, hands.paths.home()));
    Ok(Launch {
        spool: hands.paths.spool(&job.id, None),
        workspace: hands.paths.workspace(&run.id),
        session,
        extra_ro: hands.isolation.readable(shown),
        hide: vec![hands.paths.home().to_owned()],
        argv: match task.purpose {
            Purpose::Sit => drivers::Own::sitting(HOLDPOINT, &session_text, DOOR),
            Purpose::Stage | Purpose::Pulse { .. } | Purpose::Iterate { .. } | Purpose::Answer { .. } => {
                drivers::Own::argv(HOLDPOINT, &session_text, DOOR)
            }
        },
        env: variables(&program, direct),
        tier,
        grant,
        limits: hands.isolation.limits.clone(),
        program: hands.program.clone(),
        input: match task.purpose {
            Purpose::Sit => Input::Nothing,
            Purpose::Stage | Purpose::Pulse { .. } | Purpose::Iterate { .. } | Purpose::Answer { .. } => Input::Nonce,
        },
    })
}

/// A program that the user named by its path lies where sandboxes show nothing.
fn own_program(program: &AgentProgram, data: &Path) -> Vec<PathBuf> {
    match program {
        AgentProgram::Acp(command) | AgentProgram::Command(command) => {
            program_paths::folders(command.split_whitespace(), data)
        }
        AgentProgram::Own
        | AgentProgram::Claude
        | AgentProgram::Codex
        | AgentProgram::Gemini
        | AgentProgram::Opencode
        | AgentProgram::CodexExec => Vec::new(),
    }
}

/// Another program reaches its model only over TCP, which `Needs` has asked for.
fn variables(program: &AgentProgram, direct: Option<&Direct>) -> BTreeMap<String, String> {
    match program {
        AgentProgram::Own => BTreeMap::new(),
        AgentProgram::Command(_) if direct.is_none() => BTreeMap::new(),
        AgentProgram::Claude
        | AgentProgram::Codex
        | AgentProgram::Gemini
        | AgentProgram::Opencode
        | AgentProgram::Command(_)
        | AgentProgram::CodexExec
        | AgentProgram::Acp(_) => BTreeMap::from([("HOLDPOINT_BROKER_URL".to_owned(), BROKER_URL.to_owned())]),
    }
}
