//! `reject`: no, with what to change.

use clap::Args;
use wire::{ExitCode, RequestChanges};

use super::{bind, decided, held};
use crate::{failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// What to change
    #[arg(required = true)]
    feedback: Vec<String>,
    /// Reject only what has this digest
    #[arg(long)]
    digest: Option<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let held = held(&client, &arguments.run, session).await?;
    let request = RequestChanges { digest: bind(&held, arguments.digest), feedback: arguments.feedback.join(" ") };
    let run = client.request_changes(&held.run, &request).await?;
    Ok(decided(&run, "sent back", session))
}
