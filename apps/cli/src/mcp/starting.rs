//! `create_task` and `create_run`. Says the same to the server as `holdpoint run` does; the server fills in what is not
//! said and refuses what the token may not ask for.

use wire::{CheckSpec, NewRun, StrangersText};

use super::asked::{CreateRun, CreateTask};
use super::face::Face;
use super::told::Run;
use super::tools::Told;
use crate::failure::Failure;

pub(super) async fn create_task(face: &Face, asked: CreateTask) -> Told<Run> {
    let (summary, context) = (asked.summary.trim(), asked.context.trim());
    if summary.is_empty() || summary.contains('\n') {
        return Err(vague("the summary must be one line that says what is done when the task is done"));
    }
    if context.is_empty() {
        return Err(vague("a task needs its plan as context: a worker sees nothing else of what you know"));
    }
    let new = NewRun {
        project: face.project(asked.project)?,
        request: format!("{summary}\n\n{context}"),
        playbook: Some("task".to_owned()),
        models: asked.models,
        base_branch: asked.base_branch,
        budget_usd: asked.budget_usd,
        priority: asked.priority,
        from: strangers(asked.from),
        ..NewRun::default()
    };
    start(face, &new).await
}

pub(super) async fn create_run(face: &Face, asked: CreateRun) -> Told<Run> {
    if asked.request.trim().is_empty() {
        return Err(vague("the request is empty"));
    }
    let check = |check: super::asked::Check| CheckSpec { name: check.name, command: check.command };
    let new = NewRun {
        project: face.project(asked.project)?,
        request: asked.request,
        playbook: asked.playbook,
        trust: asked.trust,
        models: asked.models,
        base_branch: asked.base_branch,
        budget_usd: asked.budget_usd,
        checks: asked.checks.map(|checks| checks.into_iter().map(check).collect()),
        priority: asked.priority,
        agents: asked.agents,
        review: asked.review,
        auto_merge: asked.auto_merge,
        create_pr: asked.create_pr,
        from: strangers(asked.from),
        ..NewRun::default()
    };
    start(face, &new).await
}

fn strangers(from: Vec<String>) -> Vec<StrangersText> {
    from.into_iter().map(|source| StrangersText { source, ..StrangersText::default() }).collect()
}

async fn start(face: &Face, new: &NewRun) -> Told<Run> {
    let run = face.client().await?.start(new).await?;
    Ok(Run::of(&run))
}

fn vague(what: &str) -> Failure {
    Failure::usage(what, "ask the user two or three questions, wait for the answers, then call it again")
}
