//! Troubles a script can play in place of a turn, as real upstreams make them.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::http::{Answer, AnswerBody, BodyError, ScriptState};
use crate::protocol::Protocol;
use crate::request::{Ask, Streamed};

use super::reply::Reply;
use super::{answer, frames, play};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// How many tries of the turn get the fault before it answers.
    pub(crate) times: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum FaultKind {
    /// An error status, with the wait it asks for in seconds.
    Status { status: u16, retry_after: Option<f64> },
    /// Breaks off after some parts of the answer; by default after half of them.
    Cut { after: Option<usize> },
    /// Sends some parts (by default none), nothing for a while, and ends.
    Stall { after: usize, ms: u64 },
    /// Something that cannot be read as the protocol.
    Malformed,
    /// A proper answer without content.
    Empty,
}

impl FaultKind {
    /// As a script calls it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::Cut { .. } => "cut",
            Self::Stall { .. } => "stall",
            Self::Malformed => "malformed",
            Self::Empty => "empty",
        }
    }
}

impl Fault {
    pub(crate) fn answer(&self, ask: &Ask, reply: &Reply) -> Answer {
        let body = match &self.kind {
            FaultKind::Status { status, retry_after } => return rejection(ask.protocol, *status, *retry_after),
            FaultKind::Cut { after } => cut(ask, reply, *after),
            FaultKind::Stall { after, ms } => stall(ask, reply, *after, *ms),
            FaultKind::Malformed => malformed(ask, reply),
            FaultKind::Empty => play(frames(ask, &reply.emptied()), Duration::ZERO),
        };
        answer(ask, body, ScriptState::Going)
    }
}

fn rejection(protocol: Protocol, status: u16, retry_after: Option<f64>) -> Answer {
    let code = match status {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        408 => "timeout_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    };
    let mut headers = HeaderMap::new();
    let wait = retry_after.and_then(|wait| HeaderValue::from_str(&wait.to_string()).ok());
    if let Some(wait) = wait {
        headers.insert(header::RETRY_AFTER, wait);
    }
    let error = protocol.error(status, code, "the script plays this error");
    Answer {
        status,
        headers,
        body: play(vec![Bytes::from(error.to_string())], Duration::ZERO),
        script: ScriptState::Going,
        pass: None,
    }
}

/// At least one part is sent and one is missing, also of an answer that is one piece.
fn cut(ask: &Ask, reply: &Reply, after: Option<usize>) -> AnswerBody {
    let mut parts = frames(ask, reply);
    if let [whole] = parts.as_mut_slice() {
        let rest = whole.split_off(whole.len() / 2);
        parts.push(rest);
    }
    let keep = after.unwrap_or(parts.len() / 2).clamp(1, parts.len() - 1);
    parts.truncate(keep);
    let broken = stream::once(async {
        let cause = "the script breaks the connection".to_owned();
        Err(BodyError::Cut(cause))
    });
    play(parts, Duration::ZERO).chain(broken).boxed()
}

fn stall(ask: &Ask, reply: &Reply, after: usize, ms: u64) -> AnswerBody {
    let mut parts = frames(ask, reply);
    parts.truncate(after.min(parts.len().saturating_sub(1)));
    let silence = stream::once(tokio::time::sleep(Duration::from_millis(ms)));
    let nothing = silence.filter_map(|()| async { None });
    play(parts, Duration::ZERO).chain(nothing).boxed()
}

fn malformed(ask: &Ask, reply: &Reply) -> AnswerBody {
    let mut parts = frames(ask, reply);
    parts.truncate(parts.len() / 2);
    parts.push(Bytes::from_static(match ask.stream {
        Streamed::Yes => b"data: {\"type\":\"content_block_delta\",\"delta\":{\"te\n\n",
        Streamed::Array | Streamed::No => b"{\"id\":\"msg_0",
    }));
    play(parts, Duration::ZERO)
}
