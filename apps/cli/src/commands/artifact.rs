//! `artifact`: what a run made, as a list or one in full.

use clap::Args;
use jiff::Timestamp;
use wire::ExitCode;

use crate::{
    failure::Failure,
    report::{self, markdown, table},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Number of the artifact; all are listed without it
    number: Option<usize>,
}

pub(super) async fn run(arguments: &Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let report = session.report;
    let Some(number) = arguments.number else {
        let artifacts = client.artifacts(&arguments.run).await?;
        if report.is_json() {
            report.json(&artifacts);
        } else {
            report.data(&table::artifacts(&artifacts, Timestamp::now(), report::width()));
        }
        return Ok(ExitCode::Done);
    };
    let content = client.artifact(&arguments.run, number).await?;
    if report.is_json() {
        report.json(&content);
    } else if !report::stdout_is_terminal() {
        report.raw(&content.content);
    } else if content.artifact.kind == "code" {
        report.data(&table::diff(&content.content));
    } else {
        report.data(&markdown::render(&content.content, &content.drawings, report::width()));
    }
    Ok(ExitCode::Done)
}
