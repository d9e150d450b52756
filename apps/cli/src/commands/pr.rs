//! `pr`: what a run shows is pushed and offered as a pull request.

use wire::ExitCode;

use super::{decided, merge};
use crate::{failure::Failure, session::Session};

pub(super) async fn run(arguments: merge::Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let (run, request) = merge::shown(&client, arguments, "create_pr", session).await?;
    let run = client.pull_request(&run, &request).await?;
    Ok(decided(&run, "it is being pushed for a pull request", session))
}
