//! One tiny call to a model, outside any run, on the way an agent's calls take: a grant, a gateway on a socket, a
//! record before and after. Never retries and never waits longer than [`WHOLE`]; says what happened and judges nothing.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use broker::calls::{self, CallRecord, Settled};
use broker::{Gateway, GrantError, Protocol, RetryPolicy, UpstreamKind};
use domain::{Micros, ModelName};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::UnixListener;
use tokio::sync::oneshot;

use crate::models::{GrantLimits, ModelError, Models, Who};
use crate::purses::SharedLimits;
use crate::shim::sockets;

/// Output tokens that are asked for; the least that every provider takes.
const MAX_TOKENS: u64 = 16;
/// Far above what so few tokens cost anywhere.
const ENVELOPE: Micros = Micros(50_000);
/// The longest a call may take, from the request to the last byte.
const WHOLE: Duration = Duration::from_secs(60);
const FIRST_BYTE_MS: u64 = 45_000;
const IDLE_MS: u64 = 20_000;
const CONNECT_MS: u64 = 5_000;
const PROMPT: &str = "Reply with the word ok.";
const OWNER: &str = "model-test";
/// What is read of an answer; more is passed over.
const MOST_KEPT: usize = 64 * 1024;

/// What happened.
#[derive(Debug)]
pub struct ModelTry {
    /// What was spoken.
    pub protocol: Protocol,
    /// When it began.
    pub started_at: Timestamp,
    /// To the first byte of an answer.
    pub first_byte: Option<Duration>,
    /// To the last.
    pub total: Duration,
    /// The status that came back; none when nothing did in time.
    pub status: Option<u16>,
    /// The error's word for programs.
    pub code: String,
    /// What the error says.
    pub said: String,
    /// The record of the call.
    pub settled: Option<Settled>,
}

/// What all tries have cost so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TriesSpend {
    /// Calls that were made, or may have been.
    pub calls: u64,
    /// As far as prices are known.
    pub cost: Micros,
    /// Calls without a price.
    pub unpriced: u64,
}

/// Why no call could be made.
#[derive(Debug, thiserror::Error)]
pub enum TryError {
    /// The model cannot be used.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The gateway takes no such grant.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// The record cannot be kept.
    #[error("`{}` cannot be used for the record of the call", path.display())]
    Record {
        /// What.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The record cannot be read back.
    #[error(transparent)]
    Read(#[from] calls::ReadError),
    /// The client cannot be made.
    #[error("the HTTP client could not be set up")]
    Client(#[source] reqwest::Error),
}

/// Where the records of tries lie in the data directory.
#[must_use]
pub fn tries_folder(home: &Path) -> PathBuf {
    home.join("model-tests")
}

/// Makes one call. `protocol`: the one our own agent speaks to that provider unless said.
///
/// # Errors
/// When no call could be made; a call that failed is not an error.
pub async fn try_model(
    models: &Models,
    home: &Path,
    model: &ModelName,
    protocol: Option<Protocol>,
) -> Result<ModelTry, TryError> {
    let protocol = protocol.unwrap_or_else(|| spoken(models, model));
    models.fetch_keys([model]).await;
    let name = fresh_name();
    let grant = grant(models, home, model, protocol, &name)?;
    let folder = tries_folder(home);
    let record = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| TryError::Record { path, source }
    };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(record(&folder))?;
    let (log, socket) = (folder.join(format!("{name}.jsonl")), folder.join(format!("{name}.sock")));
    let gateway = Gateway::new(grant, new_file(&log).map_err(record(&log))?, Arc::new(|| {}))?;
    let listener = listen(&socket).map_err(record(&socket))?;
    let (_held, reached) = sockets::shorten(&socket).map_err(record(&socket))?;
    let client = reqwest::Client::builder().unix_socket(reached).no_proxy().timeout(WHOLE).build();
    let client = client.map_err(TryError::Client)?;
    let (stop, stopped) = oneshot::channel::<()>();
    // Ready also when this function is dropped in the middle: the call is then recorded as abandoned.
    let serving = tokio::spawn(Arc::new(gateway).serve(listener, async { drop(stopped.await) }));
    let mut tried = call(&client, models, model, protocol).await;
    drop((client, stop));
    // It has logged why, if it broke; the record is read all the same.
    let _ = serving.await;
    // A socket that stays is in nobody's way.
    let _ = std::fs::remove_file(&socket);
    tried.settled = calls::read(&log)?.into_iter().rev().find_map(settled);
    Ok(tried)
}

/// Sums up the records of all tries. Blocks.
///
/// # Errors
/// When a record cannot be read.
pub fn tries_so_far(home: &Path) -> Result<TriesSpend, TryError> {
    let folder = tries_folder(home);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TriesSpend::default()),
        Err(source) => return Err(TryError::Record { path: folder, source }),
    };
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut spend = TriesSpend::default();
    for file in files.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")) {
        let mut reserved = None;
        let mut end = None;
        for record in calls::read(&file)? {
            match record {
                CallRecord::Reserved(call) => reserved = Some(call.micro_usd),
                CallRecord::Settled(call) => end = Some(call.micro_usd),
                CallRecord::Tried(_)
                | CallRecord::Read(_)
                | CallRecord::Used(_)
                | CallRecord::Connection(_)
                | CallRecord::Disconnection(_) => {}
            }
        }
        // One that was cut off by a kill may have been paid for.
        let Some(cost) = reserved.map(|reserved| end.unwrap_or(reserved)) else { continue };
        spend.calls += 1;
        match cost {
            Some(cost) => spend.cost = spend.cost.plus(Micros(cost.0)),
            None => spend.unpriced += 1,
        }
    }
    Ok(spend)
}

fn settled(record: CallRecord) -> Option<Settled> {
    match record {
        CallRecord::Settled(settled) => Some(settled),
        CallRecord::Reserved(_)
        | CallRecord::Tried(_)
        | CallRecord::Read(_)
        | CallRecord::Used(_)
        | CallRecord::Connection(_)
        | CallRecord::Disconnection(_) => None,
    }
}

fn spoken(models: &Models, model: &ModelName) -> Protocol {
    match models.upstreams.get(model.provider()).map(|settings| settings.kind) {
        Some(UpstreamKind::Anthropic) => Protocol::Messages,
        Some(UpstreamKind::Gemini) => Protocol::Gemini,
        Some(UpstreamKind::OpenAi | UpstreamKind::Scripted) | None => Protocol::Chat,
    }
}

fn grant(
    models: &Models,
    home: &Path,
    model: &ModelName,
    protocol: Protocol,
    attempt: &str,
) -> Result<broker::Grant, TryError> {
    let priced = models.has_price(model);
    // It belongs to no project, but the day's limit is everybody's; what has no price cannot be counted into it.
    let day = SharedLimits { project_month: None, ..models.shared };
    let limits = GrantLimits {
        envelope: priced.then_some(ENVELOPE),
        ask_after: None,
        purses: if priced { day.purses("", None) } else { Vec::new() },
        retries: 1,
        home: home.to_owned(),
    };
    let who = Who { run: OWNER, attempt, role: OWNER, visit: 1 };
    let mut grant = models.grant_to(&who, [model], limits)?;
    if let Some(script) = grant.upstreams.iter().find_map(|upstream| upstream.script.as_ref()) {
        // A script only knows the parts it was written for.
        let (role, visit) = script.a_part();
        (grant.role, grant.visit) = (role.to_owned(), visit);
    }
    grant.max_calls = Some(1);
    grant.search = None;
    grant.embeddings = match protocol {
        Protocol::Embeddings => Some(models.embeddings_with(model)?),
        Protocol::Messages | Protocol::Chat | Protocol::Responses | Protocol::Gemini => None,
    };
    grant.retry = RetryPolicy {
        attempts: 1,
        connect_ms: CONNECT_MS,
        first_byte_ms: FIRST_BYTE_MS,
        idle_ms: IDLE_MS,
        ..RetryPolicy::default()
    };
    Ok(grant)
}

async fn call(client: &reqwest::Client, models: &Models, model: &ModelName, protocol: Protocol) -> ModelTry {
    let (path, body) = request(models, model, protocol);
    let mut tried = ModelTry {
        protocol,
        started_at: Timestamp::now(),
        first_byte: None,
        total: Duration::ZERO,
        status: None,
        code: String::new(),
        said: String::new(),
        settled: None,
    };
    let begun = Instant::now();
    let mut kept = Vec::new();
    let read = async {
        let mut response = client.post(format!("http://broker{path}")).json(&body).send().await?;
        tried.status = Some(response.status().as_u16());
        while let Some(chunk) = response.chunk().await? {
            tried.first_byte.get_or_insert_with(|| begun.elapsed());
            let room = MOST_KEPT - kept.len();
            kept.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        Ok::<_, reqwest::Error>(())
    };
    if let Err(error) = read.await {
        tried.said = error.without_url().to_string();
    }
    tried.total = begun.elapsed();
    if tried.status.is_some_and(|status| status >= 400) {
        let error: Value = serde_json::from_slice(&kept).unwrap_or_default();
        let word = |names: [&str; 3]| names.iter().find_map(|name| error["error"][name].as_str()).map(str::to_owned);
        tried.code = word(["code", "type", "status"]).unwrap_or_default();
        tried.said = word(["message", "message", "message"]).unwrap_or_default();
        tried.first_byte = None;
    }
    tried
}

fn request(models: &Models, model: &ModelName, protocol: Protocol) -> (&'static str, Value) {
    let name = model.as_str();
    let messages = json!([{"role": "user", "content": PROMPT}]);
    match protocol {
        Protocol::Messages => (
            "/anthropic/v1/messages",
            json!({"model": name, "max_tokens": MAX_TOKENS, "stream": true, "messages": messages}),
        ),
        Protocol::Chat => {
            let mut body = json!({"model": name, "stream": true, "messages": messages});
            body[chat_limit(models, model)] = json!(MAX_TOKENS);
            ("/openai/v1/chat/completions", body)
        }
        Protocol::Responses => (
            "/openai/v1/responses",
            json!({"model": name, "max_output_tokens": MAX_TOKENS, "stream": true, "store": false, "input": PROMPT}),
        ),
        // The grant names the model.
        Protocol::Embeddings => ("/embeddings", json!({"input": [PROMPT]})),
        // The model in the body goes before the one in the path, which cannot hold every name.
        Protocol::Gemini => (
            "/gemini/v1beta/models/model:streamGenerateContent?alt=sse",
            json!({
                "model": name,
                "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
                "generationConfig": {"maxOutputTokens": MAX_TOKENS},
            }),
        ),
    }
}

/// OpenAI's newer models refuse the old name, and many compatible servers do not know the new one.
fn chat_limit(models: &Models, model: &ModelName) -> &'static str {
    let host = models.upstreams.get(model.provider()).map_or("", |settings| settings.base_url.as_str());
    if host.contains("://api.openai.com") { "max_completion_tokens" } else { "max_tokens" }
}

/// Sorts by time, and differs for calls of the same instant.
fn fresh_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{count}", Timestamp::now().strftime("%Y%m%dT%H%M%S%.6fZ"), std::process::id())
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)
}

fn listen(path: &Path) -> io::Result<UnixListener> {
    let listener = sockets::listen(path)?;
    listener.set_nonblocking(true)?;
    UnixListener::from_std(listener)
}
