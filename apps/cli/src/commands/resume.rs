//! `resume`: lets a paused run go on.

use clap::Args;
use wire::{ExitCode, ResumeRequest};

use super::{bind, decided, held};
use crate::{failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Resume only from the pause with this digest
    #[arg(long)]
    digest: Option<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let held = held(&client, &arguments.run, session).await?;
    let request = ResumeRequest { digest: Some(bind(&held, arguments.digest)) };
    let run = client.resume(&held.run, &request).await?;
    Ok(decided(&run, "it goes on", session))
}
