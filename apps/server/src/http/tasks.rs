//! Tasks: runs that stand for one piece of work each, in the words of people who keep a list of them. What may follow
//! what is the core's map; here a wish becomes the decision that leads there.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use domain::{
    Actor, Command, Decide, Decision, HoldKind, Run, TaskRefusal, TaskStep, TaskWord, TaskWords, task_complete,
    task_merge, task_respawn, task_step,
};
use engine::{RunFilter, Store, StoreError};
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{TaskMerge, TaskRunView, TaskUpdate};

use super::runs::key;
use super::{Refusals, decisions, paging};
use crate::body::{Named, Params, Sent};
use crate::problem::Failure;
use crate::{App, from_wire, to_wire};

/// Which tasks to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only tasks of this repository.
    project: Option<String>,
    /// Those that are over too.
    #[serde(default)]
    all: bool,
    /// Only tasks older than this one.
    before: Option<String>,
    /// At most so many, up to 200; 200 unless said.
    limit: Option<usize>,
}

/// Most tasks that are listed.
const MOST: usize = 200;

/// Lists tasks, newest first.
#[utoipa::path(get, path = "/", tag = "tasks", operation_id = "list_tasks", params(Which),
    responses((status = 200, body = Vec<TaskRunView>), Refusals))]
pub(super) async fn list(
    State(app): State<App>,
    Params(which): Params<Which>,
) -> Result<Json<Vec<TaskRunView>>, Failure> {
    let limit = paging::limit(which.limit, MOST, MOST)?;
    let before = match &which.before {
        Some(given) => Some(app.find(given).await?),
        None => None,
    };
    let ids = app.read(move |store| ids(store, which, before, limit)).await?;
    let mut views = Vec::new();
    for id in ids {
        views.extend(app.engine.load(&id).await?.as_ref().map(to_wire::task_run));
    }
    Ok(Json(views))
}

fn ids(
    store: &dyn Store,
    which: Which,
    before: Option<domain::RunId>,
    limit: usize,
) -> Result<Vec<domain::RunId>, StoreError> {
    let playbook = Some(TaskWord::PLAYBOOK.to_owned());
    let mut filter = RunFilter { project: which.project, playbook, before, limit: 500, ..RunFilter::default() };
    let mut ids = Vec::new();
    loop {
        let page = store.rows(&filter)?;
        let open = |row: &&engine::Row| which.all || row.completed_at.is_none();
        let tasks = page.iter().filter(|row| row.parent.is_none()).filter(open);
        ids.extend(tasks.map(|row| row.id.clone()));
        if ids.len() >= limit || page.len() < filter.limit {
            ids.truncate(limit);
            return Ok(ids);
        }
        filter.before = page.last().map(|row| row.id.clone());
    }
}

/// Shows a task.
#[utoipa::path(get, path = "/{id}", tag = "tasks", operation_id = "show_task", params(("id" = String, Path)),
    responses((status = 200, body = TaskRunView), Refusals))]
pub(super) async fn show(State(app): State<App>, Named(id): Named<String>) -> Result<Json<TaskRunView>, Failure> {
    let run = app.load(&id).await?;
    if !run.is_task() {
        return Err(TaskRefusal::NotATask(run.opened().playbook.name.clone()).into());
    }
    Ok(Json(to_wire::task_run(&run)))
}

/// Makes a task what it shall become, or says something to whoever works on it.
#[utoipa::path(post, path = "/{id}/update", tag = "tasks", operation_id = "update_task",
    params(("id" = String, Path)), request_body = TaskUpdate,
    responses((status = 200, body = TaskRunView), Refusals))]
pub(super) async fn update(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(update): Sent<TaskUpdate>,
) -> Result<Json<TaskRunView>, Failure> {
    let run = app.load(&id).await?;
    let said = TaskWords { summary: update.summary, notes: update.notes };
    let Some(status) = update.status else { return tell(&app, run, said, by, &headers).await };
    let to = TaskWord::parse(&status).ok_or_else(|| {
        let words: Vec<&str> = TaskWord::EIGHT.iter().map(|word| word.word()).collect();
        let message = format!("`{}` is not a status of a task", from_wire::plain(&status));
        Failure::user("status", "unknown_status", message, format!("use {}", words.join(", ")))
    })?;
    let step = task_step(&run, to, &said)?;
    take(&app, run, step, said.notes, by, &headers).await
}

/// Says that the worker's part of a task is done; what is missing is said.
#[utoipa::path(post, path = "/{id}/complete", tag = "tasks", operation_id = "complete_task",
    params(("id" = String, Path)), responses((status = 200, body = TaskRunView), Refusals))]
pub(super) async fn complete(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
) -> Result<Json<TaskRunView>, Failure> {
    let run = app.load(&id).await?;
    let step = task_complete(&run)?;
    take(&app, run, step, None, by, &headers).await
}

/// Merges a task that was reviewed; with `force` one that was not.
#[utoipa::path(post, path = "/{id}/merge", tag = "tasks", operation_id = "merge_task",
    params(("id" = String, Path)), request_body = TaskMerge,
    responses((status = 200, body = TaskRunView), Refusals))]
pub(super) async fn merge(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(merge): Sent<TaskMerge>,
) -> Result<Json<TaskRunView>, Failure> {
    let run = app.load(&id).await?;
    match task_merge(&run) {
        Err(TaskRefusal::NotReviewed(_)) if merge.force => {
            let shown = merge.commit.map(|commit| commit.parse()).transpose().map_err(|_| {
                Failure::user("commit", "bad_commit", "that is not a commit", "send the commit as the task shows it")
            })?;
            if let Some(code) = run.code() {
                decisions::check_readable(&app, &run, &code.commit).await?;
            }
            let key = key(&headers, &format!("force-merge:{}", run.id))?;
            let command = Command::ForceMerge { by, reason: merge.reason, shown };
            let receipt = app.engine.submit(run.id, command, key).await?;
            Ok(Json(to_wire::task_run(&receipt.run)))
        }
        step => take(&app, run, step?, merge.reason, by, &headers).await,
    }
}

/// Pushes a reviewed task and opens a pull request for it.
#[utoipa::path(post, path = "/{id}/create-pr", tag = "tasks", operation_id = "create_task_pr",
    params(("id" = String, Path)), responses((status = 200, body = TaskRunView), Refusals))]
pub(super) async fn create_pr(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
) -> Result<Json<TaskRunView>, Failure> {
    let run = app.load(&id).await?;
    let from = TaskWord::of(&run).ok_or_else(|| TaskRefusal::NotATask(run.opened().playbook.name.clone()))?;
    let step = match run.hold() {
        Some(hold) if hold.kind == HoldKind::Review => TaskStep::Decide(Decision::CreatePr),
        // The remote refused before: the same wish tries again.
        Some(hold) if hold.stage.is_none() && run.wants_pr => {
            TaskStep::Decide(Decision::Retry { feedback: None, model: None })
        }
        Some(_) | None if from.ways().is_empty() => {
            return Err(TaskRefusal::NotAllowed { from, to: TaskWord::Done }.into());
        }
        Some(_) | None => return Err(TaskRefusal::NotReviewed(from).into()),
    };
    take(&app, run, step, None, by, &headers).await
}

/// Lets a task go on that crashed or is stuck.
#[utoipa::path(post, path = "/{id}/respawn", tag = "tasks", operation_id = "respawn_task",
    params(("id" = String, Path)), request_body = TaskUpdate,
    responses((status = 200, body = TaskRunView), Refusals))]
pub(super) async fn respawn(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(update): Sent<TaskUpdate>,
) -> Result<Json<TaskRunView>, Failure> {
    let run = app.load(&id).await?;
    let said = TaskWords { summary: update.summary, notes: update.notes };
    let step = task_respawn(&run, &said)?;
    take(&app, run, step, None, by, &headers).await
}

/// Hands a step to the engine, bound to what the task was when the step was chosen.
async fn take(
    app: &App,
    run: Run,
    step: TaskStep,
    reason: Option<String>,
    by: Actor,
    headers: &HeaderMap,
) -> Result<Json<TaskRunView>, Failure> {
    let (command, what) = match (step, run.hold()) {
        (TaskStep::Decide(decision), Some(hold)) => {
            decisions::check_content(app, &run, hold.id, &decision).await?;
            let what = format!("decide:{}.{}", run.id, hold.id);
            (Command::Decide(Decide { hold: hold.id, digest: hold.digest.clone(), decision, by }), what)
        }
        (TaskStep::Decide(_), None) => return Err(domain::Rejection::NoHold.into()),
        (TaskStep::Pause, _) => (Command::Pause { by, reason }, format!("pause:{}", run.id)),
        (TaskStep::Cancel, _) => (Command::Cancel { by, reason }, format!("cancel:{}", run.id)),
    };
    let key = key(headers, &what)?;
    let receipt = app.engine.submit(run.id, command, key).await?;
    Ok(Json(to_wire::task_run(&receipt.run)))
}

/// A word to whoever works on the task.
async fn tell(
    app: &App,
    run: Run,
    said: TaskWords,
    by: Actor,
    headers: &HeaderMap,
) -> Result<Json<TaskRunView>, Failure> {
    let text: Vec<String> = [said.summary, said.notes].into_iter().flatten().collect();
    if text.iter().all(|text| text.trim().is_empty()) {
        let hint = "say a status, a summary or notes";
        return Err(Failure::user("status", "nothing_said", "there is nothing to update", hint));
    }
    let key = key(headers, &format!("message:{}", run.id))?;
    let command = Command::Guide { text: text.join("\n\n"), by };
    let receipt = app.engine.submit(run.id, command, key).await?;
    if let Err(error) = app.shelf.pass_on(&receipt.run).await {
        // It is recorded: the next agent of the stage is told.
        tracing::warn!(run = %receipt.run.id, %error, "a word could not be passed on to the agent at work");
    }
    Ok(Json(to_wire::task_run(&receipt.run)))
}
