//! The HTTP side towards the agent: paths, and the walk of one call from request to answer.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::books::{CallHead, Counted, OpenCall};
use crate::calls::Outcome;
use crate::gateway::{Gateway, Place, until_closing};
use crate::http::{Answer, NoAnswer};
use crate::prices;
use crate::protocol::Protocol;
use crate::refusal::{Billing, Refusal};
use crate::relay::Relay;
use crate::request::Ask;
use crate::retry;
use crate::route::{self, Route};
use crate::tap::{Shape, Tap};

const BODY_LIMIT_MIB: usize = 32;
const ERROR_BODY_LIMIT: usize = 1024 * 1024;
const RETRIES: HeaderName = HeaderName::from_static("x-holdpoint-retries");
const CALL: HeaderName = HeaderName::from_static("x-holdpoint-call");
/// What an agent may see of an upstream's headers.
const PASSED_BACK: [HeaderName; 6] = [
    header::CONTENT_TYPE,
    header::CACHE_CONTROL,
    header::RETRY_AFTER,
    HeaderName::from_static("retry-after-ms"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("x-request-id"),
];

pub(crate) fn router(gateway: Arc<Gateway>) -> Router {
    let door = |protocol: Protocol| {
        post(move |State(gateway): State<Arc<Gateway>>, request: Request| async move {
            let answered = gateway.call(protocol, request).await;
            answered.unwrap_or_else(|refusal| refusal.into_response(protocol))
        })
        .fallback(nowhere)
    };
    Router::new()
        .route("/anthropic/v1/messages", door(Protocol::Messages))
        .route("/v1/messages", door(Protocol::Messages))
        .route("/openai/v1/chat/completions", door(Protocol::Chat))
        .route("/v1/chat/completions", door(Protocol::Chat))
        .route("/openai/v1/responses", door(Protocol::Responses))
        .route("/v1/responses", door(Protocol::Responses))
        .route("/openai/v1/models", get(models).fallback(nowhere))
        .route("/v1/models", get(models).fallback(nowhere))
        .route("/search", post(crate::search::door).fallback(nowhere))
        .fallback(nowhere)
        .with_state(gateway)
}

async fn nowhere(request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let protocol = Protocol::nearest(&path);
    let method = request.method().to_string();
    Refusal::NoRoute { method, path }.into_response(protocol)
}

async fn models(State(gateway): State<Arc<Gateway>>) -> Response {
    let mut data = Vec::new();
    for upstream in &gateway.upstreams {
        let provider = &upstream.provider;
        let priced = upstream.prices.iter().map(|price| price.model.as_str());
        let names: Vec<&str> = match &upstream.script {
            Some(script) => vec![script.name()],
            None => priced.filter(|name| !name.ends_with('*')).collect(),
        };
        data.extend(names.into_iter().map(
            |name| json!({"id": format!("{provider}/{name}"), "object": "model", "created": 0, "owned_by": provider}),
        ));
    }
    axum::Json(json!({"object": "list", "data": data})).into_response()
}

/// One try that led to some answer of the upstream.
enum Trial {
    Answered(Answer),
    Rejected(Rejected),
}

/// The upstream said no.
struct Rejected {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

/// One try that led to no answer.
enum Failed {
    TimedOut,
    NoAnswer(String),
    Refused(Refusal),
}

impl Gateway {
    async fn call(&self, protocol: Protocol, request: Request) -> Result<Response, Refusal> {
        let mut closing = self.closing.subscribe();
        let (parts, body) = request.into_parts();
        let body = tokio::select! {
            body = read(body) => body?,
            () = until_closing(&mut closing) => return Err(Refusal::Closing),
        };
        let ask = Ask::read(protocol, body)?;
        let (route, mut call) = self.open(&ask)?;
        let trial = tokio::select! {
            trial = self.ask(&route, &ask, &parts.headers, &mut call) => trial,
            () = until_closing(&mut closing) => Err(Refusal::Closing),
        };
        match trial {
            Ok(Trial::Answered(answer)) => Ok(self.answered(protocol, answer, call)),
            Ok(Trial::Rejected(rejected)) => Ok(self.rejected(protocol, &route, rejected, call)),
            Err(refusal) => {
                let counted = match refusal.billing() {
                    Billing::Possible => call.count_bytes(0),
                    Billing::None => Counted::NOTHING,
                };
                call.settle(refusal.status().as_u16(), refusal.outcome(), counted);
                let retries = call.tries().saturating_sub(1);
                let mut response = refusal.into_response(protocol);
                mark(response.headers_mut(), retries, call.number());
                Ok(response)
            }
        }
    }

    fn open(&self, ask: &Ask) -> Result<(Route, OpenCall), Refusal> {
        let mut head = CallHead {
            model: ask.model.clone(),
            protocol: ask.protocol,
            price: None,
            input_estimate: ask.input_estimate(),
            output_estimate: ask.output_estimate(),
        };
        let route = match route::find(&self.upstreams, ask.protocol, &ask.model) {
            Ok(route) => route,
            Err(refusal) => {
                self.books.refuse(head, &refusal);
                return Err(refusal);
            }
        };
        let upstream = &self.upstreams[route.upstream];
        head.model = format!("{}/{}", upstream.provider, route.model);
        head.price = prices::find(&upstream.prices, &route.model).cloned();
        let call = self.books.open(head)?;
        Ok((route, call))
    }

    /// Asks until there is an answer that counts, or patience is used up.
    async fn ask(&self, route: &Route, ask: &Ask, headers: &HeaderMap, call: &mut OpenCall) -> Result<Trial, Refusal> {
        let first_byte = Duration::from_millis(self.policy.first_byte_ms);
        loop {
            let tries = call.begin_try();
            let trial = tokio::time::timeout(first_byte, self.try_once(route, ask, headers)).await;
            let trial = trial.unwrap_or(Err(Failed::TimedOut));
            let asked_wait = match &trial {
                Ok(Trial::Rejected(rejected)) if retry::passes_over(rejected.status) => {
                    retry::retry_after(&rejected.headers, Timestamp::now())
                }
                Ok(_) | Err(Failed::Refused(_)) => return self.last_word(route, tries, trial),
                Err(Failed::TimedOut | Failed::NoAnswer(_)) => None,
            };
            let seed = (&self.attempt, call.number());
            match self.policy.wait(tries, asked_wait, seed) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return self.last_word(route, tries, trial),
            }
        }
    }

    fn last_word(&self, route: &Route, tries: u32, trial: Result<Trial, Failed>) -> Result<Trial, Refusal> {
        let provider = self.upstreams[route.upstream].provider.clone();
        trial.map_err(|failed| match failed {
            Failed::Refused(refusal) => refusal,
            Failed::NoAnswer(cause) => Refusal::Unreachable { provider, tries, cause },
            Failed::TimedOut => Refusal::TimedOut { provider, tries, millis: self.policy.first_byte_ms },
        })
    }

    async fn try_once(&self, route: &Route, ask: &Ask, headers: &HeaderMap) -> Result<Trial, Failed> {
        let answer = match &self.places[route.upstream] {
            Place::Http(upstream) => upstream
                .send(ask.protocol, headers, ask.forward(&route.model))
                .await
                .map_err(|NoAnswer(cause)| Failed::NoAnswer(cause))?,
            Place::Scripted(upstream) => upstream.answer(ask).map_err(Failed::Refused)?,
        };
        if !(200..300).contains(&answer.status) {
            return Ok(Trial::Rejected(reject(answer).await));
        }
        // Until the first byte is here, another try does no harm.
        let Answer { status, headers, mut body, script } = answer;
        let first = match body.next().await {
            Some(Ok(first)) => first,
            Some(Err(error)) => return Err(Failed::NoAnswer(error.to_string())),
            None => return Err(Failed::NoAnswer("the answer was empty".to_owned())),
        };
        Ok(Trial::Answered(Answer {
            status,
            headers,
            body: stream::once(async { Ok(first) }).chain(body).boxed(),
            script,
        }))
    }

    fn answered(&self, protocol: Protocol, answer: Answer, call: OpenCall) -> Response {
        let content_type = answer.headers.get(header::CONTENT_TYPE);
        let events = content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
        let shape = if events { Shape::Events } else { Shape::Json };
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        pass_back(&answer.headers, response.headers_mut());
        mark(response.headers_mut(), call.tries().saturating_sub(1), call.number());
        *response.body_mut() = Relay {
            call,
            tap: Tap::new(protocol, shape),
            body: answer.body,
            status: answer.status,
            script: answer.script,
            idle: Duration::from_millis(self.policy.idle_ms),
            closing: self.closing.subscribe(),
        }
        .into_body();
        response
    }

    fn rejected(&self, protocol: Protocol, route: &Route, rejected: Rejected, mut call: OpenCall) -> Response {
        let upstream = &self.upstreams[route.upstream];
        let status = StatusCode::from_u16(rejected.status).ok();
        // A redirect is not for the agent to follow, and not for us: it would carry the key.
        let status = status.filter(|status| status.is_client_error() || status.is_server_error());
        let status = status.unwrap_or(StatusCode::BAD_GATEWAY);
        call.settle(status.as_u16(), Outcome::Error, Counted::NOTHING);
        let body = error_body(protocol, &upstream.provider, &rejected);
        let key = upstream.key.expose();
        let body = if key.is_empty() { body } else { body.replace(key, "[key]") };
        let mut response = (status, body).into_response();
        pass_back(&rejected.headers, response.headers_mut());
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        mark(response.headers_mut(), call.tries().saturating_sub(1), call.number());
        response
    }
}

async fn read(body: Body) -> Result<Bytes, Refusal> {
    let read = to_bytes(body, BODY_LIMIT_MIB * 1024 * 1024).await;
    read.map_err(|error| {
        let source = std::error::Error::source(&error);
        // axum names the limit only in the text of the cause.
        if source.is_some_and(|cause| cause.to_string().contains("length limit")) {
            let limit_mib = BODY_LIMIT_MIB;
            return Refusal::BodyTooLarge { limit_mib };
        }
        Refusal::BodyUnreadable(error.to_string())
    })
}

async fn reject(answer: Answer) -> Rejected {
    let mut body = Vec::new();
    let mut chunks = answer.body;
    // A body that breaks off or is too long still says something with what has come.
    while let Some(Ok(chunk)) = chunks.next().await {
        let room = ERROR_BODY_LIMIT - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if body.len() == ERROR_BODY_LIMIT {
            break;
        }
    }
    Rejected { status: answer.status, headers: answer.headers, body: body.into() }
}

/// The upstream's own words when they are an error of the protocol, else wrapped into one.
fn error_body(protocol: Protocol, provider: &str, rejected: &Rejected) -> String {
    let said = serde_json::from_slice::<Value>(&rejected.body).ok();
    if let Some(said) = said.filter(|said| protocol.is_error(said)) {
        return said.to_string();
    }
    let text = String::from_utf8_lossy(&rejected.body);
    let text: String = text.trim().chars().take(500).collect();
    let status = rejected.status;
    let message = if (300..400).contains(&status) {
        format!(
            "`{provider}` answered with a redirect ({status}), which is not followed because it \
             would carry the key elsewhere; set the base URL to where it leads"
        )
    } else if text.is_empty() {
        format!("`{provider}` answered {status} without a reason")
    } else {
        format!("`{provider}` answered {status}: {text}")
    };
    protocol.error("holdpoint_upstream", &message).to_string()
}

fn pass_back(from: &HeaderMap, to: &mut HeaderMap) {
    for name in &PASSED_BACK {
        if let Some(value) = from.get(name) {
            to.insert(name.clone(), value.clone());
        }
    }
}

fn mark(headers: &mut HeaderMap, retries: u32, call: u32) {
    headers.insert(RETRIES, retries.into());
    headers.insert(CALL, call.into());
}
