//! One upstream over HTTP. Adds the key, forwards a short list of headers, follows no redirect
//! (it would carry the key to a stranger), and does not decide about retries.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use reqwest::Url;

use crate::grant::{GrantError, Upstream, UpstreamKind};
use crate::protocol::Protocol;
use crate::refusal::Billing;
use crate::request::{Ask, Streamed, Verb};
use crate::retry::RetryPolicy;
use crate::turnstile::Pass;

const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");
const ANTHROPIC_BETA: HeaderName = HeaderName::from_static("anthropic-beta");
/// The version whose answers can be metered, whatever an agent asks for.
const VERSION: HeaderValue = HeaderValue::from_static("2023-06-01");

/// The beginning of an answer, from an upstream of any kind.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: AnswerBody,
    pub(crate) script: ScriptState,
    /// Held until the answer is over.
    pub(crate) pass: Option<Pass>,
}

pub(crate) type AnswerBody = BoxStream<'static, Result<Bytes, BodyError>>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptState {
    /// Not scripted, or a turn of the script.
    Going,
    Over,
}

/// Why an answer stopped in the middle.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the answer broke off: {0}")]
    Cut(String),
    #[error("nothing more of the answer came for {0} ms")]
    Stalled(u64),
    #[error("the attempt is over")]
    Closing,
}

/// The request could not be sent, or no answer began.
#[derive(Debug)]
pub(crate) struct NoAnswer {
    pub(crate) cause: String,
    pub(crate) billing: Billing,
}

pub(crate) struct HttpUpstream {
    client: reqwest::Client,
    base: Url,
    auth: Option<(HeaderName, HeaderValue)>,
    /// Beta features the user configured.
    betas: Vec<String>,
}

impl HttpUpstream {
    pub(crate) fn new(upstream: &Upstream, policy: &RetryPolicy) -> Result<Self, GrantError> {
        let provider = || upstream.provider.clone();
        let bad_url = || GrantError::BadBaseUrl { provider: provider(), url: upstream.base_url.clone() };
        let base = Url::parse(&upstream.base_url).map_err(|_| bad_url())?;
        if !matches!(base.scheme(), "http" | "https") || base.host_str().is_none() {
            return Err(bad_url());
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_millis(policy.connect_ms))
            .redirect(reqwest::redirect::Policy::none())
            // The bytes of an answer are passed on as the upstream sent them.
            .no_gzip()
            .no_brotli()
            .no_deflate()
            .no_zstd()
            // Retries are counted and logged by the gateway only.
            .retry(reqwest::retry::never());
        if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|source| GrantError::Client { provider: provider(), source })?;
        let auth = auth(upstream).map_err(|_| GrantError::BadKey(provider()))?;
        Ok(Self { client, base, auth, betas: upstream.hosted.beta_headers.clone() })
    }

    pub(crate) async fn send(&self, ask: &Ask, model: &str, from_agent: &HeaderMap) -> Result<Answer, NoAnswer> {
        let request = self
            .client
            .post(endpoint(&self.base, ask, model))
            .headers(self.headers(ask.protocol, from_agent))
            .body(ask.forward(model));
        let response = request.send().await.map_err(|error| {
            // Without a connection nothing was asked; after that it may have been worked on.
            let billing = if error.is_connect() { Billing::None } else { Billing::Possible };
            NoAnswer { cause: chain(error), billing }
        })?;
        Ok(Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.bytes_stream().map(|chunk| chunk.map_err(|error| BodyError::Cut(chain(error)))).boxed(),
            script: ScriptState::Going,
            pass: None,
        })
    }

    fn headers(&self, protocol: Protocol, from_agent: &HeaderMap) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(accepted) = from_agent.get(header::ACCEPT) {
            headers.insert(header::ACCEPT, accepted.clone());
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Usage is read from the bytes as they pass.
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if protocol == Protocol::Messages {
            headers.insert(ANTHROPIC_VERSION, VERSION);
            headers.extend(self.betas(from_agent).map(|beta| (ANTHROPIC_BETA, beta)));
        }
        if let Some((name, value)) = &self.auth {
            headers.insert(name.clone(), value.clone());
        }
        headers
    }
}

impl HttpUpstream {
    /// Of the beta features an agent asks for, those the user configured.
    fn betas(&self, from_agent: &HeaderMap) -> Option<HeaderValue> {
        let asked = from_agent.get_all(ANTHROPIC_BETA).into_iter().filter_map(|value| value.to_str().ok());
        let asked = asked.flat_map(|value| value.split(',')).map(str::trim);
        let betas: Vec<&str> = asked.filter(|beta| self.betas.iter().any(|known| known == beta)).collect();
        (!betas.is_empty()).then(|| HeaderValue::from_str(&betas.join(",")).ok())?
    }
}

fn auth(upstream: &Upstream) -> Result<Option<(HeaderName, HeaderValue)>, header::InvalidHeaderValue> {
    let key = upstream.key.expose();
    if key.is_empty() {
        return Ok(None);
    }
    let (name, value) = match upstream.kind {
        UpstreamKind::Anthropic => (HeaderName::from_static("x-api-key"), key.to_owned()),
        UpstreamKind::Gemini => (HeaderName::from_static("x-goog-api-key"), key.to_owned()),
        UpstreamKind::OpenAi | UpstreamKind::Scripted => (header::AUTHORIZATION, format!("Bearer {key}")),
    };
    let mut value = HeaderValue::from_str(&value)?;
    value.set_sensitive(true);
    Ok(Some((name, value)))
}

/// A version is added unless the base already names one somewhere in its path.
fn endpoint(base: &Url, ask: &Ask, model: &str) -> Url {
    let path = base.path().trim_end_matches('/');
    let versioned = path.split('/').any(|segment| {
        let mut rest = segment.strip_prefix('v').unwrap_or("").chars();
        rest.next().is_some_and(|c| c.is_ascii_digit())
    });
    let version = match (versioned, ask.protocol) {
        (true, _) => "",
        (false, Protocol::Gemini) => "/v1beta",
        (false, Protocol::Messages | Protocol::Chat | Protocol::Responses | Protocol::Embeddings) => "/v1",
    };
    let mut url = base.clone();
    url.set_path(&format!("{path}{version}/{}", behind_version(ask, model)));
    if ask.protocol == Protocol::Gemini && ask.stream == Streamed::Yes {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    url
}

fn behind_version(ask: &Ask, model: &str) -> String {
    match (ask.protocol, ask.verb) {
        (Protocol::Messages, Verb::Answer) => "messages".to_owned(),
        (Protocol::Messages, Verb::Count) => "messages/count_tokens".to_owned(),
        (Protocol::Chat, _) => "chat/completions".to_owned(),
        (Protocol::Responses, _) => "responses".to_owned(),
        (Protocol::Embeddings, _) => "embeddings".to_owned(),
        (Protocol::Gemini, Verb::Count) => format!("models/{model}:countTokens"),
        (Protocol::Gemini, Verb::Answer) => match ask.stream {
            Streamed::No => format!("models/{model}:generateContent"),
            Streamed::Yes | Streamed::Array => format!("models/{model}:streamGenerateContent"),
        },
    }
}

pub(crate) fn is_loopback(base: &Url) -> bool {
    match base.host_str() {
        Some("localhost") => true,
        Some(host) => {
            host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

/// The whole cause in one line, without the address (it may carry a token in its query).
pub(crate) fn chain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
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

    #[track_caller]
    fn check(base: &str, protocol: Protocol, expected: &str) {
        let ask = Ask::read(protocol, Verb::Answer, Bytes::from_static(b"{\"model\":\"p/m\"}")).unwrap();
        let url = endpoint(&Url::parse(base).unwrap(), &ask, "m");
        assert_eq!(url.as_str(), expected);
    }

    #[test]
    fn gemini_addresses_name_model_and_action() {
        let check = |base: &str, action: &str, expected: &str| {
            let ask = Ask::read_gemini(&format!("g/m:{action}"), true, Bytes::from_static(b"{}")).unwrap();
            assert_eq!(endpoint(&Url::parse(base).unwrap(), &ask, "m").as_str(), expected);
        };
        check("https://g.example", "generateContent", "https://g.example/v1beta/models/m:generateContent");
        check("https://g.example/v1/", "countTokens", "https://g.example/v1/models/m:countTokens");
        check(
            "https://g.example/v1beta?project=p",
            "streamGenerateContent",
            "https://g.example/v1beta/models/m:streamGenerateContent?project=p&alt=sse",
        );
    }

    #[test]
    fn base_urls_join_with_and_without_a_version() {
        let (messages, chat) = (Protocol::Messages, Protocol::Chat);
        check("https://api.anthropic.com", messages, "https://api.anthropic.com/v1/messages");
        check("https://api.anthropic.com/v1/", messages, "https://api.anthropic.com/v1/messages");
        check("https://d.example/anthropic", messages, "https://d.example/anthropic/v1/messages");
        check("https://api.openai.com/v1", chat, "https://api.openai.com/v1/chat/completions");
        check("http://localhost:11434", chat, "http://localhost:11434/v1/chat/completions");
        check("https://g.example/v1beta/openai/", chat, "https://g.example/v1beta/openai/chat/completions");
        check(
            "https://a.example/v1?api-version=3",
            Protocol::Responses,
            "https://a.example/v1/responses?api-version=3",
        );
        check("https://v.example/vault", chat, "https://v.example/vault/v1/chat/completions");
    }

    #[test]
    fn loopback_addresses_need_no_proxy() {
        for base in ["http://localhost:1", "http://127.0.0.1:1", "http://[::1]:1"] {
            assert!(is_loopback(&Url::parse(base).unwrap()), "{base}");
        }
        assert!(!is_loopback(&Url::parse("https://api.openai.com").unwrap()));
    }
}
