//! The HTTP face: one file per group of routes. Handlers translate; the engine decides.

mod changes;
mod channels;
mod decisions;
mod document;
mod figures;
mod forks;
mod groups;
mod holds;
mod live;
mod login;
mod models;
mod monitor;
mod notifications;
mod paging;
mod playbooks;
mod reading;
mod runs;
mod sessions;
mod tasks;
mod users;

use axum::extract::OriginalUri;
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use utoipa::openapi::{Info, OpenApi, PathItem};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::{Fault, Problem};

use crate::App;
use crate::gate::gate;
use crate::once::once;
use crate::pages;
use crate::problem::Failure;
use crate::tags::tagged;
use crate::traced::traced;

/// The whole face, guarded.
pub fn router(app: App) -> Router {
    let (routes, api) = documented().split_for_parts();
    let described = move || async move { Json(api).into_response() };
    Router::new()
        .merge(routes)
        .route("/api/openapi.json", get(described))
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(axum::middleware::from_fn(tagged))
        .layer(axum::middleware::from_fn_with_state(app.clone(), once))
        .layer(axum::middleware::from_fn_with_state(app.clone(), gate))
        .layer(axum::middleware::from_fn(traced))
        .with_state(app)
}

/// What the face offers, for programs.
#[must_use]
pub fn openapi() -> OpenApi {
    documented().split_for_parts().1
}

fn documented() -> OpenApiRouter<App> {
    let other = OpenApiRouter::new()
        .routes(routes!(holds::list))
        .routes(routes!(holds::answer))
        .routes(routes!(groups::compare))
        .routes(routes!(figures::metrics))
        .routes(routes!(figures::projects))
        .routes(routes!(figures::doctor))
        .routes(routes!(playbooks::list))
        .routes(routes!(models::list))
        .routes(routes!(models::test))
        .routes(routes!(channels::list, channels::open))
        .routes(routes!(channels::show))
        .routes(routes!(channels::ask))
        .routes(routes!(channels::live))
        .routes(routes!(sessions::show))
        .routes(routes!(decisions::session_message))
        .routes(routes!(live::live))
        .routes(routes!(login::code))
        .routes(routes!(login::log_in))
        .routes(routes!(login::log_out))
        .routes(routes!(login::who))
        .routes(routes!(users::list, users::add))
        .routes(routes!(users::revoke))
        .routes(routes!(notifications::list))
        .routes(routes!(notifications::test))
        .routes(routes!(notifications::retry))
        .routes(routes!(monitor::health))
        .routes(routes!(monitor::metrics));
    let mut workflows = of_runs();
    for item in workflows.get_openapi_mut().paths.paths.values_mut() {
        rename(item);
    }
    let mut api = OpenApiRouter::new()
        .nest("/api/runs", of_runs())
        .nest("/api/tasks", of_tasks())
        .nest("/api/workflows", workflows)
        .merge(other);
    let document = api.get_openapi_mut();
    document.info = Info::new("Holdpoint", env!("CARGO_PKG_VERSION"));
    document::complete(document);
    api
}

fn of_runs() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(runs::list, runs::create))
        .routes(routes!(runs::estimated))
        .routes(routes!(groups::batch))
        .routes(routes!(groups::variants))
        .routes(routes!(runs::show))
        .routes(routes!(forks::points))
        .routes(routes!(forks::fork))
        .routes(routes!(decisions::approve))
        .routes(routes!(decisions::request_changes))
        .routes(routes!(decisions::decide))
        .routes(routes!(decisions::cancel))
        .routes(routes!(decisions::merge))
        .routes(routes!(decisions::pull_request))
        .routes(routes!(decisions::pause))
        .routes(routes!(decisions::attach))
        .routes(routes!(decisions::resume))
        .routes(routes!(decisions::overturn))
        .routes(routes!(decisions::message))
        .routes(routes!(reading::events))
        .routes(routes!(reading::artifacts))
        .routes(routes!(reading::artifact))
        .routes(routes!(reading::plan))
        .routes(routes!(reading::diff))
        .routes(routes!(changes::diff_files))
        .routes(routes!(changes::diff_file))
        .routes(routes!(changes::diff_text))
        .routes(routes!(changes::artifact_files))
        .routes(routes!(changes::artifact_file))
        .routes(routes!(changes::artifact_text))
        .routes(routes!(reading::why))
        .routes(routes!(reading::spend))
        .routes(routes!(sessions::list))
}

fn of_tasks() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(tasks::list))
        .routes(routes!(tasks::show))
        .routes(routes!(tasks::update))
        .routes(routes!(tasks::complete))
        .routes(routes!(tasks::merge))
        .routes(routes!(tasks::create_pr))
        .routes(routes!(tasks::respawn))
}

/// The second name of a route needs operation ids of its own.
fn rename(item: &mut PathItem) {
    for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
        operation.operation_id = operation.operation_id.take().map(|id| format!("workflow_{id}"));
    }
}

async fn unknown(method: Method, OriginalUri(uri): OriginalUri) -> Result<Response, Failure> {
    if pages::is_page(&method, uri.path()) {
        return pages::page(&uri);
    }
    let path: String = uri.path().chars().take(100).collect();
    let hint = "see /api/openapi.json for every route";
    Err(Failure::new(Fault::Missing, "no_such_route", format!("there is nothing at `{path}`"), hint))
}

async fn wrong_method(method: Method, OriginalUri(uri): OriginalUri) -> Failure {
    let path: String = uri.path().chars().take(100).collect();
    Failure::method_not_allowed(format!("`{path}` does not take {method}"))
}

/// What routes answer when they refuse; one list for all of them.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "only its shape is used, for the document")]
enum Refusals {
    /// The request is wrong; `field` says where.
    #[response(status = 400)]
    Bad(Problem),
    /// The token is missing or wrong.
    #[response(status = 401)]
    Unauthorized(Problem),
    /// The caller may not do this, or it comes from another site.
    #[response(status = 403)]
    Forbidden(Problem),
    /// There is no such thing.
    #[response(status = 404)]
    Missing(Problem),
    /// The state has moved on; the message says what happened.
    #[response(status = 409)]
    Conflict(Problem),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(Problem),
    /// The body is not JSON.
    #[response(status = 415)]
    NotJson(Problem),
    /// The Host is not ours.
    #[response(status = 421)]
    Misdirected(Problem),
    /// Too many tries.
    #[response(status = 429)]
    TooMany(Problem),
    /// The world does not answer right now.
    #[response(status = 503)]
    Unavailable(Problem),
}
