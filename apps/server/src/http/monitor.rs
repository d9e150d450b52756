//! What monitors ask for: whether the server is well, and its figures.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use engine::Writer;
use wire::{Fault, HealthView};

use super::Refusals;
use crate::App;
use crate::metrics::{self, Here};
use crate::problem::Failure;

/// Says that the server answers and its database can be read. Needs no token.
#[utoipa::path(get, path = "/healthz", tag = "monitor", operation_id = "health", security(()),
    responses((status = 200, body = HealthView), Refusals))]
pub(super) async fn health(State(app): State<App>) -> Result<Json<HealthView>, Failure> {
    check_writer(&app.engine.writer().borrow())?;
    app.read(|store| store.position()).await?;
    Ok(Json(HealthView { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }))
}

/// The reason is in the log: it may name paths, and whoever asks here needs no token.
fn check_writer(writer: &Writer) -> Result<(), Failure> {
    match writer {
        Writer::Running => Ok(()),
        Writer::Stopped => Err(Failure::stopping()),
        Writer::Failed(_) => {
            let message = "nothing can be written any more; the server is ending";
            let hint = "the server's log says why; the next command starts a new one";
            Err(Failure::new(Fault::World, "writer_failed", message, hint).retry_after(5))
        }
    }
}

/// Figures in the text format of Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "monitor", operation_id = "metrics",
    responses((status = 200, body = String, content_type = "text/plain"), Refusals))]
pub(super) async fn metrics(State(app): State<App>) -> Result<Response, Failure> {
    let here = Here { live_clients: app.watchers.inside(), busy: app.engine.busy() };
    let tally = Arc::clone(&app.tally);
    let text = app.read(move |store| metrics::text(store, &tally, &here)).await?;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}
