//! The gate every request passes, in this order: Host, Origin, no token in the address, who it is and what they may
//! do, JSON, size.
//!
//! A page of a foreign site can make a browser send requests here, and by rebinding a name even make them look
//! local; so the Host is checked before anything else, and nothing is ever allowed by address alone.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::Actor;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use wire::{Fault, Problem};

use crate::App;
use crate::connections::Peer;
use crate::pages;
use crate::people::Mark;
use crate::problem::Failure;
use crate::scope::{Caller, Scope};

/// The longest body.
pub(crate) const MAX_BODY: usize = 1024 * 1024;

/// Prefix of the token among WebSocket subprotocols: browsers cannot set other headers there.
const PROTOCOL_TOKEN: &str = "bearer.";

/// The token, read anew for every request: one that was replaced stops working at once.
#[derive(Debug, Clone)]
pub struct TokenFile {
    path: PathBuf,
}

impl TokenFile {
    /// The token in a file.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The token's mark, by which it is seen that it was replaced.
    pub(crate) fn mark(&self) -> Result<Option<Mark>, TokenUnreadable> {
        let token = self.read()?;
        Ok(Some(token.trim_ascii()).filter(|token| !token.is_empty()).map(Mark::of))
    }

    /// Whether a text is the token. Takes the same time for every wrong one.
    ///
    /// # Errors
    /// When the file cannot be read: then the text is neither right nor wrong.
    pub fn admits(&self, given: &str) -> Result<bool, TokenUnreadable> {
        let token = self.read()?;
        let token = token.trim_ascii();
        let same = Sha256::digest(token).ct_eq(&Sha256::digest(given.as_bytes()));
        Ok(!token.is_empty() && bool::from(same))
    }

    fn read(&self) -> Result<Vec<u8>, TokenUnreadable> {
        // 64 bytes that are in the page cache: not worth another thread.
        std::fs::read(&self.path).map_err(|source| TokenUnreadable { path: self.path.clone(), source })
    }
}

/// A token file that cannot be read: no caller can be authenticated.
#[derive(Debug, thiserror::Error)]
#[error("the token file `{}` cannot be read: {source}", path.display())]
pub struct TokenUnreadable {
    path: PathBuf,
    source: std::io::Error,
}

impl TokenUnreadable {
    /// The error as every interface shows it.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let hint = match self.source.kind() {
            std::io::ErrorKind::NotFound => "start the server again: it makes a new token",
            std::io::ErrorKind::PermissionDenied => {
                "give the file back to the user that runs the server, with mode 0600, or delete it and start the server \
                 again, which makes a new token"
            }
            _ => {
                "ask again; if it stays so, look at the system's log for disk errors, or delete the file and start the \
                 server again, which makes a new token"
            }
        };
        Problem { code: "token_unreadable".to_owned(), message: self.to_string(), hint: hint.to_owned(), field: None }
    }
}

/// How long a body may take where the connection says nothing else.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Name of the cookie a browser is logged in with.
pub(crate) const COOKIE: &str = "holdpoint";

/// What a request came with, for connections that outlive it.
#[derive(Clone)]
pub(crate) enum Given {
    /// A token, said on purpose.
    Token(Arc<str>),
    /// A session, sent along by a browser.
    Session(Arc<str>),
}

/// Lets a request through, or says why not.
pub(crate) async fn gate(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(visit) = app.door.enter() else { return guarded(Failure::stopping().into_response()) };
    let response = match admit(&app, request).await {
        Ok(request) => next.run(request).await,
        Err(failure) => failure.into_response(),
    };
    drop(visit);
    guarded(response)
}

fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(nothing);
    response
}

async fn admit(app: &App, request: Request) -> Result<Request, Failure> {
    let (mut parts, body) = request.into_parts();
    check_host(app, &parts)?;
    check_origin(app, &parts.headers)?;
    check_query(&parts)?;
    if parts.uri.path() == "/healthz" || pages::is_page(&parts.method, parts.uri.path()) {
        return Ok(Request::from_parts(parts, Body::empty()));
    }
    if !is_login(&parts) {
        identify(app, &mut parts)?;
    }
    if matches!(parts.method, Method::GET | Method::HEAD) {
        return Ok(Request::from_parts(parts, Body::empty()));
    }
    check_json(&parts.headers)?;
    let too_large = || {
        let message = format!("the request is larger than {MAX_BODY} bytes");
        Failure::new(Fault::TooLarge, "too_large", message, "put long texts into a file of the repository")
    };
    let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > MAX_BODY) {
        return Err(too_large());
    }
    let time = parts.extensions.get::<Peer>().map_or(BODY_TIME, |peer| peer.body);
    let reading = tokio::time::timeout(time, to_bytes(body, MAX_BODY)).await;
    let bytes = reading.map_err(|_| too_slow())?.map_err(|_| too_large())?;
    Ok(Request::from_parts(parts, Body::from(bytes)))
}

fn too_slow() -> Failure {
    let message = "the body of the request did not come in time";
    Failure::new(Fault::User, "too_slow", message, "send it again, over a connection that holds")
}

/// The one change for which nobody has to be known: it is how a browser becomes known.
fn is_login(parts: &Parts) -> bool {
    parts.method == Method::POST && parts.uri.path() == "/api/login"
}

fn identify(app: &App, parts: &mut Parts) -> Result<(), Failure> {
    let (given, caller) = check_caller(app, &parts.headers)?;
    let matched = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    caller.scope.check_route(&parts.method, parts.uri.path(), matched)?;
    let channel = channel(&given, caller.scope, &parts.headers).to_owned();
    parts.extensions.insert(Actor { name: caller.name.to_string(), channel });
    parts.extensions.insert(caller.scope);
    parts.extensions.insert(caller);
    parts.extensions.insert(given);
    Ok(())
}

fn check_host(app: &App, parts: &Parts) -> Result<(), Failure> {
    let mut hosts = parts.headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    let named = parts.uri.authority().map(axum::http::uri::Authority::as_str);
    let ours =
        host.is_some_and(|host| app.place.is_own_host(host)) && named.is_none_or(|named| app.place.is_own_host(named));
    if ours && hosts.next().is_none() {
        return Ok(());
    }
    let hint = format!("use {}", app.place.public_url());
    Err(Failure::new(Fault::Misdirected, "foreign_host", "this server does not answer for that Host", hint))
}

fn check_origin(app: &App, headers: &HeaderMap) -> Result<(), Failure> {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let own = |origin: &HeaderValue| origin.to_str().is_ok_and(|origin| app.place.is_own_origin(origin));
    if origins.all(own) {
        return Ok(());
    }
    let message = "requests from other sites are not taken";
    Err(Failure::new(Fault::Forbidden, "foreign_origin", message, format!("open {} itself", app.place.public_url())))
}

fn check_query(parts: &Parts) -> Result<(), Failure> {
    const NAMES: &[&str] = &["token", "access_token", "auth", "authorization", "bearer", "api_key", "apikey"];
    let query = parts.uri.query().unwrap_or_default();
    let named = |pair: &str| NAMES.contains(&pair.split('=').next().unwrap_or_default().to_ascii_lowercase().as_str());
    if !query.split('&').any(named) {
        return Ok(());
    }
    let message = "a token must not stand in the address: addresses end up in logs and histories";
    Err(Failure::new(Fault::User, "token_in_query", message, "send it as `Authorization: Bearer …`; replace this one"))
}

fn check_caller(app: &App, headers: &HeaderMap) -> Result<(Given, Caller), Failure> {
    let refuse = |message: &str| {
        let hint = "in a browser, log in with `holdpoint open`; else send `Authorization: Bearer …` with the text of the \
                    file `token` in the data directory";
        Failure::new(Fault::Unauthorized, "unauthorized", message, hint)
    };
    let token = bearer(headers).or_else(|| protocol_token(headers)).map(|token| Given::Token(token.into()));
    let given = match token {
        Some(given) => given,
        None => {
            let secret = cookie(headers).ok_or_else(|| refuse("the token is missing"))?;
            if !is_own_page(headers) {
                return Err(refuse("a login counts only for requests of our own pages"));
            }
            Given::Session(secret.into())
        }
    };
    let message = match given {
        Given::Token(_) => "the token is wrong",
        Given::Session(_) => "the login has ended",
    };
    let caller = app.caller(&given)?.ok_or_else(|| refuse(message))?;
    Ok((given, caller))
}

/// Browsers send cookies along with whatever a page of the same host asks for, whichever port it came from; so the
/// browser must also say that the page is ours. An Origin that is not was refused before.
fn is_own_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin")
}

/// The session among the cookies; none where there are two, because one of them was set by somebody else.
fn cookie(headers: &HeaderMap) -> Option<&str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut ours = pairs.filter(|(name, _)| *name == COOKIE).map(|(_, secret)| secret);
    let secret = ours.next().filter(|secret| !secret.is_empty());
    if ours.next().is_none() { secret } else { None }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn protocol_token(headers: &HeaderMap) -> Option<&str> {
    let offered = headers.get(header::SEC_WEBSOCKET_PROTOCOL)?.to_str().ok()?;
    offered.split(',').find_map(|protocol| protocol.trim().strip_prefix(PROTOCOL_TOKEN))
}

fn check_json(headers: &HeaderMap) -> Result<(), Failure> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let hint = "send `Content-Type: application/json`";
    Err(Failure::new(Fault::MediaType, "not_json", "only JSON is taken", hint))
}

/// Which face a request came through. It is only written down: no right hangs on it.
fn channel(given: &Given, scope: Scope, headers: &HeaderMap) -> &'static str {
    match (given, scope) {
        (_, Scope::Agent) => return "mcp",
        (Given::Session(_), Scope::Owner | Scope::User(_)) => return "web",
        (Given::Token(_), Scope::Owner | Scope::User(_)) => {}
    }
    const FACES: &[&str] = &["cli", "demo", "tui", "web", "vscode", "mcp"];
    let said = headers.get("holdpoint-channel").and_then(|value| value.to_str().ok()).unwrap_or_default();
    FACES.iter().find(|face| **face == said).copied().unwrap_or("http")
}
