//! `decide`: any decision a hold takes.

use clap::Args;
use wire::{DecideRequest, ExitCode};

use super::{bind, decided, held};
use crate::{ask, failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// One of the words the hold allows, e.g. retry, accept_anyway, extend
    decision: String,
    /// Notes, feedback, guidance or reason
    #[arg(long)]
    text: Option<String>,
    /// For `extend`: how many more minutes
    #[arg(long)]
    minutes: Option<u32>,
    /// For `raise`: how many more dollars
    #[arg(long)]
    usd: Option<f64>,
    /// For `answer`: the answer, or an option by number or text (repeatable)
    #[arg(long)]
    answer: Vec<String>,
    /// Decide only on what has this digest
    #[arg(long)]
    digest: Option<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let held = held(&client, &arguments.run, session).await?;
    let decision = arguments.decision.to_lowercase().replace('-', "_");
    if !held.allowed.contains(&decision) {
        let hint = format!("it takes: {}", held.allowed.join(", "));
        return Err(Failure::usage(format!("this hold does not take `{decision}`"), hint));
    }
    let answer = match arguments.answer.as_slice() {
        [] => None,
        words => Some(ask::resolve(&held, words)?),
    };
    let request = DecideRequest {
        digest: bind(&held, arguments.digest),
        text: arguments.text,
        minutes: arguments.minutes,
        usd: arguments.usd,
        answer,
        ..ask::request(&held, &decision)
    };
    let run = client.decide(&held.run, &request).await?;
    Ok(decided(&run, "decided", session))
}
