//! How runs went, the repositories they are of, and the state of this installation.

use std::path::Path;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{DoctorView, MetricsView, ProjectView};

use super::Refusals;
use crate::body::Params;
use crate::problem::Failure;
use crate::{App, checkup};

/// Ten years.
const MOST_WEEKS: u16 = 520;

/// What to tell of.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only runs of this repository.
    project: Option<String>,
    /// So many weeks, this one included, up to 520; 12 unless said.
    weeks: Option<u16>,
}

/// Tells how runs went: success, time, money, decisions and iterations, by playbook, model and week.
#[utoipa::path(get, path = "/api/metrics", tag = "reading", operation_id = "run_metrics", params(Which),
    responses((status = 200, body = MetricsView), Refusals))]
pub(super) async fn metrics(
    State(app): State<App>,
    Params(which): Params<Which>,
) -> Result<Json<MetricsView>, Failure> {
    let weeks = which.weeks.unwrap_or(12);
    if !(1..=MOST_WEEKS).contains(&weeks) {
        let message = format!("{weeks} weeks cannot be told of");
        return Err(Failure::user("weeks", "bad_weeks", message, format!("use 1 to {MOST_WEEKS}")));
    }
    let ledger = Arc::clone(&app.ledger);
    let view = app.read(move |store| {
        ledger.look(store, |stories| stories.view(which.project.as_deref(), weeks, Timestamp::now()))
    });
    Ok(Json(view.await?))
}

/// Lists the repositories that runs were started in, the one last used first.
#[utoipa::path(get, path = "/api/projects", tag = "reading", operation_id = "list_projects",
    responses((status = 200, body = Vec<ProjectView>), Refusals))]
pub(super) async fn projects(State(app): State<App>) -> Result<Json<Vec<ProjectView>>, Failure> {
    let ledger = Arc::clone(&app.ledger);
    let views = app.read(move |store| ledger.look(store, |stories| stories.projects(|path| Path::new(path).is_dir())));
    Ok(Json(views.await?))
}

/// Looks at this installation: what is there, what is missing, and every setting with where it came from.
#[utoipa::path(get, path = "/api/doctor", tag = "monitor", operation_id = "doctor",
    responses((status = 200, body = DoctorView), Refusals))]
pub(super) async fn doctor(State(app): State<App>) -> Result<Json<DoctorView>, Failure> {
    let (setup, url) = (Arc::clone(&app.setup), app.url());
    let looked = tokio::task::spawn_blocking(move || {
        let mut findings = checkup::findings(&setup.home, &setup.told);
        findings.push(checkup::good("server", format!("{url} (pid {})", std::process::id())));
        DoctorView { findings, settings: setup.told.settings.clone() }
    });
    Ok(Json(looked.await.map_err(|_| Failure::bug("looking at the installation broke off"))?))
}
