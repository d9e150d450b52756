//! `inbox`: everything that waits for a person.

use jiff::Timestamp;
use wire::ExitCode;

use crate::{
    failure::Failure,
    report::{self, table},
    session::Session,
};

pub(super) async fn run(session: &Session) -> Result<ExitCode, Failure> {
    let holds = session.connect().await?.holds().await?;
    if session.report.is_json() {
        session.report.json(&holds);
    } else {
        session.report.data(&table::holds(&holds, Timestamp::now(), report::width()));
    }
    Ok(ExitCode::Done)
}
