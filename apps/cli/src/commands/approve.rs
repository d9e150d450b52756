//! `approve`: yes, to exactly what is shown.

use clap::Args;
use wire::{ApproveRequest, ExitCode};

use super::{asking, bind, decided, held, review::review};
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
    /// Do not ask on a terminal; the list of files is printed all the same
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let held = held(&client, &arguments.run, session).await?;
    review(&client, &held, "approve", asking(arguments.yes), session).await?;
    let request = ApproveRequest { digest: bind(&held, arguments.digest), notes: arguments.notes };
    let run = client.approve(&held.run, &request).await?;
    Ok(decided(&run, "approved", session))
}
