//! The doors to MCP servers the user has set up for this attempt: `/mcp/NAME` passes messages on to a server over HTTP,
//! `POST /mcp/NAME/variables` hands the variables of a server that runs inside the sandbox over, once.
//!
//! Secret headers are added here and never shown inside. Never follows a redirect, never reaches a server that was not
//! granted, and never passes on more of one answer than [`MOST_ANSWER`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::calls::ReadSource;
use crate::gateway::{Gateway, until_closing};
use crate::grant::Secret;
use crate::http::{chain, is_loopback};

/// Bytes of one message to a server.
const MOST_MESSAGE: usize = 4 * 1024 * 1024;
/// Bytes of one answer.
const MOST_ANSWER: usize = 16 * 1024 * 1024;
/// Bytes of what a server says with an error.
const MOST_ERROR: usize = 64 * 1024;
/// Messages of one attempt to one server; an agent that loops ends here.
const MOST_MESSAGES: u32 = 5_000;
/// How much longer than a call may take an answer is waited for: the agent gives up first, and says so.
const GRACE: Duration = Duration::from_secs(5);
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PASSED_BACK: [HeaderName; 4] = [header::CONTENT_TYPE, header::CACHE_CONTROL, header::RETRY_AFTER, SESSION];

/// An MCP server one attempt may use.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpGrant {
    /// A word: it stands in paths and in the names of tools.
    pub name: String,
    /// How it is reached.
    pub reach: McpReach,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum McpReach {
    /// The agent starts it inside its sandbox, with these variables.
    Process {
        /// By name.
        variables: BTreeMap<String, Secret>,
    },
    /// Over HTTP, through the gateway.
    Http {
        /// Its address.
        url: String,
        /// Headers that go with every message.
        headers: BTreeMap<String, Secret>,
        /// How long one call may take.
        seconds: u64,
    },
}

/// Why an MCP server cannot be reached; the words go to the agent.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    /// The setting.
    #[error("`{0}` is no name for an MCP server: use lower-case letters, digits, `-` and single `_`, at most 24")]
    BadName(String),
    /// The setting.
    #[error("MCP server `{0}` is granted twice")]
    Duplicate(String),
    /// The setting.
    #[error("the address of MCP server `{0}` is not an http(s) address")]
    BadUrl(String),
    /// The setting.
    #[error("MCP server `{0}` has headers, which go only over https or to this machine")]
    Plain(String),
    /// The setting.
    #[error("header `{header}` of MCP server `{name}`, or its value, cannot stand in a request")]
    BadHeader {
        /// The server.
        name: String,
        /// The header.
        header: String,
    },
    /// The setting.
    #[error("the HTTP client for MCP server `{name}` could not be set up: {cause}")]
    Client {
        /// The server.
        name: String,
        /// Why.
        cause: String,
    },
    /// Not for this attempt.
    #[error("there is no MCP server `{0}` for this attempt")]
    NotGranted(String),
    /// The agent's request.
    #[error("only POST and DELETE are passed on to an MCP server")]
    BadMethod,
    /// The agent's request.
    #[error("a message to an MCP server has at most {MOST_MESSAGE} bytes")]
    TooLong,
    /// Enough.
    #[error("{MOST_MESSAGES} messages were sent to MCP server `{0}` by this attempt, which is all it has")]
    TooMany(String),
    /// Already handed over.
    #[error("the variables of MCP server `{0}` were handed over already")]
    HandedOver(String),
    /// The attempt is over.
    #[error("the attempt is over")]
    Closing,
    /// The server.
    #[error("MCP server `{name}` did not answer: {cause}")]
    NoAnswer {
        /// The server.
        name: String,
        /// Why.
        cause: String,
    },
    /// The server.
    #[error("MCP server `{0}` sends elsewhere, and redirects are not followed; set the address it sends to")]
    Redirect(String),
    /// The server.
    #[error("MCP server `{name}` answered {status}: {said}")]
    Status {
        /// The server.
        name: String,
        /// What it answered.
        status: u16,
        /// What it said.
        said: String,
    },
}

impl McpError {
    fn status(&self) -> StatusCode {
        match self {
            Self::BadName(_)
            | Self::Duplicate(_)
            | Self::BadUrl(_)
            | Self::Plain(_)
            | Self::BadHeader { .. }
            | Self::Client { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NotGranted(_) => StatusCode::NOT_FOUND,
            Self::BadMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooMany(_) | Self::HandedOver(_) => StatusCode::CONFLICT,
            Self::Closing => StatusCode::SERVICE_UNAVAILABLE,
            Self::NoAnswer { .. } | Self::Redirect(_) | Self::Status { .. } => StatusCode::BAD_GATEWAY,
        }
    }

    /// As an answer to the message it is about: a client waits for the id it sent.
    fn into_response(self, id: &Value) -> Response {
        let body = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": self.to_string()}});
        (self.status(), axum::Json(body)).into_response()
    }
}

impl McpGrant {
    /// Checks what can be checked without a connection.
    pub fn check(&self) -> Result<(), McpError> {
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
        let name = &self.name;
        let starts = name.starts_with(|letter: char| letter.is_ascii_alphanumeric());
        if !starts || name.len() > 24 || name.contains("__") || name.ends_with('_') || !name.chars().all(plain) {
            return Err(McpError::BadName(name.clone()));
        }
        match &self.reach {
            McpReach::Process { .. } => Ok(()),
            McpReach::Http { url, headers, .. } => place(name, url, headers).map(drop),
        }
    }
}

fn place(name: &str, url: &str, headers: &BTreeMap<String, Secret>) -> Result<(Url, HeaderMap), McpError> {
    let bad = || McpError::BadUrl(name.to_owned());
    let url = Url::parse(url).map_err(|_| bad())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(bad());
    }
    if !headers.is_empty() && url.scheme() == "http" && !is_loopback(&url) {
        return Err(McpError::Plain(name.to_owned()));
    }
    let mut all = HeaderMap::new();
    for (header, secret) in headers {
        let refuse = || McpError::BadHeader { name: name.to_owned(), header: header.clone() };
        let key: HeaderName = header.parse().map_err(|_| refuse())?;
        let text = secret.expose();
        let bare = key == header::AUTHORIZATION && !text.contains(' ');
        let text = if bare { format!("Bearer {text}") } else { text.to_owned() };
        let mut value = HeaderValue::from_str(&text).map_err(|_| refuse())?;
        value.set_sensitive(true);
        all.insert(key, value);
    }
    Ok((url, all))
}

/// The servers of one attempt.
pub(crate) struct McpDoors(BTreeMap<String, Door>);

enum Door {
    Process { variables: BTreeMap<String, Secret>, handed_over: AtomicBool },
    Http(Box<Http>),
}

struct Http {
    url: Url,
    headers: HeaderMap,
    client: Client,
    sent: AtomicU32,
}

impl McpDoors {
    pub(crate) fn new(grants: Vec<McpGrant>) -> Result<Self, McpError> {
        let mut doors = BTreeMap::new();
        for grant in grants {
            grant.check()?;
            let name = grant.name;
            let door = match grant.reach {
                McpReach::Process { variables } => Door::Process { variables, handed_over: AtomicBool::new(false) },
                McpReach::Http { url, headers, seconds } => {
                    Door::Http(Box::new(Http::new(&name, &url, &headers, seconds)?))
                }
            };
            if doors.contains_key(&name) {
                return Err(McpError::Duplicate(name));
            }
            doors.insert(name, door);
        }
        Ok(Self(doors))
    }

    fn get(&self, name: &str) -> Result<&Door, McpError> {
        self.0.get(name).ok_or_else(|| McpError::NotGranted(name.to_owned()))
    }
}

impl Http {
    fn new(name: &str, url: &str, headers: &BTreeMap<String, Secret>, seconds: u64) -> Result<Self, McpError> {
        let (url, headers) = place(name, url, headers)?;
        let mut builder = Client::builder()
            .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
            .timeout(Duration::from_secs(seconds) + GRACE)
            .redirect(reqwest::redirect::Policy::none())
            // A call may change something: it is never made twice by itself.
            .retry(reqwest::retry::never());
        if is_loopback(&url) {
            builder = builder.no_proxy();
        }
        let failed = |error: reqwest::Error| McpError::Client { name: name.to_owned(), cause: error.to_string() };
        Ok(Self { url, headers, client: builder.build().map_err(failed)?, sent: AtomicU32::new(0) })
    }

    async fn pass(&self, name: &str, method: Method, from: &HeaderMap, body: Bytes) -> Result<Response, McpError> {
        if self.sent.fetch_add(1, Ordering::Relaxed) >= MOST_MESSAGES {
            return Err(McpError::TooMany(name.to_owned()));
        }
        let request = self.client.request(method, self.url.clone()).headers(self.sent_along(from)).body(body);
        let no_answer = |error| McpError::NoAnswer { name: name.to_owned(), cause: chain(error) };
        let answer = request.send().await.map_err(no_answer)?;
        let status = answer.status();
        if status.is_redirection() {
            return Err(McpError::Redirect(name.to_owned()));
        }
        // The client begins a new session when this one is gone.
        if !status.is_success() && status != StatusCode::NOT_FOUND && status != StatusCode::METHOD_NOT_ALLOWED {
            return failed(name, answer).await;
        }
        let mut response = Response::new(Body::empty());
        *response.status_mut() = status;
        for header in &PASSED_BACK {
            if let Some(value) = answer.headers().get(header) {
                response.headers_mut().insert(header.clone(), value.clone());
            }
        }
        *response.body_mut() = Body::from_stream(bounded(answer));
        Ok(response)
    }

    fn sent_along(&self, from: &HeaderMap) -> HeaderMap {
        let ours = |name: &HeaderName| {
            [header::CONTENT_TYPE, header::ACCEPT].contains(name) || name.as_str().starts_with("mcp-")
        };
        let mut headers: HeaderMap =
            from.iter().filter(|(name, _)| ours(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
        // What the user has set wins over what is said inside.
        headers.extend(self.headers.clone());
        headers
    }
}

/// What a server says with an error: its own words if they are a message, else ours about it.
async fn failed(name: &str, answer: reqwest::Response) -> Result<Response, McpError> {
    let status = answer.status().as_u16();
    let mut said = Vec::new();
    let mut body = answer.bytes_stream();
    while let (true, Some(Ok(chunk))) = (said.len() < MOST_ERROR, body.next().await) {
        said.extend_from_slice(&chunk[..chunk.len().min(MOST_ERROR - said.len())]);
    }
    let message = serde_json::from_slice::<Value>(&said).ok().filter(|value| value["error"]["message"].is_string());
    match message {
        Some(message) => Ok((StatusCode::BAD_GATEWAY, axum::Json(message)).into_response()),
        None => {
            let text = String::from_utf8_lossy(&said);
            let said = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
            Err(McpError::Status { name: name.to_owned(), status, said })
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error("the answer has more than {MOST_ANSWER} bytes")]
    TooLong,
    #[error("the answer broke off: {0}")]
    Broken(String),
}

fn bounded(answer: reqwest::Response) -> impl futures_util::Stream<Item = Result<Bytes, Cut>> {
    stream::unfold((Some(answer.bytes_stream().boxed()), 0), async |(body, passed): (Option<_>, usize)| {
        let mut body: stream::BoxStream<'static, reqwest::Result<Bytes>> = body?;
        match body.next().await? {
            Ok(chunk) if passed + chunk.len() <= MOST_ANSWER => {
                let passed = passed + chunk.len();
                Some((Ok(chunk), (Some(body), passed)))
            }
            Ok(_) => Some((Err(Cut::TooLong), (None, passed))),
            Err(error) => Some((Err(Cut::Broken(chain(error))), (None, passed))),
        }
    })
}

/// `/mcp/NAME`.
pub(crate) async fn door(State(gateway): State<Arc<Gateway>>, Path(name): Path<String>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MOST_MESSAGE).await else { return McpError::TooLong.into_response(&Value::Null) };
    let id = serde_json::from_slice::<Value>(&body).map_or(Value::Null, |message| message["id"].clone());
    let mut closing = gateway.closing.subscribe();
    let answered = async {
        // A stream that only listens is for servers that ask something of the agent, and nothing is given to them.
        if !matches!(parts.method, Method::POST | Method::DELETE) {
            return Err(McpError::BadMethod);
        }
        let door = gateway.mcp.get(&name)?;
        if matches!(door, Door::Http(_)) && brings_in(&body) {
            let recorded = gateway.books.reads(ReadSource::Mcp(name.clone()));
            recorded.map_err(|cause| McpError::NoAnswer { name: name.clone(), cause })?;
        }
        match door {
            Door::Process { .. } => Err(McpError::NotGranted(name.clone())),
            Door::Http(http) => tokio::select! {
                answer = http.pass(&name, parts.method, &parts.headers, body) => answer,
                () = until_closing(&mut closing) => Err(McpError::Closing),
            },
        }
    };
    answered.await.unwrap_or_else(|error| error.into_response(&id))
}

/// Whether the answer to a message is text of strangers. What a server says of itself when it is met is not counted:
/// whoever set it up chose it for that.
fn brings_in(body: &[u8]) -> bool {
    let message = serde_json::from_slice::<Value>(body).unwrap_or_default();
    match message["method"].as_str() {
        Some("initialize" | "ping" | "tools/list") => false,
        Some(method) => !method.starts_with("notifications/"),
        // Several at once, an answer, or nothing at all; only what ends a session is empty.
        None => !body.is_empty(),
    }
}

/// `POST /mcp/NAME/variables`. Once: the agent asks before it runs anything, and whatever runs later gets nothing.
pub(crate) async fn variables(State(gateway): State<Arc<Gateway>>, Path(name): Path<String>) -> Response {
    let given = || match gateway.mcp.get(&name)? {
        Door::Http(_) => Err(McpError::NotGranted(name.clone())),
        Door::Process { variables, handed_over } => {
            if handed_over.swap(true, Ordering::Relaxed) {
                return Err(McpError::HandedOver(name.clone()));
            }
            Ok(variables.iter().map(|(name, value)| (name, value.expose())).collect::<BTreeMap<_, _>>())
        }
    };
    match given() {
        Ok(variables) => axum::Json(json!({"variables": variables})).into_response(),
        Err(error) => error.into_response(&Value::Null),
    }
}
