//! `decide` and `cancel_run`. Whether the agent may is the server's to say: it knows the token. Nothing is decided here.

use wire::{CancelRequest, DecideRequest};

use super::asked::{CancelRun, Decide};
use super::face::Face;
use super::told::Run;
use super::tools::Told;

pub(super) async fn decide(face: &Face, asked: Decide) -> Told<Run> {
    let request = DecideRequest {
        decision: asked.decision.to_lowercase().replace('-', "_"),
        digest: asked.digest,
        hold: Some(asked.hold),
        text: asked.text,
        answer: asked.answer,
        minutes: asked.minutes,
        usd: asked.usd,
        model: asked.model,
    };
    Ok(Run::of(&face.client().await?.decide(&asked.run, &request).await?))
}

pub(super) async fn cancel_run(face: &Face, asked: CancelRun) -> Told<Run> {
    let request = CancelRequest { reason: asked.reason };
    Ok(Run::of(&face.client().await?.cancel(&asked.run, &request).await?))
}
