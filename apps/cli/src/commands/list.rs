//! `list`: all runs.

use jiff::Timestamp;
use wire::ExitCode;

use crate::{
    failure::Failure,
    report::{self, table},
    session::Session,
};

pub(super) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let runs = session.connect().await?.runs().await?;
    if session.report.is_json() {
        session.report.json(&runs);
    } else {
        session.report.data(&table::runs(&runs, Timestamp::now(), report::width()));
    }
    Ok(ExitCode::Done)
}
