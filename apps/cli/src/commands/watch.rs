//! `watch`: follows a run until it ends or needs a person.

use wire::ExitCode;

use super::OneRun;
use crate::{
    failure::Failure,
    session::Session,
    watch::{Decider, conclude, watch},
};

pub(super) async fn run(arguments: &OneRun, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let run = client.run(&arguments.run).await?;
    let run = watch(session, client, run, 0, Decider::present(session)).await?;
    Ok(conclude(session, &run))
}
