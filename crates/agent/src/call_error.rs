//! Why a model call failed, by what the agent does about it.

use std::io;

use domain::Shortage;
use jiff::Timestamp;
use serde_json::Value;

use crate::shorten;

/// The code with which the broker says that a usage window is spent.
const QUOTA: &str = "holdpoint_quota";
/// Codes with which the broker says that the envelope grants no (more) calls.
const REFUSALS: [&str; 3] = ["holdpoint_budget", "holdpoint_price_unknown", "holdpoint_call_limit"];

/// A failed call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// Another try may work: a cut stream, a connection error, an error of the server.
    #[error("{0}")]
    Passing(String),
    /// Another try gives the same.
    #[error("{0}")]
    Lasting(String),
    /// The broker grants no money for the call.
    #[error("{reason}")]
    Budget { reason: String, shortage: Shortage },
    /// The provider's usage window is spent.
    #[error("{reason}")]
    Quota { reason: String, resets_at: Option<Timestamp> },
    /// The agent can no longer be heard.
    #[error("events cannot be written: {0}")]
    Events(#[from] io::Error),
}

impl From<genai::Error> for CallError {
    fn from(error: genai::Error) -> Self {
        match &error {
            genai::Error::HttpError { status, body, .. } => answered(status.as_u16(), body),
            genai::Error::WebStream { cause, error, .. } => match error.downcast_ref::<genai::Error>() {
                Some(genai::Error::HttpError { status, body, .. }) => answered(status.as_u16(), body),
                Some(_) | None => {
                    Self::Passing(format!("the connection to the broker failed: {}", deepest(error.as_ref(), cause)))
                }
            },
            genai::Error::ChatResponse { body, .. } => told(None, body, &body.to_string()),
            genai::Error::StreamParse { serde_error, .. } => {
                Self::Passing(format!("the answer is not what the API promises: {serde_error}"))
            }
            other => Self::Lasting(shorten::one_line(&other.to_string(), 500)),
        }
    }
}

fn answered(status: u16, body: &str) -> CallError {
    match serde_json::from_str::<Value>(body) {
        Ok(value) => told(Some(status), &value, body),
        Err(_) => by_status(Some(status), shorten::one_line(body, 500)),
    }
}

/// Both APIs put the words into `error.message`; an event within a stream may hold the error itself.
fn told(status: Option<u16>, value: &Value, body: &str) -> CallError {
    let message = value.pointer("/error/message").or_else(|| value.get("message")).and_then(Value::as_str);
    let message = message.map_or_else(|| shorten::one_line(body, 500), str::to_owned);
    let budget = REFUSALS.iter().any(|code| body.contains(code));
    if budget && matches!(status, None | Some(402)) {
        let shortage = value.pointer("/error/shortage").cloned().and_then(|said| serde_json::from_value(said).ok());
        return CallError::Budget { reason: message, shortage: shortage.unwrap_or_default() };
    }
    if status == Some(429) && body.contains(QUOTA) {
        let resets_at = value.pointer("/error/resets_at").and_then(Value::as_str);
        return CallError::Quota { reason: message, resets_at: resets_at.and_then(|at| at.parse().ok()) };
    }
    by_status(status, message)
}

fn by_status(status: Option<u16>, message: String) -> CallError {
    match status {
        // An error event within a begun answer: overload, a lost upstream.
        None => CallError::Passing(message),
        Some(code @ (408 | 429 | 500..)) => CallError::Passing(format!("{message} (HTTP {code})")),
        Some(code) => CallError::Lasting(format!("{message} (HTTP {code})")),
    }
}

/// The innermost cause says what happened; the outer ones only say where.
fn deepest(error: &(dyn std::error::Error + 'static), fallback: &str) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let words = cause.to_string();
    if words.is_empty() { fallback.to_owned() } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: CallError, kind: &str, words: &str) {
        let is = match &error {
            CallError::Passing(_) => "passing",
            CallError::Lasting(_) => "lasting",
            CallError::Budget { .. } => "budget",
            CallError::Quota { .. } => "quota",
            CallError::Events(_) => "events",
        };
        assert_eq!((is, error.to_string().as_str()), (kind, words));
    }

    #[test]
    fn the_status_and_the_code_decide() {
        let budget = r#"{"error":{"message":"spent 2 of 2 USD","code":"holdpoint_budget"}}"#;
        check(answered(402, budget), "budget", "spent 2 of 2 USD");
        let unknown = r#"{"type":"error","error":{"type":"holdpoint_price_unknown","message":"no price"}}"#;
        check(answered(402, unknown), "budget", "no price");
        check(answered(402, r#"{"error":{"message":"no calls","code":"holdpoint_call_limit"}}"#), "budget", "no calls");
        check(answered(402, r#"{"error":{"message":"pay your bill"}}"#), "lasting", "pay your bill (HTTP 402)");
        let asks = r#"{"error":{"message":"80 %","code":"holdpoint_budget","shortage":{"purse":"day","mark":"ask"}}}"#;
        let CallError::Budget { shortage, .. } = answered(402, asks) else { panic!() };
        assert_eq!((shortage.purse, shortage.mark), (domain::Purse::Day, domain::Mark::Ask));
        let quota =
            r#"{"error":{"code":429,"message":"spent","status":"holdpoint_quota","resets_at":"2026-01-01T05:00:00Z"}}"#;
        let CallError::Quota { resets_at, .. } = answered(429, quota) else { panic!() };
        assert_eq!(resets_at.unwrap().to_string(), "2026-01-01T05:00:00Z");
        check(answered(429, r#"{"error":{"message":"slow","code":"rate"}}"#), "passing", "slow (HTTP 429)");
        check(answered(401, "no\nkey"), "lasting", "no key (HTTP 401)");
        check(answered(503, r#"{"error":{"message":"busy"}}"#), "passing", "busy (HTTP 503)");
        check(answered(529, "{}"), "passing", "{} (HTTP 529)");
        let overloaded = serde_json::json!({"type": "error", "error": {"message": "Overloaded"}});
        check(told(None, &overloaded, "{}"), "passing", "Overloaded");
    }
}
