//! The door to a search on the web, where the user has set one up: `POST /search` with `{"query": "…"}`.
//!
//! The agent names only the words; where they go is the user's setting. Never connects to an address of this machine or
//! of a private network, whatever a name resolves to and wherever a redirect leads, and never sends the key to another
//! host than the one it was set for.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::calls::ReadSource;
use crate::gateway::Gateway;
use crate::grant::Secret;
use crate::public::{self, Allowed, ResolveError, is_public};

/// Where in an endpoint the words go.
const SLOT: &str = "{query}";
const LONGEST_QUERY: usize = 300;
/// Each search carries words out; an agent that loops must not carry out a repository.
const MOST_SEARCHES: u32 = 60;
const MOST_HOPS: usize = 3;
const MOST_BYTES: usize = 256 * 1024;
const PATIENCE: Duration = Duration::from_secs(15);

/// A search that the user has set up.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchGrant {
    /// An http(s) address with `{query}` in it.
    pub endpoint: String,
    /// Header that carries the key; `Authorization` gets `Bearer` before it.
    pub header: Option<String>,
    /// Empty for services that want none.
    pub key: Secret,
}

/// Why a search cannot be done; the words go to the agent.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The setting.
    #[error("the search endpoint `{0}` is not an http(s) address with `{SLOT}` in it")]
    BadEndpoint(String),
    /// The setting.
    #[error("the header or the key of the search endpoint cannot stand in a request")]
    BadHeader,
    /// Nobody set one up.
    #[error("no web search is set up here; work with what the repository and the machine have")]
    Off,
    /// The agent's request.
    #[error("a search has `{{\"query\": \"…\"}}` with 1 to {LONGEST_QUERY} characters")]
    BadQuery,
    /// Enough.
    #[error("{MOST_SEARCHES} searches were made by this attempt, which is all it has")]
    TooMany,
    /// It leads where it must not.
    #[error("the search leads to `{0}`, which is on this machine or in a private network; that is refused")]
    Private(String),
    /// The service.
    #[error("the search did not answer: {0}")]
    NoAnswer(String),
    /// The service.
    #[error("the search answered {0}")]
    Status(u16),
}

impl SearchError {
    fn status(&self) -> StatusCode {
        match self {
            Self::BadEndpoint(_) | Self::BadHeader => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Off => StatusCode::NOT_FOUND,
            Self::BadQuery => StatusCode::BAD_REQUEST,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::Private(_) => StatusCode::FORBIDDEN,
            Self::NoAnswer(_) | Self::Status(_) => StatusCode::BAD_GATEWAY,
        }
    }
}

impl SearchGrant {
    /// Checks what can be checked without a connection.
    pub fn check(&self) -> Result<(), SearchError> {
        let bad = || SearchError::BadEndpoint(self.endpoint.clone());
        let url = Url::parse(&self.endpoint.replace(SLOT, "x")).map_err(|_| bad())?;
        let good = matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
        // In the host the words would choose where they go.
        let host_is_fixed = Url::parse(&self.endpoint.replace(SLOT, "y")).is_ok_and(|other| other.host() == url.host());
        if !good || !host_is_fixed || !self.endpoint.contains(SLOT) {
            return Err(bad());
        }
        self.auth().map(drop)
    }

    fn auth(&self) -> Result<Option<(HeaderName, HeaderValue)>, SearchError> {
        let key = self.key.expose();
        if key.is_empty() {
            return Ok(None);
        }
        let name = self.header.as_deref().unwrap_or("authorization");
        let name: HeaderName = name.parse().map_err(|_| SearchError::BadHeader)?;
        let text = if name == header::AUTHORIZATION { format!("Bearer {key}") } else { key.to_owned() };
        let mut value = HeaderValue::from_str(&text).map_err(|_| SearchError::BadHeader)?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

/// A search ready to be asked.
pub(crate) struct Search {
    grant: SearchGrant,
    client: Client,
    allowed: Allowed,
    made: AtomicU32,
}

impl Search {
    pub(crate) fn new(grant: SearchGrant) -> Result<Self, SearchError> {
        Self::within(grant, is_public)
    }

    fn within(grant: SearchGrant, allowed: Allowed) -> Result<Self, SearchError> {
        grant.check()?;
        let client = Client::builder()
            .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
            .timeout(PATIENCE)
            .redirect(reqwest::redirect::Policy::none())
            // A proxy would look names up itself, out of sight.
            .no_proxy()
            .dns_resolver(Arc::new(Guarded(allowed)))
            .build()
            .map_err(|error| SearchError::NoAnswer(error.to_string()))?;
        Ok(Self { grant, client, allowed, made: AtomicU32::new(0) })
    }

    /// The words as they are asked for, if they may be.
    fn admit<'a>(&self, query: &'a str) -> Result<&'a str, SearchError> {
        let query = query.trim();
        if query.is_empty() || query.chars().count() > LONGEST_QUERY {
            return Err(SearchError::BadQuery);
        }
        if self.made.fetch_add(1, Ordering::Relaxed) >= MOST_SEARCHES {
            return Err(SearchError::TooMany);
        }
        Ok(query)
    }

    async fn ask(&self, query: &str) -> Result<String, SearchError> {
        tokio::time::timeout(PATIENCE, self.follow(query))
            .await
            .unwrap_or_else(|_| Err(SearchError::NoAnswer(format!("nothing within {} seconds", PATIENCE.as_secs()))))
    }

    async fn follow(&self, query: &str) -> Result<String, SearchError> {
        let address = self.grant.endpoint.replace(SLOT, &encoded(query));
        let mut url = Url::parse(&address).map_err(|_| SearchError::BadEndpoint(self.grant.endpoint.clone()))?;
        let home = (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
        for _ in 0..=MOST_HOPS {
            self.check_literal(&url)?;
            let mut request = self.client.get(url.clone()).header(header::ACCEPT, "application/json, text/plain;q=0.8");
            let here = (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default());
            if let Some((name, value)) = self.grant.auth()?.filter(|_| here == home) {
                request = request.header(name, value);
            }
            let response = request.send().await.map_err(|error| told(&error, &url))?;
            let status = response.status();
            if status.is_redirection() {
                let next = response.headers().get(header::LOCATION).and_then(|next| next.to_str().ok());
                let next = next.and_then(|next| url.join(next).ok()).ok_or(SearchError::Status(status.as_u16()))?;
                if !matches!(next.scheme(), "http" | "https") {
                    return Err(SearchError::Private(next.scheme().to_owned()));
                }
                url = next;
                continue;
            }
            return if status.is_success() { body(response).await } else { Err(SearchError::Status(status.as_u16())) };
        }
        Err(SearchError::NoAnswer(format!("more than {MOST_HOPS} redirects")))
    }

    /// An address written as a number is never looked up, so it is looked at here.
    fn check_literal(&self, url: &Url) -> Result<(), SearchError> {
        let host = url.host_str().unwrap_or_default();
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) if !(self.allowed)(address) => Err(SearchError::Private(host.to_owned())),
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

/// Looks names up and lets only allowed addresses through; what is connected to is what was looked at.
struct Guarded(Allowed);

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let allowed = self.0;
        Box::pin(async move {
            let found = public::resolve(name.as_str(), 0, allowed).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

fn told(error: &reqwest::Error, url: &Url) -> SearchError {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    let mut last = String::new();
    while let Some(now) = cause {
        if matches!(now.downcast_ref(), Some(ResolveError::Private)) {
            return SearchError::Private(url.host_str().unwrap_or_default().to_owned());
        }
        last = now.to_string();
        cause = now.source();
    }
    SearchError::NoAnswer(last)
}

async fn body(response: reqwest::Response) -> Result<String, SearchError> {
    let mut bytes = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk.map_err(|error| SearchError::NoAnswer(error.without_url().to_string()))?);
        if bytes.len() > MOST_BYTES {
            bytes.truncate(MOST_BYTES);
            break;
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn encoded(query: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    query.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    query: String,
}

/// `POST /search`.
pub(crate) async fn door(State(gateway): State<Arc<Gateway>>, body: Body) -> Response {
    let answered = async {
        let search = gateway.search.as_ref().ok_or(SearchError::Off)?;
        let bytes = to_bytes(body, 16 * 1024).await.map_err(|_| SearchError::BadQuery)?;
        let asked: Asked = serde_json::from_slice(&bytes).map_err(|_| SearchError::BadQuery)?;
        let query = search.admit(&asked.query)?;
        gateway.books.reads(ReadSource::Search).map_err(SearchError::NoAnswer)?;
        search.ask(query).await
    };
    match answered.await {
        Ok(text) => axum::Json(json!({"text": text})).into_response(),
        Err(error) => (error.status(), axum::Json(json!({"error": {"message": error.to_string()}}))).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use axum::Router;
    use axum::extract::Request;
    use axum::response::Redirect;
    use axum::routing::get;

    use super::*;

    fn grant(endpoint: &str) -> SearchGrant {
        SearchGrant { endpoint: endpoint.into(), header: Some("X-Key".into()), key: Secret::new("s3cret") }
    }

    #[test]
    fn an_endpoint_has_a_fixed_host_and_a_place_for_the_words() {
        grant("https://s.example/api?q={query}&n=5").check().unwrap();
        for bad in [
            "https://s.example/",
            "ftp://s.example/{query}",
            "https://{query}.example/",
            "https://{query}/",
            "x{query}",
        ] {
            assert!(grant(bad).check().is_err(), "{bad}");
        }
        let mut odd = grant("https://s.example/{query}");
        odd.key = Secret::new("line\nbreak");
        assert!(matches!(odd.check(), Err(SearchError::BadHeader)));
    }

    #[tokio::test]
    async fn private_addresses_are_refused_as_numbers_and_as_names() {
        for host in [
            "127.0.0.1:9",
            "[::1]:9",
            "localhost:9",
            "169.254.169.254",
            "[::ffff:10.0.0.1]",
            "0x7f000001",
            "2130706433",
        ] {
            let search = Search::new(grant(&format!("http://{host}/?q={{query}}"))).unwrap();
            let refused = search.ask("x").await.unwrap_err();
            assert!(matches!(refused, SearchError::Private(_)), "{host}: {refused}");
        }
    }

    /// A service on loopback, and what it was asked, with the key it saw.
    async fn service(routes: Router<Arc<Mutex<Vec<String>>>>) -> (String, Arc<Mutex<Vec<String>>>) {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let router = routes.with_state(Arc::clone(&seen));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (address, seen)
    }

    async fn answer(State(seen): State<Arc<Mutex<Vec<String>>>>, request: Request) -> String {
        let key = request.headers().get("x-key").and_then(|key| key.to_str().ok()).unwrap_or("no key");
        seen.lock().unwrap().push(format!("{} {key}", request.uri()));
        "{\"results\": []}".to_owned()
    }

    #[tokio::test]
    async fn words_and_key_go_to_the_endpoint_and_the_key_nowhere_else() {
        let (other, seen_by_other) = service(Router::new().route("/there", get(answer))).await;
        let there = format!("{other}/there");
        let routes = Router::new()
            .route("/ok", get(answer))
            .route("/huge", get(|| async { "x".repeat(2 * MOST_BYTES) }))
            .route("/away", get(move || async move { Redirect::temporary(&there) }))
            .route("/round", get(|| async { Redirect::temporary("/round") }))
            .route("/file", get(|| async { (StatusCode::FOUND, [(header::LOCATION, "file:///etc/passwd")]) }));
        let (address, seen) = service(routes).await;
        let ask = async |path: &str| {
            let search = Search::within(grant(&format!("{address}/{path}?q={{query}}")), |_| true).unwrap();
            search.ask("a b&c=ü").await
        };
        assert_eq!(ask("ok").await.unwrap(), "{\"results\": []}");
        assert_eq!(*seen.lock().unwrap(), ["/ok?q=a%20b%26c%3D%C3%BC s3cret"]);
        assert_eq!(ask("huge").await.unwrap().len(), MOST_BYTES);
        ask("away").await.unwrap();
        assert_eq!(*seen_by_other.lock().unwrap(), ["/there no key"]);
        assert!(matches!(ask("round").await, Err(SearchError::NoAnswer(_))));
        assert!(matches!(ask("file").await, Err(SearchError::Private(_))));
        assert!(matches!(ask("no").await, Err(SearchError::Status(404))));
    }

    #[tokio::test]
    async fn a_redirect_to_a_private_address_is_not_followed() {
        let (inside, seen) = service(Router::new().route("/secret", get(answer))).await;
        let inside = inside.replace("127.0.0.1", "127.0.0.2");
        let to = format!("{inside}/secret");
        let (address, _) =
            service(Router::new().route("/", get(move || async move { Redirect::temporary(&to) }))).await;
        let only_one: Allowed = |address| address == IpAddr::from([127, 0, 0, 1]);
        let search = Search::within(grant(&format!("{address}/?q={{query}}")), only_one).unwrap();
        assert!(matches!(search.ask("x").await, Err(SearchError::Private(_))));
        assert_eq!(*seen.lock().unwrap(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn an_attempt_has_so_many_searches() {
        let (address, _) = service(Router::new().route("/", get(answer))).await;
        let search = Search::within(grant(&format!("{address}/?q={{query}}")), |_| true).unwrap();
        for _ in 0..MOST_SEARCHES {
            search.ask(search.admit("x").unwrap()).await.unwrap();
        }
        assert!(matches!(search.admit("x"), Err(SearchError::TooMany)));
        assert!(matches!(search.admit(&"x".repeat(301)), Err(SearchError::BadQuery)));
    }
}
