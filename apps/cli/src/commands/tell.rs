//! `tell`: says something to whoever works on a run.

use clap::Args;
use wire::{ExitCode, MessageRequest};

use super::decided;
use crate::{failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// What the agent at work, and those after it in this stage, shall know
    #[arg(required = true)]
    text: Vec<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let run = client.tell(&arguments.run, &MessageRequest { text: arguments.text.join(" ") }).await?;
    Ok(decided(&run, "told", session))
}
