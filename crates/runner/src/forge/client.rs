//! One repository on one host, over HTTP. Sends the token to the API's address and nowhere else:
//! no redirect is followed. Repeats nothing by itself.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{Client, Method, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ForgeError;
use super::address::{Address, check_api, is_loopback};
use super::scopes::{self, Visibility};

const PATIENCE: Duration = Duration::from_secs(30);
const MAX_ANSWER: usize = 16 * 1024 * 1024;
/// What GitHub asks for where it does not say how long to wait.
const USUAL_WAIT: SignedDuration = SignedDuration::from_secs(60);
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(24);

/// A repository on GitHub, or on a GitHub Enterprise host.
#[derive(Debug)]
pub struct Forge {
    api: Url,
    pub(super) address: Address,
    token: Token,
    http: Client,
    patience: Duration,
    seen: Mutex<Seen>,
}

/// What answers have told of the token and the repository.
#[derive(Debug, Default)]
struct Seen {
    scopes: Option<Vec<String>>,
    is_private: Option<bool>,
}

/// Not shown by `Debug`.
struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[token]")
    }
}

impl Forge {
    /// The repository a remote leads to. The token must belong to that remote's host (see
    /// `host_of`). `api_override` is the API's address where it cannot be told from the host.
    pub fn for_remote(
        remote_url: &str,
        token: Option<String>,
        api_override: Option<String>,
    ) -> Result<Self, ForgeError> {
        let address = Address::parse(remote_url)?;
        let api = match api_override {
            Some(set) => check_api(&set)?,
            None => address.api(remote_url)?,
        };
        let host = || address.host.clone();
        let token = token.map(|token| token.trim().to_owned()).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| ForgeError::NoToken { host: host() })?;
        if !token.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(ForgeError::BadToken { host: host() });
        }
        let mut builder = Client::builder()
            .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never());
        if is_loopback(&api) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(ForgeError::Client)?;
        Ok(Self { api, address, token: Token(token), http, patience: PATIENCE, seen: Mutex::default() })
    }

    /// `OWNER/REPO`
    pub fn repository(&self) -> String {
        self.address.repository()
    }

    /// The scopes of the token, if an answer has named some, and what they are used for.
    pub fn scopes(&self) -> Option<(Vec<String>, Visibility)> {
        let seen = self.seen();
        let visibility = if seen.is_private == Some(false) { Visibility::Public } else { Visibility::Private };
        Some((seen.scopes.clone()?, visibility))
    }

    pub(super) fn saw_private(&self, is_private: Option<bool>) {
        if is_private.is_some() {
            self.seen().is_private = is_private;
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn host(&self) -> String {
        self.address.host.clone()
    }

    /// The address of something that belongs to the repository.
    pub(super) fn url(&self, what: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.api.clone();
        let base = self.api.path().trim_end_matches('/');
        url.set_path(&format!("{base}/repos/{}/{what}", self.repository()));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<T, ForgeError> {
        let mut request = self.http.request(method, url).timeout(self.patience).headers(self.headers()?);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|error| self.unreachable(error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        if let Some(named) = headers.get(scopes::HEADER).and_then(|named| named.to_str().ok()) {
            self.seen().scopes = Some(scopes::parse(named));
        }
        let answer = self.read(response).await?;
        if !status.is_success() {
            return Err(self.refusal(status, &headers, &answer));
        }
        serde_json::from_slice(&answer).map_err(|error| self.strange(&error.to_string()))
    }

    fn headers(&self) -> Result<HeaderMap, ForgeError> {
        let mut key = HeaderValue::from_str(&format!("Bearer {}", self.token.0))
            .map_err(|_| ForgeError::BadToken { host: self.host() })?;
        key.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, key);
        headers.insert(ACCEPT, HeaderValue::from_static("application/vnd.github+json"));
        headers.insert("x-github-api-version", HeaderValue::from_static("2022-11-28"));
        Ok(headers)
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>, ForgeError> {
        let mut answer = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.unreachable(error))? {
            answer.extend_from_slice(&chunk);
            if answer.len() > MAX_ANSWER {
                return Err(self.strange("an answer without end"));
            }
        }
        Ok(answer)
    }

    fn refusal(&self, status: StatusCode, headers: &HeaderMap, answer: &[u8]) -> ForgeError {
        let (host, repository) = (self.host(), self.repository());
        let message = self.cleaned(&message(answer, status));
        if let Some(until) = rate_limit(status, headers, &message, Timestamp::now()) {
            return ForgeError::RateLimited { host, until };
        }
        match status.as_u16() {
            401 | 403 => ForgeError::Unauthorized { host, repository, reason: message },
            404 => ForgeError::NotFound { host, repository },
            300..=399 => ForgeError::Moved { host, repository },
            408 | 500..=599 => ForgeError::Unreachable { host, reason: message },
            _ => ForgeError::Rejected { host, message },
        }
    }

    fn unreachable(&self, error: reqwest::Error) -> ForgeError {
        let reason = match error.is_timeout() {
            true => format!("no answer within {} seconds", self.patience.as_secs()),
            false => chain(&error.without_url()),
        };
        ForgeError::Unreachable { host: self.host(), reason: self.cleaned(&reason) }
    }

    pub(super) fn strange(&self, detail: &str) -> ForgeError {
        ForgeError::Strange { host: self.host(), detail: self.cleaned(detail) }
    }

    /// The host's words, short enough for a message, without the token should it be echoed.
    fn cleaned(&self, text: &str) -> String {
        let text = text.replace(&self.token.0, "[token]");
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(1000).collect()
    }
}

/// What the API says in its `message` and its list of `errors`.
fn message(answer: &[u8], status: StatusCode) -> String {
    let answer: Option<Value> = serde_json::from_slice(answer).ok().filter(Value::is_object);
    let Some(answer) = answer else {
        return format!("it answered {status}");
    };
    let mut parts: Vec<String> = answer["message"].as_str().map(str::to_owned).into_iter().collect();
    for error in answer["errors"].as_array().into_iter().flatten() {
        let part = |key: &str| error[key].as_str();
        let told = match (error.as_str().or(part("message")), part("field"), part("code")) {
            (Some(text), _, _) => text.to_owned(),
            (None, Some(field), Some(code)) => format!("`{field}` is {code}"),
            (None, Some(word), None) | (None, None, Some(word)) => word.to_owned(),
            (None, None, None) => continue,
        };
        parts.push(told);
    }
    match parts.is_empty() {
        true => format!("it answered {status}"),
        false => parts.join("; "),
    }
}

/// Until when to wait, if that is what the host asks for.
fn rate_limit(status: StatusCode, headers: &HeaderMap, message: &str, now: Timestamp) -> Option<Timestamp> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<i64>().ok();
    let used_up = number("x-ratelimit-remaining") == Some(0);
    let wait = number(RETRY_AFTER.as_str());
    let slow_down = used_up || wait.is_some() || message.to_ascii_lowercase().contains("rate limit");
    if status != StatusCode::TOO_MANY_REQUESTS && !(status == StatusCode::FORBIDDEN && slow_down) {
        return None;
    }
    let reset = number("x-ratelimit-reset").filter(|_| used_up).and_then(|at| Timestamp::from_second(at).ok());
    let wait = match (wait, reset) {
        (Some(seconds), _) => SignedDuration::from_secs(seconds),
        (None, Some(reset)) => reset.duration_since(now),
        (None, None) => USUAL_WAIT,
    };
    let wait = wait.clamp(SignedDuration::ZERO, LONGEST_WAIT);
    Some(now.checked_add(wait).unwrap_or(now))
}

fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_host_that_never_answers_is_given_up_on() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let api = format!("http://{}", silent.local_addr().unwrap());
        let mut forge = Forge::for_remote("https://github.com/o/r", Some("ghp_x".to_owned()), Some(api)).unwrap();
        assert_eq!(forge.patience, Duration::from_secs(30));
        forge.patience = Duration::from_millis(50);
        let answer = forge.ask::<Value>(Method::GET, forge.url("pulls", &[]), None).await;
        assert!(
            matches!(&answer, Err(ForgeError::Unreachable { reason, .. }) if reason.contains("within")),
            "{answer:?}"
        );
    }

    #[test]
    fn a_rate_limit_says_when_to_come_back() {
        let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        let check = |status: u16, headers: &[(&'static str, &str)], message: &str| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, value.parse().unwrap());
            }
            let until = rate_limit(StatusCode::from_u16(status).unwrap(), &map, message, now);
            until.map(|until| until.duration_since(now).as_secs())
        };
        let reset = (now.as_second() + 90).to_string();
        let used_up = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", reset.as_str())];
        assert_eq!(check(403, &used_up, ""), Some(90));
        assert_eq!(check(429, &[("retry-after", "7")], ""), Some(7));
        assert_eq!(check(403, &[("retry-after", "7")], ""), Some(7));
        assert_eq!(check(403, &[], "You have exceeded a secondary rate limit"), Some(60));
        assert_eq!(check(429, &[("retry-after", "9999999999999")], ""), Some(24 * 3600));
        assert_eq!(check(429, &[("retry-after", "-5")], ""), Some(0));
        assert_eq!(check(403, &[("x-ratelimit-remaining", "12")], "Forbidden"), None);
        assert_eq!(check(422, &used_up, ""), None);
    }
}
