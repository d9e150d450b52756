//! `show`: one run.

use jiff::Timestamp;
use wire::ExitCode;

use super::OneRun;
use crate::{failure::Failure, report, session::Session};

pub(super) async fn run(arguments: &OneRun, session: &Session) -> Result<ExitCode, Failure> {
    let run = session.connect().await?.run(&arguments.run).await?;
    if session.report.is_json() {
        session.report.json(&run);
    } else {
        session.report.data(&report::run::show(&run, Timestamp::now(), report::width()));
    }
    Ok(ExitCode::Done)
}
