//! Which playbooks there are.

use axum::Json;
use domain::Playbook;
use wire::PlaybookView;

use super::Refusals;
use crate::to_wire;

/// Lists the playbooks that runs can be started with.
#[utoipa::path(get, path = "/api/playbooks", tag = "playbooks", operation_id = "list_playbooks",
    responses((status = 200, body = Vec<PlaybookView>), Refusals))]
pub(super) async fn list() -> Json<Vec<PlaybookView>> {
    let playbooks = Playbook::built_in_names().filter_map(Playbook::built_in);
    Json(playbooks.map(|playbook| to_wire::playbook(&playbook)).collect())
}
