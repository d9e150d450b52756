//! `tell`: says something to the agent at work.

use clap::Args;
use wire::{ExitCode, MessageRequest};

use crate::{failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// What to say; the agent hears it before its next turn
    text: String,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let request = MessageRequest { text: arguments.text };
    let told = session.connect().await?.tell(&arguments.run, &request).await?;
    if session.report.is_json() {
        session.report.json(&told);
    } else {
        session.report.note("said; the agent hears it before its next turn");
    }
    Ok(ExitCode::Done)
}
