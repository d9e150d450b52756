//! A change that comes with an `Idempotency-Key` is made once: the same request gets the same answer, another one under
//! the same key is refused. What was refused changed nothing and may come again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use store::{Keyed, Known};
use wire::Fault;

use crate::App;
use crate::gate::MAX_BODY;
use crate::problem::Failure;
use crate::scope::{Caller, Scope};

const KEY: &str = "idempotency-key";

/// Says that an answer was given before.
const REPLAYED: &str = "idempotency-replayed";

/// Changes that a key makes no difference to: who asks again is served again.
pub(crate) const UNKEYED: &[&str] = &["/api/login", "/api/login-codes", "/api/logout", "/api/runs/estimate"];

/// Answers with a secret in them are given one time and kept nowhere.
const SECRET: &[&str] = &["/api/users"];

/// Below these the engine itself knows a command that comes again, also where a kill took the answer.
const GUARDED: &[&str] = &["/api/runs", "/api/tasks", "/api/sessions", "/api/clarifications"];

/// Requests with a key that are being answered.
#[derive(Clone, Default)]
pub(crate) struct Answering(Arc<Mutex<HashSet<Keyed>>>);

/// A request is being answered for as long as this lives.
struct Turn {
    answering: Answering,
    request: Keyed,
}

impl Answering {
    fn set(&self) -> MutexGuard<'_, HashSet<Keyed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, request: &Keyed) -> Option<Turn> {
        let first = self.set().insert(request.clone());
        first.then(|| Turn { answering: self.clone(), request: request.clone() })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.answering.set().remove(&self.request);
    }
}

/// Lets a request through, unless it is known.
pub(crate) async fn once(State(app): State<App>, request: Request, next: Next) -> Response {
    let keyed = match keyed(&request) {
        Ok(Some(keyed)) => keyed,
        Ok(None) => return next.run(request).await,
        Err(failure) => return failure.into_response(),
    };
    // Whoever asked may hang up; what was begun is finished and its answer kept.
    let answering = tokio::spawn(async move { answered(app, keyed, request, next).await });
    match answering.await {
        Ok(Ok(response)) => response,
        Ok(Err(failure)) => failure.into_response(),
        Err(_) => Failure::bug("answering broke off").into_response(),
    }
}

fn keyed(request: &Request) -> Result<Option<Keyed>, Failure> {
    let route = route(request.uri().path());
    let caller = request.extensions().get::<Caller>();
    let (Some(caller), Some(key), true) = (caller, key(request.headers())?, *request.method() == Method::POST) else {
        return Ok(None);
    };
    let keyed = Keyed { caller: caller_of(caller), route, key: key.to_owned() };
    Ok(Some(keyed).filter(|keyed| !UNKEYED.contains(&keyed.route.as_str())))
}

/// Who asks, so that no two share keys: the agents' token speaks under its owner's name.
fn caller_of(caller: &Caller) -> String {
    match caller.scope {
        Scope::Owner | Scope::User(_) => caller.name.to_string(),
        // A space is in no name.
        Scope::Agent => format!("{} agent", caller.name),
    }
}

/// The second name of a route is the same route.
fn route(path: &str) -> String {
    let path = path.trim_end_matches('/');
    path.strip_prefix("/api/workflows").map_or_else(|| path.to_owned(), |rest| format!("/api/runs{rest}"))
}

/// The key as the engine sees it: the engine knows neither callers nor bodies, and keeps keys for ever.
fn scoped(Keyed { caller, route, key }: &Keyed, said: &str) -> HeaderValue {
    let whole = serde_json::json!([caller, route, said, key]).to_string();
    HeaderValue::from_str(&digest(whole.as_bytes())).expect("hexadecimal digits fit a header")
}

/// The client's key.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<&str>, Failure> {
    let Some(value) = headers.get(KEY) else { return Ok(None) };
    let usable = value.to_str().ok().filter(|key| !key.is_empty() && key.len() <= 200);
    usable.map(Some).ok_or_else(|| {
        let message = "the Idempotency-Key is not usable";
        Failure::user("Idempotency-Key", "bad_key", message, "use 1 to 200 visible ASCII characters")
    })
}

async fn answered(app: App, keyed: Keyed, request: Request, next: Next) -> Result<Response, Failure> {
    let (mut parts, body) = request.into_parts();
    let bytes = to_bytes(body, MAX_BODY).await.map_err(|_| Failure::bug("the body was read before"))?;
    let Some(turn) = app.answering.enter(&keyed) else {
        let message = "a request with this Idempotency-Key is being answered";
        return Err(Failure::new(Fault::Conflict, "key_in_use", message, "ask again in a moment").retry_after(1));
    };
    let (asked, said) = (keyed.clone(), digest(&bytes));
    parts.headers.insert(KEY, scoped(&keyed, &said));
    let known = post(&app, move |post| post.begin(&asked, &said, Timestamp::now())).await?;
    match known {
        Known::Answered(status, Some(body)) => return Ok(replay(status, body)),
        Known::New => {}
        Known::Unanswered if GUARDED.iter().any(|route| keyed.route.starts_with(route)) => {}
        Known::Unanswered => return Err(unknown_end()),
        Known::Answered(_, None) => return Err(not_kept()),
        Known::Other => return Err(reused()),
    }
    let response = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    let response = keep(&app, keyed, response).await;
    drop(turn);
    response
}

async fn keep(app: &App, keyed: Keyed, response: Response) -> Result<Response, Failure> {
    if !response.status().is_success() {
        post(app, move |post| post.forget(&keyed)).await?;
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, usize::MAX).await.map_err(|_| Failure::bug("the answer cannot be read"))?;
    let text = std::str::from_utf8(&bytes).ok().filter(|text| text.len() <= MAX_BODY).map(str::to_owned);
    let (status, text) = (parts.status.as_u16(), text.filter(|_| !SECRET.contains(&keyed.route.as_str())));
    // It was done: an answer that cannot be kept is given all the same.
    if let Err(failure) = post(app, move |post| post.answer(&keyed, status, text.as_deref())).await {
        tracing::warn!(?failure, "the answer to a keyed request could not be kept");
    }
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

fn replay(status: u16, body: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (header::HeaderName::from_static(REPLAYED), HeaderValue::from_static("true")),
    ];
    (status, headers, body).into_response()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn reused() -> Failure {
    let message = "the Idempotency-Key was used before, with another request";
    Failure::new(Fault::Conflict, "key_reused", message, "use a new key for a new request")
}

fn unknown_end() -> Failure {
    let message = "the server ended while it worked on this request; whether it was done is not known";
    let hint = "look whether it was done; if not, ask again with a new key";
    Failure::new(Fault::Conflict, "end_unknown", message, hint)
}

fn not_kept() -> Failure {
    let message = "this was done before under the same key, and its answer is shown one time only";
    Failure::new(Fault::Conflict, "answered_before", message, "look at what it made; use a new key for a new request")
}

async fn post<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&store::Post) -> Result<T, engine::StoreError> + Send + 'static,
) -> Result<T, Failure> {
    let kept = Arc::clone(&app.post);
    let joined = tokio::task::spawn_blocking(move || work(&kept)).await;
    Ok(joined.map_err(|_| Failure::bug("keeping an answer broke off"))??)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_one_under_both_its_names() {
        assert_eq!(route("/api/workflows/abc/approve"), "/api/runs/abc/approve");
        assert_eq!(route("/api/runs/"), "/api/runs");
    }

    #[test]
    fn two_of_one_key_do_not_work_at_once() {
        let answering = Answering::default();
        let request = Keyed { caller: "ada".to_owned(), route: "/api/runs".to_owned(), key: "k".to_owned() };
        let turn = answering.enter(&request).unwrap();
        assert!(answering.enter(&request).is_none());
        drop(turn);
        assert!(answering.enter(&request).is_some());
    }
}
