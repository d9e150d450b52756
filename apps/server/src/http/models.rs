//! Which models there are, and whether they answer.

use axum::Json;
use axum::extract::State;
use wire::{Fault, ModelTestRequest, ModelTestView, ModelsView};

use super::Refusals;
use crate::body::Sent;
use crate::problem::Failure;
use crate::{App, models};

/// Lists providers, models with their prices, and which roles use them. Never shows a key.
#[utoipa::path(get, path = "/api/models", tag = "models", operation_id = "list_models",
    responses((status = 200, body = ModelsView), Refusals))]
pub(super) async fn list(State(app): State<App>) -> Result<Json<ModelsView>, Failure> {
    let home = app.setup.home.clone();
    let joined = tokio::task::spawn_blocking(move || runner::tries_so_far(&home)).await;
    let spend = joined.map_err(|_| Failure::bug("reading the records of test calls broke off"))?;
    let spend = spend.map_err(|error| {
        let hint = "move the folder `model-tests` of the data directory away, or mend its files";
        Failure::new(Fault::World, "bad_record", error.to_string(), hint)
    })?;
    Ok(Json(models::view(&app.setup, spend)))
}

/// Makes one tiny metered call to each model. A model that fails is a result, not an error of this request.
#[utoipa::path(post, path = "/api/models/test", tag = "models", operation_id = "test_models",
    request_body = ModelTestRequest, responses((status = 200, body = Vec<ModelTestView>), Refusals))]
pub(super) async fn test(
    State(app): State<App>,
    Sent(request): Sent<ModelTestRequest>,
) -> Result<Json<Vec<ModelTestView>>, Failure> {
    Ok(Json(models::test(&app.setup, &request).await?))
}
