//! Starting, listing and showing runs.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use domain::{Actor, Command, RunId, Status};
use engine::{CommandKey, Receipt, Refusal, RunFilter};
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{Fault, NewRun, RunView};

use super::Refusals;
use crate::body::{Named, Params, Sent};
use crate::problem::Failure;
use crate::{App, from_wire, to_wire};

/// Which runs to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only runs of this repository.
    project: Option<String>,
    /// Only runs with one of these statuses, separated by commas.
    status: Option<String>,
    /// Only runs older than this one.
    before: Option<String>,
    /// At most so many, up to 1000; 100 unless said.
    limit: Option<usize>,
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
    let limit = which.limit.unwrap_or(100);
    if !(1..=1000).contains(&limit) {
        return Err(Failure::user("limit", "bad_limit", format!("{limit} runs cannot be listed"), "use 1 to 1000"));
    }
    let filter = RunFilter { project: which.project, statuses, before, limit };
    let rows = app.read(move |store| store.rows(&filter)).await?;
    Ok(Json(rows.iter().map(to_wire::row).collect()))
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
    headers: HeaderMap,
    Sent(new): Sent<NewRun>,
) -> Result<(StatusCode, Json<RunView>), Failure> {
    let key = key(&headers, "start")?;
    let start = from_wire::start(&app.setup, new, by).await?;
    let receipt = submit_new(&app, &start, key).await?;
    let opened = receipt.run.opened();
    if receipt.repeated && (opened.request != start.request || opened.project != start.project) {
        let message = format!("the Idempotency-Key was used before, for run {}", receipt.run.id);
        return Err(Failure::new(Fault::Conflict, "key_reused", message, "use a new key for a new request"));
    }
    let status = if receipt.repeated { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(to_wire::run(&receipt.run))))
}

/// Draws ids until one is free; the first six characters must be new, since they name the branch.
async fn submit_new(app: &App, start: &domain::Start, key: Option<CommandKey>) -> Result<Receipt, Refusal> {
    let mut refusal = Refusal::ShortIdTaken;
    for _ in 0..20 {
        let id = RunId::from_bits(rand::random());
        match app.engine.submit(id, Command::Start(Box::new(start.clone())), key.clone()).await {
            Err(Refusal::ShortIdTaken) => refusal = Refusal::ShortIdTaken,
            other => return other,
        }
    }
    Err(refusal)
}

/// Shows a run; any unique beginning of its id will do.
#[utoipa::path(get, path = "/{id}", tag = "runs", operation_id = "show_run", params(("id" = String, Path)),
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn show(State(app): State<App>, Named(id): Named<String>) -> Result<Json<RunView>, Failure> {
    Ok(Json(to_wire::run(&app.load(&id).await?)))
}

/// The client's key for one command, bound to what it asks so that it cannot hit another command.
pub(super) fn key(headers: &HeaderMap, scope: &str) -> Result<Option<CommandKey>, Failure> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let usable = value.to_str().ok().filter(|key| !key.is_empty() && key.len() <= 200);
    let key = usable.ok_or_else(|| {
        let message = "the Idempotency-Key is not usable";
        Failure::user("Idempotency-Key", "bad_key", message, "use 1 to 200 visible ASCII characters")
    })?;
    Ok(Some(CommandKey(format!("{scope}:{key}"))))
}
