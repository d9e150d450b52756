//! `cost`: what a run spent, call by call.

use wire::ExitCode;

use super::OneRun;
use crate::{failure::Failure, report, session::Session};

pub(super) async fn run(arguments: &OneRun, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let calls = client.spend(&arguments.run).await?;
    if session.report.is_json() {
        session.report.json(&calls);
    } else {
        let run = client.run(&arguments.run).await?;
        session.report.data(&report::run::cost(&run, &calls, report::width()));
    }
    Ok(ExitCode::Done)
}
