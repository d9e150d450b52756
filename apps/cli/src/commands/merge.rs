//! `merge`: what a run shows goes into its base branch.

use clap::Args;
use wire::{ExitCode, WayOutRequest};

use super::{asking, bind, decided, held, review::review};
use crate::{failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    pub(super) run: String,
    /// Only what has this digest
    #[arg(long)]
    pub(super) digest: Option<String>,
    /// Do not ask on a terminal; the list of files is printed all the same
    #[arg(long, short)]
    pub(super) yes: bool,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let (run, request) = shown(&client, arguments, "approve", session).await?;
    let run = client.merge(&run, &request).await?;
    Ok(decided(&run, "it is being merged", session))
}

/// What the person sees is what the wish is bound to. The server says why a run that waits for nobody cannot go.
pub(super) async fn shown(
    client: &crate::client::Client,
    arguments: Arguments,
    decision: &str,
    session: &Session,
) -> Result<(String, WayOutRequest), Failure> {
    let run = client.run(&arguments.run).await?;
    if run.hold.is_none() {
        return Ok((run.id, WayOutRequest { digest: arguments.digest.unwrap_or_default() }));
    }
    let held = held(client, &run.id, session).await?;
    review(client, &held, decision, asking(arguments.yes), session).await?;
    Ok((held.run.clone(), WayOutRequest { digest: bind(&held, arguments.digest) }))
}
