//! A program that uses its own login at its own vendor: a tunnel (`CONNECT host:port`) to the hosts the user listed,
//! and an account of what the program says it has used.
//!
//! It carries bytes it cannot read, so it counts no tokens: what is counted is what the program reports, and it is
//! marked so. It never connects to a host that is not listed, nor to a private address whatever a name resolves to, and
//! once a limit is reached it carries nothing more.

mod account;
mod host;
mod tunnel;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{Semaphore, watch};

use crate::books::Books;
use crate::calls::{CallRecord, Connection, Verdict};
use crate::gateway::Gateway;
use crate::grant::Secret;
use crate::prices::Price;
use crate::public::{Allowed, is_public};
use account::Account;
pub(crate) use account::Report;
use host::Target;
pub use host::{HostError, HostPattern};

/// Connections at once; a program needs a handful.
const MOST_AT_ONCE: usize = 64;
/// Connections that are written down one by one; who makes more is not told apart any more.
const MOST_WRITTEN: u32 = 2_000;
/// Bytes of a request for a tunnel, all headers together.
const MOST_HEADERS: usize = 8 * 1024;
const MOST_REPORT: usize = 16 * 1024;
const LONGEST_SHOWN: usize = 100;

/// What a program that uses its own login may do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DirectGrant {
    /// As people name it.
    pub program: String,
    /// Where it may go.
    pub hosts: Vec<HostPattern>,
    /// `provider/model`, as far as one was chosen.
    pub model: Option<String>,
    /// The provider whose prices hold for it, and its prices, for programs that report tokens and no money.
    pub provider: String,
    pub prices: Vec<Price>,
    /// Variables that hold its login, for its environment.
    #[serde(default)]
    pub variables: BTreeMap<String, Secret>,
}

/// The way out of one attempt.
pub(crate) struct Direct {
    grant: DirectGrant,
    books: Arc<Books>,
    allowed: Allowed,
    places: Arc<Semaphore>,
    account: Mutex<Account>,
    connections: Mutex<Connections>,
    /// True once nothing more is carried.
    shut: watch::Sender<bool>,
}

#[derive(Default)]
struct Connections {
    made: u32,
    /// Those the program's host was not told about yet.
    untold: Vec<Connection>,
}

/// Why no tunnel is made; the words go to the program.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("this agent has no network of its own; its model is reached at the address it was given")]
    Off,
    #[error("`{asked}` is not a host that can be reached: {reason}")]
    BadHost { asked: String, reason: host::HostError },
    #[error(
        "`{asked}` is not among the hosts that `{program}` may reach ({hosts}); \
         to allow it, add it to `hosts` of [agents.direct.{program}] in config.toml"
    )]
    NotListed { asked: String, program: String, hosts: String },
    #[error("`{0}` may be reached over https only")]
    Unencrypted(String),
    #[error("`{0}` leads to this machine or into a private network; that is refused")]
    Private(String),
    #[error("`{host}` could not be reached: {cause}")]
    Unreachable { host: String, cause: String },
    #[error("{MOST_AT_ONCE} connections are open already")]
    TooMany,
    #[error("a request for a tunnel has at most {MOST_HEADERS} bytes of headers")]
    TooLong,
    #[error("the spend limit of the run is reached; nothing more is carried")]
    Spent,
    #[error("the attempt is over")]
    Over,
    #[error("the connection could not be recorded, so it was not made: {0}; check the disk")]
    Unrecorded(String),
}

impl Refused {
    fn status(&self) -> StatusCode {
        match self {
            Self::Off | Self::BadHost { .. } | Self::NotListed { .. } | Self::Unencrypted(_) | Self::Private(_) => {
                StatusCode::FORBIDDEN
            }
            Self::Spent => StatusCode::PAYMENT_REQUIRED,
            Self::Unreachable { .. } => StatusCode::BAD_GATEWAY,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::TooLong => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Over => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unrecorded(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl Direct {
    pub(crate) fn new(grant: DirectGrant, books: Arc<Books>) -> Self {
        Self::within(grant, books, is_public)
    }

    fn within(grant: DirectGrant, books: Arc<Books>, allowed: Allowed) -> Self {
        let places = Arc::new(Semaphore::new(MOST_AT_ONCE));
        let shut = watch::Sender::new(false);
        Self { grant, books, allowed, places, account: Mutex::default(), connections: Mutex::default(), shut }
    }

    /// The last word about what was used is the last that was heard.
    pub(crate) fn close(&self) {
        self.shut.send_replace(true);
        self.lock_account().close(&self.grant, &self.books);
    }

    fn lock_account(&self) -> MutexGuard<'_, Account> {
        // A panic while the lock was held leaves numbers that are still true.
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn decide(&self, asked: &str, headers: &HeaderMap) -> Result<Target, Refused> {
        let shown = || shown(asked);
        let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if size + asked.len() > MOST_HEADERS {
            return Err(Refused::TooLong);
        }
        let target = Target::parse(asked).map_err(|reason| Refused::BadHost { asked: shown(), reason })?;
        if !self.grant.hosts.iter().any(|pattern| pattern.allows(&target)) {
            let hosts: Vec<String> = self.grant.hosts.iter().map(ToString::to_string).collect();
            let (program, hosts) = (self.grant.program.clone(), hosts.join(", "));
            return Err(Refused::NotListed { asked: shown(), program, hosts });
        }
        if self.lock_account().is_spent() {
            return Err(Refused::Spent);
        }
        Ok(target)
    }

    /// Writes a connection down before it is made, or that it is not.
    fn note(&self, to: &str, verdict: Verdict) -> Result<u32, Refused> {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.made = connections.made.saturating_add(1);
        let number = connections.made;
        if number > MOST_WRITTEN {
            return Ok(number);
        }
        let connection = Connection { number, to: shown(to), verdict, at: jiff::Timestamp::now() };
        connections.untold.push(connection.clone());
        drop(connections);
        self.books.record(&CallRecord::Connection(connection)).map_err(Refused::Unrecorded)?;
        Ok(number)
    }

    fn untold(&self) -> Vec<Connection> {
        std::mem::take(&mut self.connections.lock().unwrap_or_else(PoisonError::into_inner).untold)
    }
}

fn shown(asked: &str) -> String {
    asked.chars().take(LONGEST_SHOWN).flat_map(char::escape_default).collect()
}

/// `CONNECT host:port`.
pub(crate) async fn connect(gateway: &Gateway, request: Request) -> Response {
    let asked = request.uri().authority().map(|authority| authority.as_str().to_owned()).unwrap_or_default();
    let Some(direct) = gateway.direct.clone() else { return refusal(&Refused::Off) };
    match tunnel::open(&direct, &asked, request).await {
        Ok(()) => StatusCode::OK.into_response(),
        Err(refused) => refusal(&refused),
    }
}

/// Refuses requests for another host that ask for no tunnel: what they say could be read on its way.
pub(crate) async fn only_tunnels(State(gateway): State<Arc<Gateway>>, request: Request, next: Next) -> Response {
    let (Some(direct), Some(asked)) = (&gateway.direct, request.uri().authority()) else {
        return next.run(request).await;
    };
    if request.method() == Method::CONNECT {
        return next.run(request).await;
    }
    let refused = Refused::Unencrypted(shown(asked.as_str()));
    match direct.note(asked.as_str(), Verdict::Refused { reason: refused.to_string() }) {
        Ok(_) => refusal(&refused),
        Err(unrecorded) => refusal(&unrecorded),
    }
}

fn refusal(refused: &Refused) -> Response {
    (refused.status(), [("x-holdpoint", "refused")], format!("{refused}\n")).into_response()
}

/// `POST /reported`: what the program says it has used since it was started.
pub(crate) async fn reported(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    let Some(direct) = &gateway.direct else {
        let error = json!({"error": {"message": "what this agent uses is counted here already"}});
        return (StatusCode::NOT_FOUND, axum::Json(error)).into_response();
    };
    let bytes = to_bytes(request.into_body(), MOST_REPORT).await.unwrap_or_default();
    let Ok(report) = serde_json::from_slice::<Report>(&bytes) else {
        let error = json!({"error": {"message": "a report has `process`, `inputTokens`, `outputTokens` and `last`"}});
        return (StatusCode::BAD_REQUEST, axum::Json(error)).into_response();
    };
    let taken = direct.lock_account().take(report, &direct.grant, &direct.books);
    let connections = direct.untold();
    match taken {
        Ok(()) => axum::Json(json!({ "connections": connections })).into_response(),
        Err(refused) => {
            direct.shut.send_replace(true);
            let error = json!({"message": refused.message, "code": refused.code, "shortage": refused.shortage});
            let status = StatusCode::PAYMENT_REQUIRED;
            (status, axum::Json(json!({"error": error, "connections": connections}))).into_response()
        }
    }
}
