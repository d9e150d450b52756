//! The inbox, and answers to questions.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use domain::{Actor, Decide, Decision, Digest, Status};
use engine::{RunFilter, Store, StoreError};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{AnswerRequest, Fault, HoldView, RunView};

use super::{Refusals, decisions, paging};
use crate::body::{Named, Params, Sent};
use crate::problem::Failure;
use crate::{App, from_wire, to_wire};

/// Whose holds.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only holds of this repository.
    project: Option<String>,
    /// Only holds of this kind.
    kind: Option<String>,
    /// Only holds that came after this one in the list, which may be decided by now.
    after: Option<String>,
    /// At most so many, up to 1000; 1000 unless said.
    limit: Option<usize>,
}

/// Lists everything that waits for a person, longest waiting first.
#[utoipa::path(get, path = "/api/holds", tag = "decisions", operation_id = "list_holds", params(Which),
    responses((status = 200, body = Vec<HoldView>), Refusals))]
pub(super) async fn list(State(app): State<App>, Params(which): Params<Which>) -> Result<Json<Vec<HoldView>>, Failure> {
    let statuses = vec![Status::AwaitingApproval, Status::AwaitingClarification, Status::Paused, Status::Stuck];
    let limit = paging::limit(which.limit, paging::MOST, paging::MOST)?;
    let after = match &which.after {
        Some(text) => Some(place(&app, text).await?),
        None => None,
    };
    let filter = RunFilter { project: which.project, statuses, limit: paging::MOST, ..RunFilter::default() };
    let mut holds = app.read(move |store| waiting(store, filter)).await?;
    holds.retain(|hold| which.kind.as_ref().is_none_or(|kind| hold.kind == *kind));
    holds.sort_by(|one, other| (one.since, &one.id).cmp(&(other.since, &other.id)));
    if let Some(after) = after {
        holds.retain(|hold| (hold.since, &hold.id) > (after.0, &after.1));
    }
    holds.truncate(limit);
    Ok(Json(holds))
}

/// All of them: the longest waiting may belong to the oldest runs.
fn waiting(store: &dyn Store, mut filter: RunFilter) -> Result<Vec<HoldView>, StoreError> {
    let mut holds = Vec::new();
    loop {
        let rows = store.rows(&filter)?;
        holds.extend(rows.iter().filter_map(|row| row.hold.as_ref().map(|hold| to_wire::hold(&row.id, hold))));
        if rows.len() < filter.limit {
            return Ok(holds);
        }
        filter.before = rows.last().map(|row| row.id.clone());
    }
}

/// Where a hold stood in the list: its id names the event that placed it.
async fn place(app: &App, text: &str) -> Result<(Timestamp, String), Failure> {
    let (run, hold) = from_wire::hold_id(text)?;
    let log = app.read(move |store| store.events(&run, 0)).await?;
    let placed = log.iter().find(|recorded| recorded.sequence == hold.0).ok_or_else(|| {
        Failure::user("after", "no_such_hold", "there was no such hold", "send the id of a hold that was listed")
    })?;
    Ok((placed.at, text.to_owned()))
}

/// Answers the exact question the id names.
#[utoipa::path(post, path = "/api/clarifications/{id}/answer", tag = "decisions", operation_id = "answer_question",
    params(("id" = String, Path)), request_body = AnswerRequest,
    responses((status = 200, body = RunView), Refusals))]
pub(super) async fn answer(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    headers: HeaderMap,
    Sent(request): Sent<AnswerRequest>,
) -> Result<Json<RunView>, Failure> {
    let (id, hold) = from_wire::hold_id(&id)?;
    let run = app.engine.load(&id).await?.ok_or_else(|| {
        let message = format!("there is no run `{id}`");
        Failure::new(Fault::Missing, "no_such_hold", message, "see `holdpoint inbox` for what waits")
    })?;
    let current = run.hold().filter(|current| current.id == hold);
    let digest = match (request.digest, current) {
        (Some(digest), _) => Digest::claimed(&digest),
        // The id names the question, and a hold's question never changes.
        (None, Some(current)) => current.digest.clone(),
        (None, None) => Digest::claimed(""),
    };
    let decision = Decision::Answer { answer: request.answer };
    decisions::submit(&app, run.id, Decide { hold, digest, decision, by }, &headers).await
}
