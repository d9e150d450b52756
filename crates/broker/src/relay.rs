//! Passes an answer on chunk by chunk while the tap reads along, and settles the call: that is
//! on disk before the chunk with the protocol's end mark leaves, so that no agent knows more than the log.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::sync::watch;

use crate::books::{Ending, OpenCall};
use crate::calls::Outcome;
use crate::gateway::until_closing;
use crate::http::{AnswerBody, BodyError, ScriptState};
use crate::strip::Strip;
use crate::tap::Tap;
use crate::turnstile::Pass;

pub(crate) struct Relay {
    pub(crate) call: OpenCall,
    pub(crate) tap: Tap,
    /// For a Chat stream whose agent did not ask for usage.
    pub(crate) strip: Option<Strip>,
    pub(crate) body: AnswerBody,
    pub(crate) status: u16,
    pub(crate) script: ScriptState,
    pub(crate) pass: Option<Pass>,
    pub(crate) idle: Duration,
    pub(crate) closing: watch::Receiver<bool>,
}

impl Relay {
    pub(crate) fn into_body(self) -> Body {
        let chunks = stream::unfold(Some(self), |relay| async move {
            let mut relay = relay?;
            match relay.next().await {
                Some(Ok(chunk)) => Some((Ok(chunk), Some(relay))),
                Some(Err(error)) => {
                    // The server flushes what it has when the body has nothing for a moment;
                    // without it the chunks before the break would be lost with it.
                    tokio::task::yield_now().await;
                    // Nothing follows: the agent sees the connection break.
                    Some((Err(error), None))
                }
                None => None,
            }
        });
        Body::from_stream(chunks)
    }

    async fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        let settled_before = self.call.is_settled();
        let next = self.read_next().await;
        if !settled_before && self.call.is_settled() {
            self.call.on_disk().await;
        }
        next
    }

    async fn read_next(&mut self) -> Option<Result<Bytes, BodyError>> {
        let chunk = tokio::select! {
            // The next chunk first: what has already come is still passed on.
            biased;
            chunk = tokio::time::timeout(self.idle, self.body.next()) => chunk,
            () = until_closing(&mut self.closing) => return self.fail(BodyError::Closing),
        };
        let Ok(chunk) = chunk else {
            let millis = u64::try_from(self.idle.as_millis()).unwrap_or(u64::MAX);
            return self.fail(BodyError::Stalled(millis));
        };
        match chunk {
            Some(Ok(chunk)) => {
                self.tap.feed(&chunk);
                if self.tap.ended() {
                    self.settle(self.tap.outcome());
                }
                Some(Ok(match &mut self.strip {
                    Some(strip) => strip.feed(&chunk),
                    None => chunk,
                }))
            }
            Some(Err(error)) => self.fail(error),
            None => {
                self.tap.finish();
                self.settle(self.tap.outcome());
                let rest = self.strip.take().map(|mut strip| strip.rest()).filter(|rest| !rest.is_empty());
                rest.map(Ok)
            }
        }
    }

    fn fail(&mut self, error: BodyError) -> Option<Result<Bytes, BodyError>> {
        self.settle(match error {
            BodyError::Cut(_) => Outcome::Cut,
            BodyError::Stalled(_) => Outcome::Stalled,
            BodyError::Closing => Outcome::Abandoned,
        });
        Some(Err(error))
    }

    fn settle(&mut self, outcome: Outcome) {
        self.pass = None;
        let outcome = match (outcome, self.script) {
            (Outcome::Ok, ScriptState::Over) => Outcome::ScriptOver,
            (outcome, ScriptState::Going | ScriptState::Over) => outcome,
        };
        let broken = matches!(
            outcome,
            Outcome::Cut | Outcome::Stalled | Outcome::Abandoned | Outcome::Malformed | Outcome::Error
        );
        let ending = if broken { Ending::Broken } else { Ending::Whole };
        let counted = self.call.count(self.tap.reported(), self.tap.text_bytes(), ending);
        self.call.settle(self.status, outcome, counted);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if !self.call.is_settled() {
            // Some clients leave once they know why the answer ended.
            self.settle(if self.tap.said_all() { self.tap.outcome() } else { Outcome::Abandoned });
        }
    }
}
