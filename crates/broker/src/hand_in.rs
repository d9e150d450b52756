//! What an agent's host hands in: taken here, outside the sandbox, from whoever knows the attempt's nonce. Only the host
//! does: everything else in the sandbox can reach this door too, and could write any file that the host can write.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::gateway::Gateway;

const NONCE: HeaderName = HeaderName::from_static("x-holdpoint-nonce");
const MOST_MIB: usize = 16;

/// Keeps what was handed in, durably.
pub type Keep = Box<dyn Fn(&[u8]) -> io::Result<()> + Send + Sync>;

/// Where one attempt hands in, once.
pub struct HandIns {
    nonce: String,
    keep: Keep,
    kept: Mutex<Option<Bytes>>,
}

/// Why something is not taken; the words go to the host.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("nothing is handed in here")]
    Nowhere,
    #[error("only the host of the agent hands in")]
    Stranger,
    #[error("what is handed in is JSON of at most {MOST_MIB} MiB")]
    Unreadable,
    #[error("something else was handed in before")]
    Twice,
    #[error("it could not be kept: {0}; check the disk")]
    NotKept(String),
}

impl HandIns {
    /// `nonce` is known to the host alone.
    #[must_use]
    pub fn new(nonce: String, keep: Keep) -> Self {
        Self { nonce, keep, kept: Mutex::default() }
    }

    fn knows(&self, said: &[u8]) -> bool {
        let nonce = self.nonce.as_bytes();
        // As long for every wrong one.
        let differs = nonce.iter().zip(said).fold(0, |differs, (ours, theirs)| differs | (ours ^ theirs));
        !nonce.is_empty() && nonce.len() == said.len() && differs == 0
    }

    /// May be said twice: an answer can be lost.
    fn take(&self, bytes: Bytes) -> Result<(), Refused> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(known) if *known == bytes => return Ok(()),
            Some(_) => return Err(Refused::Twice),
            None => {}
        }
        (self.keep)(&bytes).map_err(|error| Refused::NotKept(error.to_string()))?;
        *kept = Some(bytes);
        Ok(())
    }
}

/// `POST /handed-in`.
pub(crate) async fn door(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    match handed_in(&gateway, request).await {
        Ok(()) => axum::Json(json!({})).into_response(),
        Err(refused) => {
            let status = match refused {
                Refused::Nowhere => StatusCode::NOT_FOUND,
                Refused::Stranger => StatusCode::FORBIDDEN,
                Refused::Unreadable => StatusCode::BAD_REQUEST,
                Refused::Twice => StatusCode::CONFLICT,
                Refused::NotKept(_) => StatusCode::INTERNAL_SERVER_ERROR,
            };
            (status, axum::Json(json!({"error": {"message": refused.to_string()}}))).into_response()
        }
    }
}

async fn handed_in(gateway: &Arc<Gateway>, request: Request) -> Result<(), Refused> {
    let hand_ins = gateway.hand_ins.as_ref().ok_or(Refused::Nowhere)?;
    if !request.headers().get(NONCE).is_some_and(|said| hand_ins.knows(said.as_bytes())) {
        return Err(Refused::Stranger);
    }
    let bytes = to_bytes(request.into_body(), MOST_MIB << 20).await.map_err(|_| Refused::Unreadable)?;
    serde_json::from_slice::<Value>(&bytes).map_err(|_| Refused::Unreadable)?;
    let gateway = Arc::clone(gateway);
    let taken = tokio::task::spawn_blocking(move || match &gateway.hand_ins {
        Some(hand_ins) => hand_ins.take(bytes),
        None => Err(Refused::Nowhere),
    });
    taken.await.unwrap_or_else(|join| Err(Refused::NotKept(join.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_nonce_opens_and_the_first_word_stands() {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let inner = Arc::clone(&kept);
        let keep: Keep = Box::new(move |bytes| {
            inner.lock().unwrap().push(bytes.to_vec());
            Ok(())
        });
        let hand_ins = HandIns::new("abc".to_owned(), keep);
        for said in ["", "ab", "abd", "abcd", "Abc"] {
            assert!(!hand_ins.knows(said.as_bytes()), "{said}");
        }
        assert!(hand_ins.knows(b"abc"));
        assert!(!HandIns::new(String::new(), Box::new(|_| Ok(()))).knows(b""), "no nonce opens nothing");
        hand_ins.take(Bytes::from_static(b"1")).unwrap();
        hand_ins.take(Bytes::from_static(b"1")).unwrap();
        assert!(matches!(hand_ins.take(Bytes::from_static(b"2")), Err(Refused::Twice)));
        assert_eq!(*kept.lock().unwrap(), [b"1"]);
        let full = HandIns::new("abc".to_owned(), Box::new(|_| Err(io::ErrorKind::StorageFull.into())));
        assert!(matches!(full.take(Bytes::from_static(b"1")), Err(Refused::NotKept(_))));
    }
}
