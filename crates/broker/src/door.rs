//! The HTTP side towards the agent: paths, and the walk of one call from request to answer.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::asking::{Rejected, Trial};
use crate::books::{CallHead, Counted, OpenCall};
use crate::calls::{Outcome, ReadSource};
use crate::direct;
use crate::embeddings;
use crate::gateway::{Gateway, until_closing};
use crate::http::Answer;
use crate::prices::{self, CacheEntries};
use crate::protocol::Protocol;
use crate::refusal::{Billing, Refusal};
use crate::relay::Relay;
use crate::request::{Ask, UsageChunk, Verb};
use crate::route::{self, Route};
use crate::strip::Strip;
use crate::tap::{Shape, Tap};

const RETRIES: HeaderName = HeaderName::from_static("x-holdpoint-retries");
const CALL: HeaderName = HeaderName::from_static("x-holdpoint-call");
/// Fields and tools of the request that were not passed on.
const REMOVED: HeaderName = HeaderName::from_static("x-holdpoint-removed");
/// What an agent may see of an upstream's headers.
const PASSED_BACK: [HeaderName; 7] = [
    header::CONTENT_TYPE,
    // None is asked for; one that comes all the same must be told.
    header::CONTENT_ENCODING,
    header::CACHE_CONTROL,
    header::RETRY_AFTER,
    HeaderName::from_static("retry-after-ms"),
    HeaderName::from_static("request-id"),
    HeaderName::from_static("x-request-id"),
];

/// How a path tells what is asked.
#[derive(Clone, Copy)]
enum Entrance {
    Body(Protocol, Verb),
    /// The path ends in `{model}:{action}` after this prefix.
    Gemini(&'static str),
    Embeddings,
}

impl Entrance {
    fn protocol(self) -> Protocol {
        match self {
            Self::Body(protocol, _) => protocol,
            Self::Gemini(_) => Protocol::Gemini,
            Self::Embeddings => Protocol::Embeddings,
        }
    }

    fn read(self, uri: &Uri, body: Bytes) -> Result<Ask, Refusal> {
        match self {
            Self::Body(protocol, verb) => Ask::read(protocol, verb, body),
            Self::Embeddings => embeddings::read(&body),
            Self::Gemini(prefix) => {
                let target = uri.path().strip_prefix(prefix).unwrap_or_default().trim_start_matches('/');
                // The model's own slash and colon may be written as escapes.
                let target = target.replace("%2F", "/").replace("%2f", "/").replace("%3A", ":").replace("%3a", ":");
                let sse = uri.query().is_some_and(|query| query.split('&').any(|pair| pair == "alt=sse"));
                Ask::read_gemini(&target, sse, body)
            }
        }
    }
}

const BODIES: [(&str, Protocol, Verb); 8] = [
    ("/anthropic/v1/messages", Protocol::Messages, Verb::Answer),
    ("/v1/messages", Protocol::Messages, Verb::Answer),
    ("/anthropic/v1/messages/count_tokens", Protocol::Messages, Verb::Count),
    ("/v1/messages/count_tokens", Protocol::Messages, Verb::Count),
    ("/openai/v1/chat/completions", Protocol::Chat, Verb::Answer),
    ("/v1/chat/completions", Protocol::Chat, Verb::Answer),
    ("/openai/v1/responses", Protocol::Responses, Verb::Answer),
    ("/v1/responses", Protocol::Responses, Verb::Answer),
];
const GEMINI: [&str; 3] = ["/gemini/v1beta/models", "/gemini/v1/models", "/v1beta/models"];

pub(crate) fn router(gateway: Arc<Gateway>) -> Router {
    let door = |entrance: Entrance| {
        post(move |State(gateway): State<Arc<Gateway>>, request: Request| async move {
            let answered = gateway.call(&entrance, request).await;
            answered.unwrap_or_else(|refusal| refusal.into_response(entrance.protocol()))
        })
        .fallback(nowhere)
    };
    let mut router = Router::new()
        .route("/openai/v1/models", get(models).fallback(nowhere))
        .route("/v1/models", get(models).fallback(nowhere))
        .route(Protocol::Embeddings.door(), door(Entrance::Embeddings))
        .route("/reported", post(direct::reported).fallback(nowhere))
        .route("/handed-in", post(crate::hand_in::door).fallback(nowhere))
        .route("/search", post(crate::search::door).fallback(nowhere))
        .route("/mcp/{name}", any(crate::mcp::door))
        .route("/mcp/{name}/variables", post(crate::mcp::variables).fallback(nowhere));
    for (path, protocol, verb) in BODIES {
        router = router.route(path, door(Entrance::Body(protocol, verb)));
    }
    for prefix in GEMINI {
        router = router.route(&format!("{prefix}/{{*target}}"), door(Entrance::Gemini(prefix)));
    }
    let proxied = middleware::from_fn_with_state(Arc::clone(&gateway), direct::only_tunnels);
    router.fallback(elsewhere).layer(proxied).with_state(gateway)
}

/// What is for nobody here: a way out, or nothing.
async fn elsewhere(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    if request.method() == Method::CONNECT {
        return direct::connect(&gateway, request).await;
    }
    nowhere(request).await
}

async fn nowhere(request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let protocol = Protocol::nearest(&path);
    let method = request.method().to_string();
    Refusal::NoRoute { method, path }.into_response(protocol)
}

async fn models(State(gateway): State<Arc<Gateway>>) -> Response {
    let mut data = Vec::new();
    for upstream in gateway.talkers() {
        let provider = &upstream.provider;
        let names: Vec<&str> = match &upstream.script {
            Some(script) => vec![script.name()],
            None => upstream.models.iter().map(String::as_str).collect(),
        };
        data.extend(names.into_iter().map(
            |name| json!({"id": format!("{provider}/{name}"), "object": "model", "created": 0, "owned_by": provider}),
        ));
    }
    axum::Json(json!({"object": "list", "data": data})).into_response()
}

impl Gateway {
    async fn call(&self, entrance: &Entrance, request: Request) -> Result<Response, Refusal> {
        let mut closing = self.closing.subscribe();
        let (parts, body) = request.into_parts();
        // The share is held as long as the request.
        let (body, _share) = tokio::select! {
            read = self.memory.read(&parts.headers, body) => read?,
            () = until_closing(&mut closing) => return Err(Refusal::Closing),
        };
        let mut ask = entrance.read(&parts.uri, body)?;
        if ask.verb == Verb::Count {
            return self.count(&mut ask, &parts.headers).await;
        }
        let protocol = ask.protocol;
        let (route, mut call) = match self.open(&mut ask) {
            Ok(opened) => opened,
            Err(refusal) => {
                self.books.on_disk().await;
                return Err(refusal);
            }
        };
        let trial = tokio::select! {
            trial = self.ask(&route, &ask, &parts.headers, &mut call) => trial,
            () = until_closing(&mut closing) => Err(Refusal::Closing),
        };
        match trial {
            Ok(Trial::Answered(answer, shape)) => {
                let mut response = self.answered(&ask, answer, shape, call);
                response.headers_mut().extend(removed(&ask).map(|names| (REMOVED, names)));
                Ok(response)
            }
            Ok(Trial::Rejected(rejected)) => {
                let mut response = self.rejected(protocol, &route, &rejected);
                let counted =
                    if rejected.billing() == Billing::Possible { call.count_unknown() } else { Counted::NOTHING };
                call.settle(response.status().as_u16(), Outcome::Error, counted);
                call.on_disk().await;
                mark(response.headers_mut(), call.tries().saturating_sub(1), call.number());
                Ok(response)
            }
            Err(refusal) => {
                call.resets_at = refusal.resets_at();
                let counted = match refusal.billing() {
                    Billing::Possible if call.tries() > 0 => call.count_unknown(),
                    Billing::Possible | Billing::None => Counted::NOTHING,
                };
                call.settle(refusal.status().as_u16(), refusal.outcome(), counted);
                call.on_disk().await;
                let retries = call.tries().saturating_sub(1);
                let mut response = refusal.into_response(protocol);
                mark(response.headers_mut(), retries, call.number());
                Ok(response)
            }
        }
    }

    /// Counting tokens costs nothing, so it leaves no record.
    async fn count(&self, ask: &mut Ask, headers: &HeaderMap) -> Result<Response, Refusal> {
        let route = self.route(ask)?;
        ask.filter(&self.upstreams[route.upstream].hosted.tools)?;
        match self.ask_once(&route, ask, headers).await? {
            Trial::Rejected(rejected) => Ok(self.rejected(ask.protocol, &route, &rejected)),
            Trial::Answered(answer, _) => {
                let mut response = Response::new(Body::from_stream(answer.body));
                pass_back(&answer.headers, response.headers_mut());
                Ok(response)
            }
        }
    }

    fn route(&self, ask: &Ask) -> Result<Route, Refusal> {
        match ask.protocol {
            Protocol::Embeddings => self.embeddings.clone().ok_or(Refusal::NoEmbeddings),
            Protocol::Messages | Protocol::Chat | Protocol::Responses | Protocol::Gemini => {
                route::find(self.talkers(), ask.protocol, &ask.model)
            }
        }
    }

    fn open(&self, ask: &mut Ask) -> Result<(Route, OpenCall), Refusal> {
        let mut head = CallHead {
            model: ask.model.clone(),
            protocol: ask.protocol,
            price: None,
            input_estimate: ask.input_estimate(),
            output_estimate: ask.output_estimate(),
            cache_entries: if ask.caches_for_long() { CacheEntries::Long } else { CacheEntries::Short },
        };
        let route = match self.route(ask).and_then(|route| self.filter(&route, ask).map(|()| route)) {
            Ok(route) => route,
            Err(refusal) => {
                self.books.refuse(head, &refusal);
                return Err(refusal);
            }
        };
        let upstream = &self.upstreams[route.upstream];
        if let Some(refusal) = self.known_wall(&route) {
            head.model = format!("{}/{}", upstream.provider, route.model);
            self.books.refuse(head, &refusal);
            return Err(refusal);
        }
        head.model = format!("{}/{}", upstream.provider, route.model);
        head.price = prices::find(&upstream.prices, &route.model).cloned();
        let call = self.books.open(head)?;
        Ok((route, call))
    }

    /// Takes away what the provider does not get to see; what it may read from elsewhere is recorded first.
    fn filter(&self, route: &Route, ask: &mut Ask) -> Result<(), Refusal> {
        for tool in ask.filter(&self.upstreams[route.upstream].hosted.tools)? {
            self.books.reads(ReadSource::Hosted(tool)).map_err(Refusal::LogFailed)?;
        }
        Ok(())
    }

    fn answered(&self, ask: &Ask, answer: Answer, shape: Shape, call: OpenCall) -> Response {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        pass_back(&answer.headers, response.headers_mut());
        mark(response.headers_mut(), call.tries().saturating_sub(1), call.number());
        let strips = shape == Shape::Events && ask.usage_chunk() == UsageChunk::OnlyForUs;
        *response.body_mut() = Relay {
            call,
            tap: Tap::new(ask.protocol, shape),
            strip: strips.then(Strip::default),
            body: answer.body,
            status: answer.status,
            script: answer.script,
            pass: answer.pass,
            idle: Duration::from_millis(self.policy.idle_ms),
            closing: self.closing.subscribe(),
        }
        .into_body();
        response
    }

    fn rejected(&self, protocol: Protocol, route: &Route, rejected: &Rejected) -> Response {
        let upstream = &self.upstreams[route.upstream];
        let status = StatusCode::from_u16(rejected.status).ok();
        // A redirect is not for the agent to follow, and not for us: it would carry the key.
        let status = status.filter(|status| status.is_client_error() || status.is_server_error());
        let status = status.unwrap_or(StatusCode::BAD_GATEWAY);
        let body = self.without_key(route, &error_body(protocol, &upstream.provider, rejected));
        let mut response = (status, body).into_response();
        pass_back(&rejected.headers, response.headers_mut());
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response.headers_mut().remove(header::CONTENT_ENCODING);
        response
    }
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
    protocol.error(status, "holdpoint_upstream", &message).to_string()
}

fn pass_back(from: &HeaderMap, to: &mut HeaderMap) {
    for name in &PASSED_BACK {
        if let Some(value) = from.get(name) {
            to.insert(name.clone(), value.clone());
        }
    }
}

fn removed(ask: &Ask) -> Option<HeaderValue> {
    (!ask.removed.is_empty()).then(|| HeaderValue::from_str(&ask.removed.join(", ")).ok())?
}

fn mark(headers: &mut HeaderMap, retries: u32, call: u32) {
    headers.insert(RETRIES, retries.into());
    headers.insert(CALL, call.into());
}
