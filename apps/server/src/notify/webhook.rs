//! Sends one notice to one address. Follows no redirect, repeats nothing by itself, and reads nothing of the answer but
//! its status.

use std::time::Duration;

use jiff::Timestamp;
use reqwest::header::{CONTENT_TYPE, USER_AGENT};

use super::Webhook;
use super::sign::signature;

/// What a receiver is told beside the notice.
pub(super) struct Letter<'a> {
    pub(super) id: &'a str,
    pub(super) event: &'a str,
    pub(super) attempt: u32,
    pub(super) body: String,
}

/// One client for one destination: a connection is used again, and no other destination waits for it.
pub(super) fn client(webhook: &Webhook, patience: Duration) -> Result<reqwest::Client, String> {
    let builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .timeout(patience);
    let local = webhook.url.scheme() == "http";
    let builder = if local { builder.no_proxy() } else { builder };
    builder.build().map_err(|error| format!("no connection can be made: {error}"))
}

/// Sends it; the error is one line for people, without the address.
pub(super) async fn send(client: &reqwest::Client, webhook: &Webhook, letter: Letter<'_>) -> Result<(), String> {
    let timestamp = Timestamp::now().as_second();
    let signed = signature(&webhook.secret.hand_over(), timestamp, &letter.body);
    let sent = client
        .post(webhook.url.clone())
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("holdpoint/", env!("CARGO_PKG_VERSION")))
        .header("holdpoint-delivery", letter.id)
        .header("holdpoint-event", letter.event)
        .header("holdpoint-attempt", letter.attempt)
        .header("holdpoint-timestamp", timestamp)
        .header("holdpoint-signature", signed)
        .body(letter.body)
        .send()
        .await;
    let response = sent.map_err(|error| told(&error.without_url()))?;
    match response.status() {
        status if status.is_success() => Ok(()),
        status if status.is_redirection() => {
            Err(format!("it answered {} and wants to lead elsewhere, which is not followed", status.as_u16()))
        }
        status => Err(format!("it answered {}", status.as_u16())),
    }
}

fn told(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "it took too long to answer".to_owned();
    }
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let text: String = deepest.to_string().chars().filter(|c| !c.is_control()).take(200).collect();
    format!("it cannot be reached: {text}")
}
