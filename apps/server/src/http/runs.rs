//! Starting, listing and showing runs.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use domain::{Actor, Command, Recorded, RunId, Start, Status};
use engine::{CommandKey, Receipt, Refusal, RunFilter, Store, StoreError};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{CheckpointView, EstimateView, Fault, NewRun, RunView};

use super::{Refusals, paging};
use crate::body::{Named, Params, Sent};
use crate::problem::Failure;
use crate::scope::Scope;
use crate::{App, estimate, from_wire, kin, once, to_wire};

/// The longest text that is looked for.
const LONGEST_TEXT: usize = 200;

/// Which runs to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only runs of this repository.
    project: Option<String>,
    /// Only runs with one of these statuses, separated by commas.
    status: Option<String>,
    /// Only runs of this playbook.
    playbook: Option<String>,
    /// Only runs whose request has this text in it, up to 200 bytes; the case of ASCII letters does not matter.
    q: Option<String>,
    /// Only runs created then or later.
    #[param(value_type = Option<String>, format = DateTime)]
    since: Option<Timestamp>,
    /// Only runs older than this one.
    before: Option<String>,
    /// At most so many, up to 1000; 100 unless said.
    limit: Option<usize>,
    /// Only the runs that work on tasks of this one.
    parent: Option<String>,
    /// Leave out runs that work on a task of another one.
    #[serde(default)]
    roots: bool,
}

/// Lists runs, newest first.
#[utoipa::path(get, path = "/", tag = "runs", operation_id = "list_runs", params(Which),
    responses((status = 200, body = Vec<RunView>), Refusals))]
pub(super) async fn list(State(app): State<App>, Params(which): Params<Which>) -> Result<Json<Vec<RunView>>, Failure> {
    let mut statuses = Vec::new();
    for word in which.status.as_deref().unwrap_or_default().split(',').filter(|word| !word.is_empty()) {
        statuses.push(status(word)?);
    }
    let before = match which.before {
        Some(given) => Some(app.find(&given).await?),
        None => None,
    };
    if which.q.as_ref().is_some_and(|text| text.len() > LONGEST_TEXT) {
        let hint = format!("use up to {LONGEST_TEXT} bytes");
        return Err(Failure::user("q", "bad_text", "that is too long to be looked for", hint));
    }
    let limit = paging::limit(which.limit, 100, paging::MOST)?;
    let filter = RunFilter {
        project: which.project,
        statuses,
        playbook: which.playbook,
        text: which.q,
        since: which.since,
        before,
        limit,
    };
    let parent = match which.parent {
        Some(given) => Some(app.find(&given).await?),
        None => None,
    };
    let listed = app.read(move |store| match &parent {
        Some(parent) => children(store, parent, &filter),
        None => rows(store, filter, if which.roots { Kin::Roots } else { Kin::All }),
    });
    Ok(Json(listed.await?))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kin {
    All,
    Roots,
}

/// Pages on until there are enough: those that are left out must not make the list shorter.
fn rows(store: &dyn Store, mut filter: RunFilter, kin: Kin) -> Result<Vec<RunView>, StoreError> {
    let (limit, mut listed) = (filter.limit, Vec::new());
    loop {
        let page = store.rows(&filter)?;
        for row in &page {
            if kin == Kin::All || row.parent.is_none() {
                listed.push(to_wire::row(row));
            }
        }
        if listed.len() >= limit || page.len() < filter.limit {
            listed.truncate(limit);
            return Ok(listed);
        }
        filter.before = page.last().map(|row| row.id.clone());
    }
}

/// The runs of a run's tasks, newest first, earlier tries included.
fn children(store: &dyn Store, parent: &RunId, filter: &RunFilter) -> Result<Vec<RunView>, StoreError> {
    let mut listed = Vec::new();
    for (task, child) in kin::children(&store.events(parent, 0)?).into_iter().rev() {
        let row = store.row(&child)?.filter(|row| filter.statuses.is_empty() || filter.statuses.contains(&row.status));
        let row = row.filter(|row| filter.since.is_none_or(|since| row.created_at >= since));
        if let Some(row) = row.filter(|_| listed.len() < filter.limit) {
            listed.push(RunView { task: Some(task), ..to_wire::row(&row) });
        }
    }
    Ok(listed)
}

fn status(word: &str) -> Result<Status, Failure> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).map_err(|_| {
        let hint = "use queued, running, awaiting_approval, awaiting_clarification, paused, stuck, completed, failed \
                    or cancelled";
        Failure::user("status", "unknown_status", "that is not a status", hint)
    })
}

/// Starts a run.
#[utoipa::path(post, path = "/", tag = "runs", operation_id = "start_run", request_body = NewRun,
    responses((status = 201, body = RunView), (status = 200, body = RunView, description = "Repeated"), Refusals))]
pub(super) async fn create(
    State(app): State<App>,
    Extension(by): Extension<Actor>,
    Extension(scope): Extension<Scope>,
    headers: HeaderMap,
    Sent(new): Sent<NewRun>,
) -> Result<(StatusCode, Json<RunView>), Failure> {
    let key = key(&headers, "start")?;
    let start = from_wire::start(&app.setup, new.clone(), by).await?;
    scope.check_start(&app.setup, &new, &start).await?;
    let start = with_estimate(&app, start).await?;
    let ids = (0..20).map(|_| RunId::from_bits(rand::random()));
    let receipt = submit_new(&app, ids, |_| start.clone(), key).await?;
    check_repeat(&receipt, &start)?;
    let status = if receipt.repeated { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(to_wire::run(&receipt.run))))
}

/// What was thought at the start goes into the run's record.
pub(super) async fn with_estimate(app: &App, start: Start) -> Result<Start, Failure> {
    let (start, past) = past(app, start).await?;
    let estimate = estimate::estimate(&app.setup, &start, &past).ok();
    Ok(Start { config: domain::RunConfig { estimate, ..start.config }, ..start })
}

async fn past(app: &App, start: Start) -> Result<(Start, Vec<domain::Micros>), Failure> {
    let read = app.read(move |store| Ok((estimate::past(store, &start)?, start)));
    let (past, start) = read.await?;
    Ok((start, past))
}

/// Says what a run will probably cost, without starting it.
#[utoipa::path(post, path = "/estimate", tag = "runs", operation_id = "estimate_run", request_body = NewRun,
    responses((status = 200, body = EstimateView), Refusals))]
pub(super) async fn estimated(
    State(app): State<App>,
    Extension(by): Extension<Actor>,
    Sent(new): Sent<NewRun>,
) -> Result<Json<EstimateView>, Failure> {
    let (start, past) = past(&app, from_wire::start(&app.setup, new, by).await?).await?;
    let said = estimate::estimate(&app.setup, &start, &past);
    Ok(Json(estimate::view(&app.setup, &start, &said)))
}

/// A key that comes again must come with the same request.
pub(super) fn check_repeat(receipt: &Receipt, start: &Start) -> Result<(), Failure> {
    let opened = receipt.run.opened();
    if receipt.repeated && (opened.request != start.request || opened.project != start.project) {
        let message = format!("the Idempotency-Key was used before, for run {}", receipt.run.id);
        return Err(Failure::new(Fault::Conflict, "key_reused", message, "use a new key for a new request"));
    }
    Ok(())
}

/// Tries ids until one is free; the first six characters must be new, since they name the branch.
pub(super) async fn submit_new(
    app: &App,
    ids: impl Iterator<Item = RunId>,
    start: impl Fn(&RunId) -> Start,
    key: Option<CommandKey>,
) -> Result<Receipt, Refusal> {
    for id in ids {
        let command = Command::Start(Box::new(start(&id)));
        match app.engine.submit(id, command, key.clone()).await {
            Err(Refusal::ShortIdTaken) => {}
            other => return other,
        }
    }
    Err(Refusal::ShortIdTaken)
}

/// Shows a run; any unique beginning of its id will do.
#[utoipa::path(get, path = "/{id}", tag = "runs", operation_id = "show_run", params(("id" = String, Path)),
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn show(State(app): State<App>, Named(id): Named<String>) -> Result<Json<RunView>, Failure> {
    let run = app.load(&id).await?;
    let mut view = to_wire::run(&run);
    view.checkpoints = app.read(move |store| steps(store, &run.id)).await?;
    Ok(Json(view))
}

/// The steps of a run and of the runs of its tasks.
fn steps(store: &dyn Store, run: &RunId) -> Result<Vec<CheckpointView>, StoreError> {
    let log = store.events(run, 0)?;
    let mut children = Vec::new();
    for (task, child) in kin::children(&log) {
        children.push((task, store.events(&child, 0)?));
    }
    let children: Vec<(&str, &[Recorded])> =
        children.iter().map(|(task, log)| (task.as_str(), log.as_slice())).collect();
    Ok(domain::checkpoints(&log, &children).iter().map(to_wire::checkpoint).collect())
}

/// The client's key for one command, bound to what it asks so that it cannot hit another command.
pub(super) fn key(headers: &HeaderMap, scope: &str) -> Result<Option<CommandKey>, Failure> {
    Ok(once::key(headers)?.map(|key| CommandKey(format!("{scope}:{key}"))))
}
