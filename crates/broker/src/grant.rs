//! What a server allows one agent attempt: which upstreams, how much money, how many calls.
//! A grant travels through a pipe to the shim. Its `Debug` never shows a key.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::direct::DirectGrant;
use crate::embeddings::EmbeddingsGrant;
use crate::mcp::{McpError, McpGrant};
use crate::money::Micros;
use crate::prices::Price;
use crate::protocol::Protocol;
use crate::purses::SharedPurse;
use crate::retry::RetryPolicy;
use crate::scripted::Script;
use crate::search::{SearchError, SearchGrant};
use crate::turnstile::Limits;

/// Everything a [`crate::Gateway`] may do for one attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    pub run: String,
    pub attempt: String,
    pub role: String,
    /// The n-th conversation of that role in the run, from 1.
    pub visit: u32,
    pub upstreams: Vec<Upstream>,
    /// What may still be spent; `None` is no limit.
    pub limit: Option<Micros>,
    /// What may be spent before a person is asked; `None`: nobody is asked.
    #[serde(default)]
    pub ask_after: Option<Micros>,
    /// Limits kept together with others, in `purses_folder`; without it none are.
    #[serde(default)]
    pub purses: Vec<SharedPurse>,
    #[serde(default)]
    pub purses_folder: Option<PathBuf>,
    #[serde(default)]
    pub retry: RetryPolicy,
    /// How many calls may be made; `None` is no limit.
    pub max_calls: Option<u32>,
    /// Where words may be looked up on the web; `None`: nowhere.
    #[serde(default)]
    pub search: Option<SearchGrant>,
    /// Which model makes vectors of texts; `None`: none does. Its upstream is for nothing else.
    #[serde(default)]
    pub embeddings: Option<EmbeddingsGrant>,
    /// MCP servers it may use.
    #[serde(default)]
    pub mcp: Vec<McpGrant>,
    /// For a program that uses its own login: where it may go. `None`: nowhere.
    #[serde(default)]
    pub direct: Option<DirectGrant>,
    /// Where the attempts of this machine count their calls per provider; without it no [`Limits`] are kept.
    #[serde(default)]
    pub limits_folder: Option<PathBuf>,
}

/// One place that answers model calls.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Upstream {
    /// The first part of `provider/model`.
    pub provider: String,
    pub kind: UpstreamKind,
    /// With or without a trailing `/v1`; not read for scripted upstreams.
    pub base_url: String,
    /// Empty for servers that want none.
    pub key: Secret,
    /// The answers of a scripted upstream.
    pub script: Option<Script>,
    pub prices: Vec<Price>,
    /// The models of it that the role may ask; a scripted upstream has only its script.
    #[serde(default)]
    pub models: Vec<String>,
    #[serde(default)]
    pub hosted: HostedFeatures,
    /// Kept together with all other attempts of this machine.
    #[serde(default)]
    pub limits: Limits,
}

/// What a provider does for a request outside this machine: nothing, unless the user configured it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HostedFeatures {
    /// Tools that the provider runs, such as `web_search`.
    pub tools: Vec<String>,
    /// Values of `anthropic-beta` that an agent may send.
    pub beta_headers: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum UpstreamKind {
    Anthropic,
    OpenAi,
    Gemini,
    Scripted,
}

impl UpstreamKind {
    pub(crate) fn speaks(self, protocol: Protocol) -> bool {
        match self {
            Self::Scripted => protocol != Protocol::Embeddings,
            Self::Anthropic => protocol == Protocol::Messages,
            Self::OpenAi => matches!(protocol, Protocol::Chat | Protocol::Responses | Protocol::Embeddings),
            Self::Gemini => protocol == Protocol::Gemini,
        }
    }

    /// Where an agent finds it.
    pub(crate) fn door(self) -> &'static str {
        match self {
            Self::Anthropic => Protocol::Messages.door(),
            Self::OpenAi | Self::Scripted => Protocol::Chat.door(),
            Self::Gemini => Protocol::Gemini.door(),
        }
    }
}

/// A key. It is not shown by `Debug` and is overwritten when dropped.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text itself, for a program that is given its own login.
    #[must_use]
    pub fn hand_over(&self) -> String {
        self.0.clone()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        let mut bytes = std::mem::take(&mut self.0).into_bytes();
        bytes.fill(0);
        // Keeps the compiler from dropping the writes: nobody reads the bytes afterwards.
        std::hint::black_box(&bytes);
    }
}

/// Why a grant cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    #[error("the grant of run `{run}` has visit 0; visits count from 1")]
    VisitZero { run: String },
    #[error("provider name `{0}` is empty or contains a slash; use a plain word such as `openai`")]
    BadProvider(String),
    #[error("provider `{0}` is granted twice; give each upstream its own provider name")]
    DuplicateProvider(String),
    #[error("base URL `{url}` of provider `{provider}` is not an http(s) address")]
    BadBaseUrl { provider: String, url: String },
    #[error("the key of provider `{0}` contains characters that cannot stand in an HTTP header")]
    BadKey(String),
    #[error("scripted provider `{0}` has no script; grant one with `Script::parse`")]
    NoScript(String),
    #[error(
        "provider `{0}` has no embeddings in the protocol of OpenAI; name a provider that has, or a server of your own"
    )]
    NoEmbeddings(String),
    #[error(transparent)]
    Search(#[from] SearchError),
    #[error("the log of the calls cannot be kept")]
    Log(#[source] std::io::Error),
    #[error(transparent)]
    Mcp(#[from] McpError),
    #[error("the HTTP client for provider `{provider}` could not be set up")]
    Client {
        provider: String,
        #[source]
        source: reqwest::Error,
    },
}

impl Grant {
    /// Checks what can be checked without opening a connection.
    pub(crate) fn check(&self) -> Result<(), GrantError> {
        if self.visit == 0 {
            let run = self.run.clone();
            return Err(GrantError::VisitZero { run });
        }
        let mut seen = HashSet::new();
        for upstream in &self.upstreams {
            let provider = &upstream.provider;
            if provider.is_empty() || provider.contains('/') {
                return Err(GrantError::BadProvider(provider.clone()));
            }
            let script = match (upstream.kind, &upstream.script) {
                (UpstreamKind::Scripted, None) => {
                    return Err(GrantError::NoScript(provider.clone()));
                }
                (UpstreamKind::Scripted, Some(script)) => Some(script.name()),
                (UpstreamKind::Anthropic | UpstreamKind::OpenAi | UpstreamKind::Gemini, _) => None,
            };
            if !seen.insert((provider.as_str(), script)) {
                return Err(GrantError::DuplicateProvider(provider.clone()));
            }
        }
        self.embeddings.as_ref().map_or(Ok(()), EmbeddingsGrant::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(provider: &str) -> Upstream {
        Upstream {
            provider: provider.into(),
            kind: UpstreamKind::OpenAi,
            base_url: "http://127.0.0.1:1".into(),
            key: Secret::new("sk-very-secret"),
            script: None,
            prices: Vec::new(),
            models: Vec::new(),
            hosted: HostedFeatures::default(),
            limits: Limits::default(),
        }
    }

    fn grant(upstreams: Vec<Upstream>) -> Grant {
        Grant {
            run: "r1".into(),
            attempt: "a1".into(),
            role: "coder".into(),
            visit: 1,
            upstreams,
            limit: None,
            ask_after: None,
            purses: Vec::new(),
            purses_folder: None,
            retry: RetryPolicy::default(),
            max_calls: None,
            search: None,
            embeddings: None,
            mcp: Vec::new(),
            direct: None,
            limits_folder: None,
        }
    }

    #[test]
    fn debug_of_a_grant_shows_no_key() {
        let shown = format!("{:?}", grant(vec![upstream("openai")]));
        assert!(!shown.contains("very-secret"), "{shown}");
        assert!(shown.contains("[key]"), "{shown}");
    }

    #[test]
    fn a_grant_survives_the_pipe_with_its_key() {
        let json = serde_json::to_string(&grant(vec![upstream("openai")])).unwrap();
        let back: Grant = serde_json::from_str(&json).unwrap();
        assert_eq!(back.upstreams[0].key.expose(), "sk-very-secret");
        assert_eq!(back.retry, RetryPolicy::default());
    }

    #[test]
    fn a_provider_granted_twice_is_refused() {
        let error = grant(vec![upstream("openai"), upstream("openai")]).check().unwrap_err();
        assert!(matches!(error, GrantError::DuplicateProvider(name) if name == "openai"));
    }

    #[test]
    fn a_scripted_provider_needs_a_script() {
        let mut scripted = upstream("scripted");
        scripted.kind = UpstreamKind::Scripted;
        let error = grant(vec![scripted]).check().unwrap_err();
        assert!(matches!(error, GrantError::NoScript(_)));
    }

    #[test]
    fn visit_zero_is_refused() {
        let mut grant = grant(vec![]);
        grant.visit = 0;
        assert!(matches!(grant.check(), Err(GrantError::VisitZero { .. })));
    }
}
