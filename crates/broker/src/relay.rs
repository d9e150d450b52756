//! Passes an answer on chunk by chunk while the tap reads along, and settles the call: before
//! the chunk with the protocol's end mark leaves, so that no agent knows more than the log.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::sync::watch;

use crate::books::{Counted, OpenCall};
use crate::calls::Outcome;
use crate::gateway::until_closing;
use crate::http::{AnswerBody, BodyError, ScriptState};
use crate::tap::Tap;

pub(crate) struct Relay {
    pub(crate) call: OpenCall,
    pub(crate) tap: Tap,
    pub(crate) body: AnswerBody,
    pub(crate) status: u16,
    pub(crate) script: ScriptState,
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
                Some(Ok(chunk))
            }
            Some(Err(error)) => self.fail(error),
            None => {
                self.tap.finish();
                self.settle(self.tap.outcome());
                None
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
        let outcome = match (outcome, self.script) {
            (Outcome::Ok, ScriptState::Over) => Outcome::ScriptOver,
            (outcome, ScriptState::Going | ScriptState::Over) => outcome,
        };
        let counted = match (self.tap.usage(), outcome) {
            // The last report of output tokens of a broken answer is older than its text.
            (Some(mut usage), Outcome::Cut | Outcome::Stalled | Outcome::Abandoned) => {
                usage.output = usage.output.max(self.tap.text_bytes().div_ceil(4));
                Counted::FromBytes(usage)
            }
            (Some(usage), _) => Counted::Reported(usage),
            (None, _) => self.call.count_bytes(self.tap.text_bytes()),
        };
        self.call.settle(self.status, outcome, counted);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        if !self.call.is_settled() {
            self.settle(Outcome::Abandoned);
        }
    }
}
