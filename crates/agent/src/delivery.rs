//! Handing in: over the broker's socket, by a nonce that only this process knows. Whatever it starts runs as the same user
//! in the same sandbox: it can write every file this process can write, and can reach the socket, but it does not know
//! the nonce.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

use drivers::HandIn;
use rustix::process::{DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal};
use serde_json::Value;

use crate::model::SOCKET;

const PATIENCE: Duration = Duration::from_secs(60);
/// The same may be said again: an answer can be lost.
const TRIES: u32 = 3;
/// Bytes of a nonce, and more.
const LONGEST: u64 = 1024;

/// By what an attempt hands in. Shown to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Nonce(String);

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Nonce(…)")
    }
}

impl Nonce {
    /// From its text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Closes this process to what it will start (its memory, descriptors and environment), and reads the nonce from
    /// standard input. Before anything else is started.
    ///
    /// # Errors
    /// When there is no standard input, or the process cannot be closed.
    pub fn receive() -> io::Result<Self> {
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        // One that is closed is not found by its environment, should the sandbox's own first process be killed.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        let mut text = String::new();
        io::stdin().lock().take(LONGEST).read_to_string(&mut text)?;
        Ok(Self::new(&text))
    }
}

/// Why nothing was handed in.
#[derive(Debug, thiserror::Error)]
#[error("the result could not be handed in: {0}")]
pub struct DeliveryError(String);

/// Hands in.
pub(crate) async fn deliver(door: &Path, nonce: &Nonce, hand_in: &HandIn) -> Result<(), DeliveryError> {
    let broker = reqwest::Client::builder().unix_socket(door.join(SOCKET)).no_proxy().tls_certs_only([]);
    let broker = broker.timeout(PATIENCE).build().map_err(|error| DeliveryError(error.to_string()))?;
    let bytes = serde_json::to_vec(hand_in).map_err(|error| DeliveryError(error.to_string()))?;
    let mut last = String::new();
    for _ in 0..TRIES {
        let request = broker.post("http://broker/handed-in").header("x-holdpoint-nonce", &nonce.0);
        match request.body(bytes.clone()).send().await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) => {
                let status = answer.status();
                let said: Value = answer.json().await.unwrap_or_default();
                last = said["error"]["message"].as_str().map_or_else(|| status.to_string(), str::to_owned);
                if status.is_client_error() {
                    break;
                }
            }
            Err(error) => last = error.to_string(),
        }
    }
    Err(DeliveryError(last))
}
