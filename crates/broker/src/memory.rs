//! Memory bound of one gateway: request bodies in flight together stay below a limit, later ones queue. A body holds its
//! share from before it is read until it was sent on.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refusal::Refusal;

const MIB: usize = 1024 * 1024;
/// The largest body.
const BODY_LIMIT: usize = 32 * MIB;
/// All bodies together.
const IN_FLIGHT: usize = 2 * BODY_LIMIT;
/// Lists, objects and their members. A model's whole context in small messages has some thousands; a body of nothing but
/// `[0,0,…]` would take sixteen times its size.
const MOST_VALUES: usize = 1_000_000;
/// How long a body may take to come, and how long it waits for others to go.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Memory(Arc<Semaphore>);

/// The share of one body; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    _permit: OwnedSemaphorePermit,
}

impl Default for Memory {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(IN_FLIGHT / 1024)))
    }
}

impl Memory {
    /// Reads a body once there is room for it.
    pub(crate) async fn read(&self, headers: &HeaderMap, body: Body) -> Result<(Bytes, Share), Refusal> {
        let said = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        // A body of unknown length may be as long as any.
        let size = said.unwrap_or(BODY_LIMIT);
        if size > BODY_LIMIT {
            return Err(Refusal::BodyTooLarge { limit_mib: BODY_LIMIT / MIB });
        }
        let share = self.share(size).await?;
        let read = tokio::time::timeout(PATIENCE, to_bytes(body, BODY_LIMIT)).await;
        let read = read.map_err(|_| {
            Refusal::BodyUnreadable(format!("it was not complete within {} seconds", PATIENCE.as_secs()))
        })?;
        let bytes = read.map_err(|error| refused(&error))?;
        if has_too_many_values(&bytes) {
            return Err(Refusal::TooManyValues { most: MOST_VALUES });
        }
        Ok((bytes, share))
    }

    async fn share(&self, size: usize) -> Result<Share, Refusal> {
        let kib = u32::try_from(size.div_ceil(1024).max(1)).unwrap_or(u32::MAX);
        let permit = tokio::time::timeout(PATIENCE, Arc::clone(&self.0).acquire_many_owned(kib)).await;
        let permit = permit.map_err(|_| Refusal::Crowded)?;
        // Nobody closes it.
        permit.map(|permit| Share { _permit: permit }).map_err(|_| Refusal::Closing)
    }
}

fn refused(error: &axum::Error) -> Refusal {
    // axum names the limit only in the text of the cause.
    let cause = std::error::Error::source(error).map(ToString::to_string);
    if cause.is_some_and(|cause| cause.contains("length limit")) {
        return Refusal::BodyTooLarge { limit_mib: BODY_LIMIT / MIB };
    }
    Refusal::BodyUnreadable(error.to_string())
}

/// Counts what a parser would make values of, without making any.
fn has_too_many_values(json: &[u8]) -> bool {
    let (mut values, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
    }
    values > MOST_VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_finds_no_room_waits_and_is_refused_in_the_end() {
        let memory = Memory::default();
        let first = memory.share(BODY_LIMIT).await.unwrap();
        let _second = memory.share(BODY_LIMIT).await.unwrap();
        assert!(matches!(memory.share(1).await, Err(Refusal::Crowded)));
        drop(first);
        memory.share(BODY_LIMIT).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_comes_gives_its_room_back() {
        let memory = Memory::default();
        for _ in 0..3 {
            let body = Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>());
            let read = memory.read(&HeaderMap::new(), body).await;
            assert!(matches!(read, Err(Refusal::BodyUnreadable(_))), "{read:?}");
        }
        memory.share(IN_FLIGHT).await.unwrap();
    }

    #[test]
    fn text_does_not_count_as_values() {
        let many = "0,".repeat(MOST_VALUES + 1);
        assert!(has_too_many_values(format!("[{many}0]").as_bytes()));
        assert!(!has_too_many_values(format!("[\"\\\"{many}0\"]").as_bytes()));
    }
}
