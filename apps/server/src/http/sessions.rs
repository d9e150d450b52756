//! Conversations of agents. Nothing here changes anything.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::Run;
use engine::{SessionId, SessionRow, StoreError};
use serde::Deserialize;
use store::Diary;
use utoipa::IntoParams;
use wire::{Fault, SessionHistory, SessionView};

use super::Refusals;
use crate::body::{Named, Params};
use crate::problem::Failure;
use crate::{App, to_wire};

const MOST_TURNS: u32 = 200;

/// Lists the conversations of a run, oldest first.
#[utoipa::path(get, path = "/{id}/sessions", tag = "sessions", operation_id = "list_sessions",
    params(("id" = String, Path)), responses((status = 200, body = Vec<SessionView>), Refusals))]
pub(super) async fn list(State(app): State<App>, Named(id): Named<String>) -> Result<Json<Vec<SessionView>>, Failure> {
    let run = app.load(&id).await?;
    let of = run.id.clone();
    let rows = look(&app, move |diary| diary.sessions(&of)).await?;
    Ok(Json(rows.iter().map(|row| to_wire::session(row, is_active(&run, &row.id))).collect()))
}

/// Which turns.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Turns {
    /// Only turns with a higher number.
    #[serde(default)]
    after: u32,
    /// At most so many; 200 unless told, and never more.
    limit: Option<u32>,
}

/// Shows a conversation with its turns.
#[utoipa::path(get, path = "/api/sessions/{id}", tag = "sessions", operation_id = "show_session",
    params(("id" = String, Path), Turns), responses((status = 200, body = SessionHistory), Refusals))]
pub(super) async fn show(
    State(app): State<App>,
    Named(id): Named<String>,
    Params(Turns { after, limit }): Params<Turns>,
) -> Result<Json<SessionHistory>, Failure> {
    let session = SessionId::named(&id);
    let row = find(&app, &session).await?;
    let most = limit.unwrap_or(MOST_TURNS).clamp(1, MOST_TURNS);
    let mut turns = look(&app, move |diary| diary.turns(&session, after, most + 1)).await?;
    let more = turns.len() > usize::try_from(most).unwrap_or(usize::MAX);
    turns.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let active = match row.id.run() {
        Some(run) => is_active(&app.load(run.as_str()).await?, &row.id),
        None => false,
    };
    let turns = turns.into_iter().map(to_wire::turn).collect();
    Ok(Json(SessionHistory { session: to_wire::session(&row, active), turns, more }))
}

async fn find(app: &App, id: &SessionId) -> Result<SessionRow, Failure> {
    let wanted = id.clone();
    look(app, move |diary| diary.session(&wanted)).await?.ok_or_else(|| {
        let shown: String = id.as_str().chars().filter(|c| !c.is_control()).take(80).collect();
        let hint = "see `GET /api/runs/{run}/sessions` for those there are";
        Failure::new(Fault::Missing, "no_such_session", format!("there is no session `{shown}`"), hint)
    })
}

/// Whether a process of the conversation works now: the run says so, not what was told last.
pub(super) fn is_active(run: &Run, id: &SessionId) -> bool {
    run.agent().is_some_and(|(_, task)| SessionId::of_run(&run.id, &task.session) == *id)
}

async fn look<T: Send + 'static>(
    app: &App,
    read: impl FnOnce(&Diary) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Failure> {
    let diary = Arc::clone(&app.diary);
    let joined = tokio::task::spawn_blocking(move || read(&diary)).await;
    Ok(joined.map_err(|_| Failure::bug("reading the conversations broke off"))??)
}
