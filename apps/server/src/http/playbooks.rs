//! Which playbooks there are.

use axum::Json;
use axum::extract::State;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::PlaybookView;

use super::Refusals;
use crate::body::Params;
use crate::problem::Failure;
use crate::{App, from_wire, playbooks};

/// Whose playbooks to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Whose {
    /// With those of this repository: an absolute path.
    project: Option<String>,
    /// As they are on this branch; the checked-out one unless said.
    base: Option<String>,
}

/// Lists the playbooks that runs can be started with, and a project's files that cannot be used.
#[utoipa::path(get, path = "/api/playbooks", tag = "playbooks", operation_id = "list_playbooks", params(Whose),
    responses((status = 200, body = Vec<PlaybookView>), Refusals))]
pub(super) async fn list(
    State(app): State<App>,
    Params(whose): Params<Whose>,
) -> Result<Json<Vec<PlaybookView>>, Failure> {
    let mut all = playbooks::built_in();
    if let Some(project) = whose.project {
        let project = from_wire::project(&app.setup, &project, whose.base.as_deref()).await?;
        all.extend(playbooks::of_project(&project.playbooks));
    }
    Ok(Json(all))
}
