//! Words to agents at work.

use axum::extract::State;
use axum::{Extension, Json};
use domain::Actor;
use runner::{TellError, session_name};
use wire::{Fault, MessageRequest, MessageView};

use super::Refusals;
use crate::App;
use crate::body::{Named, Sent};
use crate::problem::Failure;

/// Says something to the agent at work. The id is a session's, or a run's for whoever works on it now.
#[utoipa::path(post, path = "/api/sessions/{id}/message", tag = "sessions", operation_id = "tell_session",
    params(("id" = String, Path)), request_body = MessageRequest,
    responses((status = 200, body = MessageView), Refusals))]
pub(super) async fn message(
    State(app): State<App>,
    Named(id): Named<String>,
    Extension(by): Extension<Actor>,
    Sent(request): Sent<MessageRequest>,
) -> Result<Json<MessageView>, Failure> {
    let (run, session) = match id.split_once('.') {
        Some((run, _)) => (app.load(run).await?, Some(id.as_str())),
        None => (app.load(&id).await?, None),
    };
    let told = app.shelf.tell(&run, session, &by.name, &request.text).await?;
    let session = session_name(&run).unwrap_or_default();
    Ok(Json(MessageView { session, number: told.number }))
}

impl From<TellError> for Failure {
    fn from(error: TellError) -> Self {
        match &error {
            TellError::NobodyWorks(message) => {
                let hint =
                    "`holdpoint why RUN` says what the run waits for; decide there, or say it when an agent works";
                Self::new(Fault::Conflict, "nobody_works", message, hint)
            }
            TellError::Unfit(message) => Self::user("text", "unfit_text", message, "say it in fewer words"),
            TellError::Failed(message) => {
                Self::new(Fault::World, "not_told", message, "see the server's log, then say it again")
            }
        }
    }
}
