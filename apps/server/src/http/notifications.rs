//! Who is told when something waits or has ended, and whether it arrived. Never shows a secret.

use axum::Json;
use axum::extract::State;
use store::DeliveryRow;
use wire::{DeliveryView, DestinationView, NotifyRequest, RevivedView};

use super::Refusals;
use crate::App;
use crate::body::{Named, Sent};
use crate::notify::Told;
use crate::problem::Failure;

/// Deliveries that are shown of each destination.
const RECENT: usize = 20;

/// Lists the destinations with their newest deliveries.
#[utoipa::path(get, path = "/api/notifications", tag = "notifications", operation_id = "list_notifications",
    responses((status = 200, body = Vec<DestinationView>), Refusals))]
pub(super) async fn list(State(app): State<App>) -> Result<Json<Vec<DestinationView>>, Failure> {
    let told = app.bureau.standing(&app, RECENT).await?;
    Ok(Json(told.into_iter().map(destination).collect()))
}

/// Sends a test notice, once. One that does not arrive is a result, not an error of this request.
#[utoipa::path(post, path = "/api/notifications/{name}/test", tag = "notifications",
    operation_id = "test_notification", params(("name" = String, Path)), request_body = NotifyRequest,
    responses((status = 200, body = DeliveryView), Refusals))]
pub(super) async fn test(
    State(app): State<App>,
    Named(name): Named<String>,
    Sent(NotifyRequest {}): Sent<NotifyRequest>,
) -> Result<Json<DeliveryView>, Failure> {
    Ok(Json(delivery(app.bureau.test(&app, &name).await?)))
}

/// Puts what was given up back into the line.
#[utoipa::path(post, path = "/api/notifications/{name}/retry", tag = "notifications",
    operation_id = "retry_notifications", params(("name" = String, Path)), request_body = NotifyRequest,
    responses((status = 200, body = RevivedView), Refusals))]
pub(super) async fn retry(
    State(app): State<App>,
    Named(name): Named<String>,
    Sent(NotifyRequest {}): Sent<NotifyRequest>,
) -> Result<Json<RevivedView>, Failure> {
    Ok(Json(RevivedView { revived: app.bureau.revive(&app, &name).await? }))
}

fn destination(told: Told) -> DestinationView {
    let Told { destination, standing } = told;
    DestinationView {
        name: destination.name().to_owned(),
        kind: destination.kind().to_owned(),
        to: destination.shown(),
        events: destination.topics().iter().map(|topic| topic.word().to_owned()).collect(),
        waiting: standing.waiting,
        dead: standing.dead,
        recent: standing.recent.into_iter().map(delivery).collect(),
    }
}

fn delivery(row: DeliveryRow) -> DeliveryView {
    let DeliveryRow { id, event, state, tries, created_at, ended_at, due_at, problem } = row;
    DeliveryView { id, event, state, tries, created_at, ended_at, due_at, problem }
}
