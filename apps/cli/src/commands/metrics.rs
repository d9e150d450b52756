//! `metrics`: how runs went: success, time, money, decisions, iterations.

use clap::{Args, ValueEnum};
use wire::ExitCode;

use crate::{failure::Failure, report, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// So many weeks, this one included
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u16).range(1..=520))]
    weeks: u16,
    /// Only runs of this repository
    #[arg(long)]
    project: Option<String>,
    /// What the rows are
    #[arg(long, value_enum, default_value_t = By::Week)]
    by: By,
}

/// What the rows of the table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Week,
    Playbook,
    Model,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let view = client.metrics(arguments.weeks, arguments.project.as_deref()).await?;
    if session.report.is_json() {
        session.report.json(&view);
        return Ok(ExitCode::Done);
    }
    let rows = match arguments.by {
        By::Week => &view.weeks,
        By::Playbook => &view.playbooks,
        By::Model => &view.models,
    };
    session.report.data(&report::metrics::page(&view, rows, report::width()));
    Ok(ExitCode::Done)
}
