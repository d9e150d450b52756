//! `watch`: follows a run until it ends or needs a person.

use clap::Args;
use wire::ExitCode;

use crate::{
    attention::Attention,
    failure::Failure,
    session::Session,
    watch::{Decider, conclude, watch},
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Tell the terminal when the run waits or ends
    #[arg(long, value_enum)]
    notify: Option<Attention>,
}

pub(super) async fn run(arguments: &Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let session = &session.telling(arguments.notify);
    let client = session.connect().await?;
    let run = client.run(&arguments.run).await?;
    let run = watch(session, client, run, 0, Decider::present(session)).await?;
    Ok(conclude(session, &run))
}
