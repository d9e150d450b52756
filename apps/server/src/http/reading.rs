//! What a run did and made. Nothing here changes anything.

use axum::Json;
use axum::extract::State;
use domain::{Artifact, ArtifactKind, Plan, Run};
use runner::ReadError;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{ArtifactContent, ArtifactView, DiffView, EventView, Fault, SpendCall, WhyView};

use super::{Refusals, paging};
use crate::body::{Named, Params};
use crate::problem::Failure;
use crate::{App, to_wire};

/// Most events and calls that are listed where a limit is said.
const MOST_EVENTS: usize = 10_000;

/// From where on.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct After {
    /// Only events with a higher sequence number.
    #[serde(default)]
    after: u64,
    /// At most so many, up to 10000; all unless said.
    limit: Option<usize>,
}

/// Lists the events of a run.
#[utoipa::path(get, path = "/{id}/events", tag = "reading", operation_id = "list_events",
    params(("id" = String, Path), After), responses((status = 200, body = Vec<EventView>), Refusals))]
pub(super) async fn events(
    State(app): State<App>,
    Named(id): Named<String>,
    Params(After { after, limit }): Params<After>,
) -> Result<Json<Vec<EventView>>, Failure> {
    let run = app.find(&id).await?;
    let of = run.clone();
    // What an event means to a list of tasks follows from those before it.
    let log = app.read(move |store| store.events(&of, 0)).await?;
    let mut events = to_wire::events(&run, &log, after);
    if let Some(limit) = limit {
        events.truncate(paging::limit(Some(limit), MOST_EVENTS, MOST_EVENTS)?);
    }
    Ok(Json(events))
}

/// Lists what a run made.
#[utoipa::path(get, path = "/{id}/artifacts", tag = "reading", operation_id = "list_artifacts",
    params(("id" = String, Path)), responses((status = 200, body = Vec<ArtifactView>), Refusals))]
pub(super) async fn artifacts(
    State(app): State<App>,
    Named(id): Named<String>,
) -> Result<Json<Vec<ArtifactView>>, Failure> {
    let run = app.load(&id).await?;
    Ok(Json(run.artifacts.iter().map(to_wire::artifact).collect()))
}

/// Shows one thing a run made, counted from 1 in the order of the list.
#[utoipa::path(get, path = "/{id}/artifacts/{number}", tag = "reading", operation_id = "show_artifact",
    params(("id" = String, Path), ("number" = usize, Path)),
    responses((status = 200, body = ArtifactContent), Refusals))]
pub(super) async fn artifact(
    State(app): State<App>,
    Named((id, number)): Named<(String, String)>,
) -> Result<Json<ArtifactContent>, Failure> {
    let run = app.load(&id).await?;
    let artifact = numbered(&run, &number)?;
    let content = app.shelf.artifact_text(&run, artifact).await?;
    let drawings = match artifact.kind {
        ArtifactKind::Spec | ArtifactKind::Plan => drawn(content.text.clone()).await?,
        ArtifactKind::Requirement
        | ArtifactKind::Scope
        | ArtifactKind::Research
        | ArtifactKind::Code
        | ArtifactKind::Handoff
        | ArtifactKind::ValidationReport => Vec::new(),
    };
    Ok(Json(to_wire::artifact_content(artifact, content, drawings)))
}

/// An artifact by its place in the list, counted from 1.
pub(super) fn numbered<'a>(run: &'a Run, number: &str) -> Result<&'a Artifact, Failure> {
    let index = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    index.and_then(|index| run.artifacts.get(index)).ok_or_else(|| {
        let message = format!("run {} has no such artifact", run.id);
        Failure::new(Fault::Missing, "no_such_artifact", message, format!("it has {}", run.artifacts.len()))
    })
}

/// Shows the plan of tasks as JSON, as `modify_plan` takes it back.
#[utoipa::path(get, path = "/{id}/plan", tag = "reading", operation_id = "show_plan",
    params(("id" = String, Path)), responses((status = 200, body = Object), Refusals))]
pub(super) async fn plan(State(app): State<App>, Named(id): Named<String>) -> Result<Json<Plan>, Failure> {
    let run = app.load(&id).await?;
    let plan = run.plan.as_deref().cloned().ok_or_else(|| {
        let message = format!("run {} has no plan of tasks", run.id);
        Failure::new(Fault::Missing, "no_plan", message, "see `holdpoint artifact` for what it has made")
    })?;
    Ok(Json(plan))
}

/// Laying out a large diagram takes a while: not on a thread that serves others.
async fn drawn(content: String) -> Result<Vec<String>, Failure> {
    let drawn = tokio::task::spawn_blocking(move || to_wire::drawings(&content)).await;
    drawn.map_err(|_| Failure::bug("drawing a diagram broke off"))
}

/// Shows what a run's branch changes; a very long diff is cut, and says so. `/diff/files` has every file.
#[utoipa::path(get, path = "/{id}/diff", tag = "reading", operation_id = "show_diff",
    params(("id" = String, Path)), responses((status = 200, body = DiffView), Refusals))]
pub(super) async fn diff(State(app): State<App>, Named(id): Named<String>) -> Result<Json<DiffView>, Failure> {
    let run = app.load(&id).await?;
    if run.base.is_none() {
        return Err(no_branch(&run));
    }
    Ok(Json(to_wire::diff(app.shelf.diff(&run).await?)))
}

pub(super) fn no_branch(run: &Run) -> Failure {
    let message = format!("run {} has no branch yet", run.id);
    Failure::new(Fault::Conflict, "no_branch", message, "ask again when it has begun")
}

/// Says why a run is not moving.
#[utoipa::path(get, path = "/{id}/why", tag = "reading", operation_id = "why",
    params(("id" = String, Path)), responses((status = 200, body = WhyView), Refusals))]
pub(super) async fn why(State(app): State<App>, Named(id): Named<String>) -> Result<Json<WhyView>, Failure> {
    let run = app.load(&id).await?;
    let queue = app.engine.queue(&run.id).await?;
    Ok(Json(to_wire::reason(&run, queue.as_ref())))
}

/// Lists the model calls of a run.
#[utoipa::path(get, path = "/{id}/spend", tag = "reading", operation_id = "list_spend",
    params(("id" = String, Path), Skip), responses((status = 200, body = Vec<SpendCall>), Refusals))]
pub(super) async fn spend(
    State(app): State<App>,
    Named(id): Named<String>,
    Params(Skip { after, limit }): Params<Skip>,
) -> Result<Json<Vec<SpendCall>>, Failure> {
    let run = app.find(&id).await?;
    let log = app.read(move |store| store.events(&run, 0)).await?;
    let calls = to_wire::calls(&log).into_iter().skip(after);
    Ok(Json(match limit {
        Some(_) => calls.take(paging::limit(limit, MOST_EVENTS, MOST_EVENTS)?).collect(),
        None => calls.collect(),
    }))
}

/// Which calls.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Skip {
    /// Leave out so many of the first.
    #[serde(default)]
    after: usize,
    /// At most so many, up to 10000; all unless said.
    limit: Option<usize>,
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let hint = "see whether the repository is still where it was; the server's log says more";
        Self::new(Fault::World, "not_readable", error.to_string(), hint)
    }
}
