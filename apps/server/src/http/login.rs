//! Logging browsers in and out. A code comes from who has a token; a browser trades it for a cookie, once.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::{Extension, Json};
use jiff::Timestamp;
use wire::{Fault, LoginCodeView, LoginRequest, LogoutRequest, LogoutView, MeView, NewLoginCode};

use super::Refusals;
use crate::App;
use crate::body::Sent;
use crate::connections::Peer;
use crate::gate::{COOKIE, Given};
use crate::people::{CODE_LIFE, LogOut, Miss, SESSION_LIFE};
use crate::problem::Failure;
use crate::scope::{Caller, Scope};

/// Gives out a code that lets one browser in, once, within a minute.
#[utoipa::path(post, path = "/api/login-codes", tag = "people", operation_id = "give_login_code",
    request_body = NewLoginCode, responses((status = 200, body = LoginCodeView), Refusals))]
pub(super) async fn code(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Sent(wish): Sent<NewLoginCode>,
) -> Result<Json<LoginCodeView>, Failure> {
    let user = wish.user.unwrap_or_else(|| caller.name.to_string());
    let holder = app.holder(&user, &caller)?.ok_or_else(|| {
        let message = "there is no such user that you could let in";
        Failure::user("user", "no_such_user", message, "see `holdpoint user list` for the users there are")
    })?;
    let code = app.codes.give(holder, Instant::now());
    let url = format!("{}/login#{code}", app.place.public_url());
    Ok(Json(LoginCodeView { code, url, user, expires_in_seconds: CODE_LIFE.as_secs() }))
}

/// Trades a code for a cookie. Needs no token.
#[utoipa::path(post, path = "/api/login", tag = "people", operation_id = "log_in", security(()),
    request_body = LoginRequest, responses((status = 200, body = MeView), Refusals))]
pub(super) async fn log_in(
    State(app): State<App>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Sent(request): Sent<LoginRequest>,
) -> Result<(HeaderMap, Json<MeView>), Failure> {
    let unknown = || {
        let hint = "a code is good once and for a minute: ask for a new one with `holdpoint open`";
        Failure::new(Fault::Unauthorized, "bad_code", "this code does not let in", hint).at("code")
    };
    let from = client_address(&app, peer.map(|Extension(peer)| peer), &headers);
    let holder = app.codes.take(&request.code, from, Instant::now()).map_err(|miss| match miss {
        Miss::Unknown => unknown(),
        Miss::TooMany => {
            let message = "too many wrong codes came in the last minute";
            Failure::new(Fault::TooMany, "too_many_tries", message, "wait a minute, then use a new code")
                .retry_after(60)
        }
    })?;
    // Whoever was let in may have been revoked meanwhile.
    let caller = app.caller_of(&holder)?.ok_or_else(unknown)?;
    let secret = app.people.log_in(holder, Timestamp::now())?;
    Ok((set_cookie(&app, &secret, SESSION_LIFE.as_secs()), Json(me(&caller))))
}

/// The address of whoever asks. Behind a proxy it is the last one that the proxy says, which no client can choose.
fn client_address(app: &App, peer: Option<Peer>, headers: &HeaderMap) -> IpAddr {
    let said = headers.get_all("x-forwarded-for").iter().next_back().and_then(|value| value.to_str().ok());
    let said = said.and_then(|list| list.rsplit(',').next()).and_then(|address| address.trim().parse().ok());
    let proxied = said.filter(|_| app.place.is_encrypted());
    proxied.or_else(|| peer.map(|peer| peer.address)).unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
}

/// Logs this browser out, or all of whoever asks.
#[utoipa::path(post, path = "/api/logout", tag = "people", operation_id = "log_out", request_body = LogoutRequest,
    responses((status = 200, body = LogoutView), Refusals))]
pub(super) async fn log_out(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    Extension(given): Extension<Given>,
    Sent(request): Sent<LogoutRequest>,
) -> Result<(HeaderMap, Json<LogoutView>), Failure> {
    let ended = match (request.everywhere, caller.scope, &given) {
        (true, Scope::Owner, _) => app.people.log_out(&LogOut::AllOfOwner)?,
        (true, Scope::User(_), _) => app.people.log_out(&LogOut::AllOf(&caller.name))?,
        (false, Scope::Owner | Scope::User(_), Given::Session(secret)) => app.people.log_out(&LogOut::One(secret))?,
        // No browser asks.
        (_, Scope::Agent, _) | (false, Scope::Owner | Scope::User(_), Given::Token(_)) => 0,
    };
    Ok((set_cookie(&app, "", 0), Json(LogoutView { ended })))
}

/// Says who asks.
#[utoipa::path(get, path = "/api/me", tag = "people", operation_id = "who_am_i",
    responses((status = 200, body = MeView), Refusals))]
pub(super) async fn who(Extension(caller): Extension<Caller>) -> Json<MeView> {
    Json(me(&caller))
}

fn me(caller: &Caller) -> MeView {
    MeView { name: caller.name.to_string(), role: caller.scope.word().to_owned() }
}

/// Sent back by the browser to this host only, never from another site's page, and readable by no script.
fn set_cookie(app: &App, secret: &str, seconds: i64) -> HeaderMap {
    let secure = if app.place.is_encrypted() { "; Secure" } else { "" };
    let text = format!("{COOKIE}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}");
    let value = HeaderValue::from_str(&text).expect("hex digits and our own words are a header");
    HeaderMap::from_iter([(header::SET_COOKIE, value)])
}
