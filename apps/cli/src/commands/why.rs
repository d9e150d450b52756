//! `why`: what a run waits for.

use jiff::Timestamp;
use wire::ExitCode;

use super::OneRun;
use crate::{failure::Failure, report, session::Session};

pub(super) async fn run(arguments: &OneRun, session: &Session) -> Result<ExitCode, Failure> {
    let why = session.connect().await?.why(&arguments.run).await?;
    if session.report.is_json() {
        session.report.json(&why);
    } else {
        session.report.data(&report::run::why(&why, Timestamp::now()));
    }
    Ok(ExitCode::Done)
}
