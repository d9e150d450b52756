//! A live connection to one MCP server. Every question to it has a limit of time and size; when one is passed, the
//! connection is over, and whoever holds it makes a new one. Never repeats a question.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use drivers::{McpServer, McpWay};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest, Implementation,
    ListToolsRequest, PaginatedRequestParams,
};
use rmcp::service::{NotificationContext, PeerRequestOptions, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, RoleClient, serve_client};
use serde_json::{Map, Value, json};

use super::meter::{Meter, Metered};
use super::process::{Closed, Process};
use crate::model::SOCKET;
use crate::shorten;

/// Pages of a list of tools; a list without an end is cut here.
const MOST_PAGES: usize = 20;
/// Tools that are taken from a list.
const MOST_LISTED: usize = 10_000;
/// How much longer than its limit a call is waited for: the library first tells the server.
const GRACE: Duration = Duration::from_secs(2);
/// How long the broker has for what it knows by heart.
const PATIENCE: Duration = Duration::from_secs(10);
const LONGEST_REASON: usize = 1_500;

/// Why a question has no good answer; the words go to the model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AskError {
    /// The server refused; it can be asked again.
    #[error("{0}")]
    Refused(String),
    /// The connection is over.
    #[error("{0}")]
    Broken(String),
}

/// Where servers are started, and where the broker is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) workspace: &'a Path,
    pub(super) door: &'a Path,
}

#[derive(Debug)]
pub(super) struct Connection {
    service: RunningService<RoleClient, Client>,
    process: Option<Process>,
    meter: Arc<Meter>,
    changed: Arc<AtomicBool>,
}

/// What a server may ask of us: nothing. Sampling is refused, questions are declined, and there are no roots.
#[derive(Debug)]
struct Client {
    changed: Arc<AtomicBool>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("holdpoint", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    /// Starts the server and shakes hands, within a limit.
    pub(super) async fn open(
        server: &McpServer,
        place: Place<'_>,
        variables: &BTreeMap<String, String>,
        limit: Duration,
    ) -> Result<Self, String> {
        let changed = Arc::new(AtomicBool::new(false));
        let client = Client { changed: Arc::clone(&changed) };
        let meter = Arc::new(Meter::default());
        let (process, service) = match &server.way {
            McpWay::Process { command, .. } => {
                let started = Process::start(command, place.workspace, variables);
                let (process, output, input) = started.map_err(|error| {
                    format!("`{}` cannot be run: {error}", command.first().map_or("", String::as_str))
                })?;
                let streams = (Metered::new(output, Arc::clone(&meter)), input);
                (Some(process), tokio::time::timeout(limit, Box::pin(serve_client(client, streams))).await)
            }
            McpWay::Http => {
                let transport = http(&server.name, place.door)?;
                (None, tokio::time::timeout(limit, Box::pin(serve_client(client, transport))).await)
            }
        };
        match service {
            Ok(Ok(service)) => Ok(Self { service, process, meter, changed }),
            Ok(Err(error)) => Err(why(process, &meter, &error.to_string(), Closed::ByIt).await),
            Err(_) => {
                let late = format!("it did not answer within {} seconds", limit.as_secs());
                Err(why(process, &meter, &late, Closed::ByUs).await)
            }
        }
    }

    /// Everything the server lists, as it says it.
    pub(super) async fn list(&self, limit: Duration) -> Result<Vec<Value>, AskError> {
        self.changed.store(false, Ordering::Relaxed);
        let all = async {
            let mut listed: Vec<Value> = Vec::new();
            let mut cursor: Option<String> = None;
            for _ in 0..MOST_PAGES {
                let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
                let request = ListToolsRequest::with_param(params);
                let page = self.ask(ClientRequest::ListToolsRequest(request), limit).await?;
                listed.extend(page["tools"].as_array().into_iter().flatten().cloned());
                let next = page["nextCursor"].as_str().map(str::to_owned);
                if next.is_none() || next == cursor || listed.len() > MOST_LISTED {
                    break;
                }
                cursor = next;
            }
            Ok(listed)
        };
        match tokio::time::timeout(limit, all).await {
            Ok(listed) => listed,
            Err(_) => Err(late(limit)),
        }
    }

    pub(super) async fn call(
        &self,
        tool: &str,
        input: &Map<String, Value>,
        limit: Duration,
    ) -> Result<Value, AskError> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(input.clone());
        self.ask(ClientRequest::CallToolRequest(CallToolRequest::new(params)), limit).await
    }

    /// Whether the server said since the last listing that its tools are others now.
    pub(super) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// Whether the server has gone since the last question.
    pub(super) fn is_over(&self) -> bool {
        self.service.peer().is_transport_closed()
    }

    /// Ends it; tells why it was over, if it was.
    pub(super) async fn end(self, reason: &str) -> String {
        let closed = if self.is_over() { Closed::ByIt } else { Closed::ByUs };
        let Self { service, process, meter, .. } = self;
        drop(service);
        why(process, &meter, reason, closed).await
    }

    /// The answer as plain JSON, whatever the library took it for.
    async fn ask(&self, request: ClientRequest, limit: Duration) -> Result<Value, AskError> {
        self.meter.reset();
        let asked = async {
            let options = PeerRequestOptions::with_timeout(limit);
            self.service.peer().send_cancellable_request(request, options).await?.await_response().await
        };
        match tokio::time::timeout(limit + GRACE, asked).await {
            Err(_) | Ok(Err(ServiceError::Timeout { .. })) => Err(late(limit)),
            Ok(Ok(answer)) => serde_json::to_value(answer).map_err(|error| AskError::Refused(error.to_string())),
            Ok(Err(ServiceError::McpError(error))) => {
                Err(AskError::Refused(shorten::head(error.message.trim(), LONGEST_REASON)))
            }
            Ok(Err(error)) => Err(AskError::Broken(shorten::one_line(&error.to_string(), LONGEST_REASON))),
        }
    }
}

fn late(limit: Duration) -> AskError {
    AskError::Broken(format!("no answer within {} seconds", limit.as_secs()))
}

fn http(name: &str, door: &Path) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    // No proxy and no certificates: the broker's socket is the only way out.
    let client = reqwest::Client::builder()
        .unix_socket(door.join(SOCKET))
        .no_proxy()
        .tls_certs_only([])
        .build()
        .map_err(|error| error.to_string())?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(format!("http://broker/mcp/{name}"));
    // A call that a server no longer knows a session for is told, not made again.
    config.reinit_on_expired_session = false;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// The best that is known about why a connection is over.
async fn why(process: Option<Process>, meter: &Meter, otherwise: &str, closed: Closed) -> String {
    let ended = match process {
        Some(process) => process.end(closed).await,
        None => String::new(),
    };
    let reason = match (meter.over(), ended.starts_with("it ended")) {
        (Some(over), _) => over.to_owned(),
        (None, true) => ended,
        (None, false) if ended.is_empty() => otherwise.to_owned(),
        (None, false) => format!("{otherwise}; {ended}"),
    };
    shorten::one_line(&reason, LONGEST_REASON)
}

/// Asks the broker for a server's variables. It gives them once, so they are kept by who asks.
pub(super) async fn variables(name: &str, door: &Path) -> Result<BTreeMap<String, String>, String> {
    let failed = |error: reqwest::Error| format!("its variables could not be asked for: {error}");
    let client = reqwest::Client::builder()
        .unix_socket(door.join(SOCKET))
        .no_proxy()
        .tls_certs_only([])
        .timeout(PATIENCE)
        .build()
        .map_err(failed)?;
    let asked = client.post(format!("http://broker/mcp/{name}/variables")).json(&json!({})).send();
    let mut answer: Value = asked.await.map_err(failed)?.json().await.map_err(failed)?;
    let given = serde_json::from_value(answer["variables"].take());
    given.map_err(|_| format!("its variables were not given: {}", answer["error"]["message"].as_str().unwrap_or("?")))
}
