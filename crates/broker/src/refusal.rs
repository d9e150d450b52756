//! Why the gateway itself answers instead of a model. Each refusal knows its HTTP status, its
//! code, and what the log calls it; the words are for the person who reads the agent's output.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde_json::json;

use crate::calls::Outcome;
use crate::money::Shortfall;
use crate::protocol::Protocol;
use crate::purses::{Mark, Purse, Shortage};

/// Whether an upstream may charge for a call that has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Billing {
    Possible,
    None,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the request body is larger than {limit_mib} MiB; send less context")]
    BodyTooLarge { limit_mib: usize },
    #[error("the request has more than {most} values; send less context")]
    TooManyValues { most: usize },
    #[error("the request body could not be read: {0}")]
    BodyUnreadable(String),
    #[error("the request body is not a JSON object: {0}")]
    NotJson(String),
    #[error("the request names no model; set `model` to `provider/model`")]
    NoModel,
    #[error("`{0}` is not answered here; use generateContent, streamGenerateContent or countTokens")]
    NoAction(String),
    #[error("no embeddings are set up here; look for the words themselves")]
    NoEmbeddings,
    #[error("{0}")]
    BadTexts(String),
    #[error("{0}; providers read such a value in different ways")]
    BadField(String),
    #[error("background responses are not metered here; send the request without `background`")]
    Background,
    #[error(
        "`{0}` is a tool that the provider runs, and not passed on; use a tool of your own, or add it to `hosted_tools` \
         of the provider in config.toml"
    )]
    HostedTool(String),
    #[error(
        "{0}, so the provider would get it from elsewhere; this is not passed on: put the content itself into the request"
    )]
    OutsideContent(String),
    #[error(
        "model `{model}` of provider `{provider}` is not granted to this role (granted: {granted}); \
         choose a granted model or add it to the role's models"
    )]
    ModelNotGranted { provider: String, model: String, granted: String },
    #[error("requests of this attempt already hold all of its memory, and none ended in time; ask again later")]
    Crowded,
    #[error(
        "provider `{provider}` is not granted to this run (granted: {granted}); \
         choose a granted model or add the provider to the configuration"
    )]
    ProviderNotGranted { provider: String, granted: String },
    #[error("script `{name}` is not granted to this run (granted: {granted})")]
    ScriptNotGranted { name: String, granted: String },
    #[error(
        "no granted provider speaks the protocol of {door} (granted: {granted}); \
         name the model as `provider/model` and use the door of that provider"
    )]
    NoUpstream { door: &'static str, granted: String },
    #[error("provider `{provider}` does not speak the protocol of {door}; use {other}")]
    WrongDoor { provider: String, door: &'static str, other: &'static str },
    #[error("{}", shortfall(.model, .why))]
    Shortfall { model: String, why: Shortfall },
    #[error("what all runs spend together could not be counted, so the call was not made: {0}")]
    Purses(String),
    #[error("the call could not be recorded, so it was not made: {0}; check the disk")]
    LogFailed(String),
    #[error("nothing answers {method} {path} here")]
    NoRoute { method: String, path: String },
    #[error("the attempt is over; no more model calls are made for it")]
    Closing,
    #[error("`{provider}` could not be reached after {tries} tries: {cause}")]
    Unreachable { provider: String, tries: u32, cause: String, billing: Billing },
    #[error("`{provider}` sent no answer within {millis} ms, {tries} times")]
    TimedOut { provider: String, tries: u32, millis: u64 },
    #[error("{}", spent(.provider, .said, .resets_at))]
    Quota { provider: String, said: String, resets_at: Option<Timestamp> },
    #[error("the limits of provider `{provider}` could not be kept, so the call was not made: {cause}")]
    Turnstile { provider: String, cause: String },
    #[error("script `{script}` has no conversation for role `{role}`, visit {visit}")]
    NoConversation { script: String, role: String, visit: u32 },
}

fn spent(provider: &str, said: &str, resets_at: &Option<Timestamp>) -> String {
    match resets_at {
        Some(at) => format!("the usage window of `{provider}` is spent until {at}: {said}"),
        None => format!("the quota of `{provider}` is spent: {said}"),
    }
}

fn limit_of(purse: Purse) -> &'static str {
    match purse {
        Purse::Run => "spend limit",
        Purse::Project => "project's spend limit for the month",
        Purse::Day => "spend limit for the day",
    }
}

fn shortfall(model: &str, why: &Shortfall) -> String {
    match why {
        Shortfall::Money { purse, limit, spent, reserved, needed, .. } => format!(
            "the {} of {limit} does not cover this call to `{model}`: spent {spent}, \
             reserved by calls in flight {reserved}, needed {needed}; {}",
            limit_of(*purse),
            match purse {
                Purse::Run => "raise the budget of the run to go on",
                Purse::Project | Purse::Day => "raise it for this run, or wait for the next one",
            }
        ),
        Shortfall::Ask { purse, limit, spent, .. } => {
            let of = limit.map(|limit| format!(" of {limit}")).unwrap_or_default();
            let limit = limit_of(*purse);
            format!("{spent} of the {limit}{of} are spent; the next call to `{model}` waits for a yes")
        }
        Shortfall::PriceUnknown { limit } => format!(
            "the price of `{model}` is unknown, so the spend limit of {limit} cannot be kept; \
             add the price to the price table or remove the limit"
        ),
        Shortfall::Calls { max } => {
            format!("the limit of {max} model calls for this attempt is used up")
        }
    }
}

impl Shortfall {
    /// Which limit it was, where it is one of money.
    pub(crate) fn shortage(&self) -> Option<Shortage> {
        match self {
            Self::Money { purse, resets_at, .. } => {
                Some(Shortage { purse: *purse, mark: Mark::Limit, resets_at: *resets_at })
            }
            Self::Ask { purse, resets_at, .. } => {
                Some(Shortage { purse: *purse, mark: Mark::Ask, resets_at: *resets_at })
            }
            Self::PriceUnknown { .. } | Self::Calls { .. } => None,
        }
    }
}

impl Refusal {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::BodyTooLarge { .. } | Self::TooManyValues { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyUnreadable(_)
            | Self::NotJson(_)
            | Self::NoModel
            | Self::Background
            | Self::BadTexts(_)
            | Self::BadField(_)
            | Self::WrongDoor { .. }
            | Self::NoUpstream { .. }
            | Self::NoConversation { .. } => StatusCode::BAD_REQUEST,
            Self::ProviderNotGranted { .. }
            | Self::ScriptNotGranted { .. }
            | Self::ModelNotGranted { .. }
            | Self::HostedTool(_)
            | Self::OutsideContent(_) => StatusCode::FORBIDDEN,
            Self::Shortfall { .. } => StatusCode::PAYMENT_REQUIRED,
            Self::Quota { .. } | Self::Crowded => StatusCode::TOO_MANY_REQUESTS,
            Self::LogFailed(_) | Self::Purses(_) | Self::Turnstile { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NoRoute { .. } | Self::NoAction(_) | Self::NoEmbeddings => StatusCode::NOT_FOUND,
            Self::Closing => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreachable { .. } => StatusCode::BAD_GATEWAY,
            Self::TimedOut { .. } => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::BodyTooLarge { .. } | Self::TooManyValues { .. } => "request_too_large",
            Self::BodyUnreadable(_)
            | Self::NotJson(_)
            | Self::NoModel
            | Self::Background
            | Self::BadTexts(_)
            | Self::BadField(_) => "invalid_request_error",
            Self::ProviderNotGranted { .. }
            | Self::ScriptNotGranted { .. }
            | Self::ModelNotGranted { .. }
            | Self::NoUpstream { .. } => "holdpoint_model_not_granted",
            Self::HostedTool(_) | Self::OutsideContent(_) => "holdpoint_not_passed_on",
            Self::Crowded => "holdpoint_crowded",
            Self::WrongDoor { .. } => "holdpoint_wrong_door",
            Self::Shortfall { why, .. } => match why {
                Shortfall::Money { .. } | Shortfall::Ask { .. } => "holdpoint_budget",
                Shortfall::PriceUnknown { .. } => "holdpoint_price_unknown",
                Shortfall::Calls { .. } => "holdpoint_call_limit",
            },
            Self::Quota { .. } => "holdpoint_quota",
            Self::Turnstile { .. } | Self::Purses(_) => "holdpoint_limits",
            Self::LogFailed(_) => "holdpoint_log",
            Self::NoRoute { .. } | Self::NoAction(_) | Self::NoEmbeddings => "not_found_error",
            Self::Closing => "holdpoint_closing",
            Self::Unreachable { .. } => "holdpoint_unreachable",
            Self::TimedOut { .. } => "holdpoint_timeout",
            Self::NoConversation { .. } => "holdpoint_no_conversation",
        }
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match self {
            Self::Shortfall { why, .. } => match why {
                Shortfall::Money { .. } | Shortfall::Ask { .. } => Outcome::Budget,
                Shortfall::PriceUnknown { .. } => Outcome::PriceUnknown,
                Shortfall::Calls { .. } => Outcome::CallLimit,
            },
            Self::Unreachable { .. } | Self::TimedOut { .. } | Self::NoConversation { .. } => Outcome::Error,
            Self::Closing => Outcome::Abandoned,
            Self::Quota { .. } => Outcome::Quota,
            Self::BodyTooLarge { .. }
            | Self::TooManyValues { .. }
            | Self::BodyUnreadable(_)
            | Self::NotJson(_)
            | Self::NoModel
            | Self::NoAction(_)
            | Self::NoEmbeddings
            | Self::BadTexts(_)
            | Self::BadField(_)
            | Self::Background
            | Self::ProviderNotGranted { .. }
            | Self::ScriptNotGranted { .. }
            | Self::ModelNotGranted { .. }
            | Self::HostedTool(_)
            | Self::OutsideContent(_)
            | Self::Crowded
            | Self::NoUpstream { .. }
            | Self::WrongDoor { .. }
            | Self::LogFailed(_)
            | Self::Purses(_)
            | Self::Turnstile { .. }
            | Self::NoRoute { .. } => Outcome::Refused,
        }
    }

    /// A request that was sent and not answered may have been worked on.
    pub(crate) fn billing(&self) -> Billing {
        match self {
            Self::TimedOut { .. } | Self::Closing => Billing::Possible,
            Self::Unreachable { billing, .. } => *billing,
            _ => Billing::None,
        }
    }

    /// When another call can work, if the provider said so or a limit begins anew.
    pub(crate) fn resets_at(&self) -> Option<Timestamp> {
        match self {
            Self::Quota { resets_at, .. } => *resets_at,
            _ => self.shortage().and_then(|shortage| shortage.resets_at),
        }
    }

    /// Which limit it was, of a call there is no money for.
    pub(crate) fn shortage(&self) -> Option<Shortage> {
        let Self::Shortfall { why, .. } = self else { return None };
        why.shortage()
    }

    pub(crate) fn into_response(self, protocol: Protocol) -> Response {
        let status = self.status();
        let mut body = protocol.error(status.as_u16(), self.code(), &self.to_string());
        if let Some(at) = self.resets_at() {
            body["error"]["resets_at"] = json!(at);
        }
        if let Some(shortage) = self.shortage() {
            body["error"]["shortage"] = json!(shortage);
        }
        let json = [(header::CONTENT_TYPE, "application/json")];
        let mut response = (status, json, body.to_string()).into_response();
        if let Self::Quota { resets_at, .. } = self {
            let headers = response.headers_mut();
            // The clients of the big providers honour it; asking again would only be refused again.
            headers.insert(HeaderName::from_static("x-should-retry"), HeaderValue::from_static("false"));
            let wait = resets_at.map(|at| at.duration_since(Timestamp::now()).as_secs().max(1));
            headers.extend(wait.map(|seconds| (header::RETRY_AFTER, HeaderValue::from(seconds))));
        }
        response
    }
}
