//! The inbox, and answers to questions.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Extension, Json};
use domain::{Actor, Decide, Decision, Digest, Status};
use engine::RunFilter;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{AnswerRequest, Fault, HoldView, RunView};

use super::{Refusals, decisions};
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
}

/// Lists everything that waits for a person, longest waiting first.
#[utoipa::path(get, path = "/api/holds", tag = "decisions", operation_id = "list_holds", params(Which),
    responses((status = 200, body = Vec<HoldView>), Refusals))]
pub(super) async fn list(State(app): State<App>, Params(which): Params<Which>) -> Result<Json<Vec<HoldView>>, Failure> {
    let statuses = vec![Status::AwaitingApproval, Status::AwaitingClarification, Status::Paused, Status::Stuck];
    let filter = RunFilter { project: which.project, statuses, before: None, limit: 1000 };
    let rows = app.read(move |store| store.rows(&filter)).await?;
    let held = rows.iter().filter_map(|row| row.hold.as_ref().map(|hold| to_wire::hold(&row.id, hold)));
    let mut holds: Vec<_> = held.collect();
    holds.sort_by_key(|hold| hold.since);
    Ok(Json(holds))
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
