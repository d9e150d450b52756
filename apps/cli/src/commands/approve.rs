//! `approve`: yes, to exactly what is shown.

use clap::Args;
use wire::{ApproveRequest, ExitCode};

use super::{bind, decided, held};
use crate::{failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Notes for the next stage
    #[arg(long)]
    notes: Option<String>,
    /// Approve only what has this digest
    #[arg(long)]
    digest: Option<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let held = held(&client, &arguments.run, session).await?;
    let request = ApproveRequest { digest: bind(&held, arguments.digest), notes: arguments.notes };
    let run = client.approve(&held.run, &request).await?;
    Ok(decided(&run, "approved", session))
}
