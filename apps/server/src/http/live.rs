//! The door to live messages; what is sent through it is in `crate::live`.

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{Fault, LiveMessage};

use super::Refusals;
use crate::App;
use crate::body::Params;
use crate::gate::Given;
use crate::live::{Scope, Watch};
use crate::problem::Failure;

/// What to watch.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Go on after this position instead of beginning with a snapshot.
    after: Option<u64>,
    /// Only this run.
    run: Option<String>,
    /// The runs of its tasks too.
    #[serde(default)]
    children: bool,
}

/// Opens a WebSocket: a snapshot, then everything after its position.
#[utoipa::path(get, path = "/api/live", tag = "live", operation_id = "live", params(Which),
    responses((status = 101, body = LiveMessage), Refusals))]
pub(super) async fn live(
    State(app): State<App>,
    Extension(given): Extension<Given>,
    Params(which): Params<Which>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let upgrade = upgrade.map_err(|error| {
        let hint = "open it as a WebSocket, or poll /api/runs";
        Failure::new(Fault::User, "not_a_websocket", error.body_text(), hint)
    })?;
    let run = match which.run {
        Some(given) => Some(app.find(&given).await?),
        None => None,
    };
    // The connection outlives this request, and a server with clients is not idle.
    let visit = app.door.enter().ok_or_else(Failure::stopping)?;
    let scope = match run {
        Some(run) if which.children => Scope::Family(run),
        Some(run) => Scope::One(run),
        None => Scope::All,
    };
    let watcher = app.watchers.enter();
    let watch = Watch { app, token: given, scope, after: which.after };
    // Clients say next to nothing, and there may be a thousand: the usual 128 KiB each way would be most of our memory.
    let upgrade = upgrade.read_buffer_size(4 * 1024).write_buffer_size(16 * 1024);
    let upgrade = upgrade.protocols(["holdpoint"]).max_message_size(64 * 1024);
    Ok(upgrade.on_upgrade(|socket| async move {
        watch.serve(socket).await;
        drop((visit, watcher));
    }))
}
