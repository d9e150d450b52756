//! Users: who is let in, as what, and no more.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use wire::{Fault, NewUser, NewUserView, UserView};

use super::Refusals;
use crate::App;
use crate::body::{Named, Sent};
use crate::problem::Failure;

/// The longest name.
const LONGEST: usize = 32;

/// Lists the users. The owner of the data directory is none of them.
#[utoipa::path(get, path = "/api/users", tag = "people", operation_id = "list_users",
    responses((status = 200, body = Vec<UserView>), Refusals))]
pub(super) async fn list(State(app): State<App>) -> Json<Vec<UserView>> {
    Json(app.people.users(Timestamp::now()))
}

/// Lets somebody in. The token is shown this one time.
#[utoipa::path(post, path = "/api/users", tag = "people", operation_id = "add_user", request_body = NewUser,
    responses((status = 201, body = NewUserView), Refusals))]
pub(super) async fn add(
    State(app): State<App>,
    Sent(new): Sent<NewUser>,
) -> Result<(StatusCode, Json<NewUserView>), Failure> {
    check_name(&new.name)?;
    let taken = || {
        let message = format!("there is a user `{}` already", new.name);
        Failure::new(Fault::Conflict, "name_taken", message, "choose another name, or revoke that user first")
            .at("name")
    };
    // Two people under one name: nobody could say who decided.
    if new.name.eq_ignore_ascii_case(&app.user) {
        return Err(taken());
    }
    let token = app.people.add(&new.name, new.role, Timestamp::now())?.ok_or_else(taken)?;
    tracing::info!(user = %new.name, role = new.role.word(), "a user is let in");
    Ok((StatusCode::CREATED, Json(NewUserView { name: new.name, role: new.role, token })))
}

/// Lets somebody in no more: the token and all logins stop working at once.
#[utoipa::path(post, path = "/api/users/{name}/revoke", tag = "people", operation_id = "revoke_user",
    params(("name" = String, Path)), responses((status = 200, body = UserView), Refusals))]
pub(super) async fn revoke(State(app): State<App>, Named(name): Named<String>) -> Result<Json<UserView>, Failure> {
    let gone = app.people.revoke(&name)?.ok_or_else(|| {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        let hint = "see `holdpoint user list` for the users there are";
        Failure::new(Fault::Missing, "no_such_user", format!("there is no user `{shown}`"), hint)
    })?;
    tracing::info!(user = %gone.name, "a user is revoked");
    Ok(Json(gone))
}

fn check_name(name: &str) -> Result<(), Failure> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = name.len() <= LONGEST
        && name.bytes().next().is_some_and(plain)
        && name.bytes().all(|byte| plain(byte) || matches!(byte, b'.' | b'-' | b'_'));
    if fits {
        return Ok(());
    }
    let message = "that is no name for a user";
    let hint = "use up to 32 small letters, digits, `.`, `-` and `_`, beginning with a letter or digit";
    Err(Failure::user("name", "bad_name", message, hint))
}
