//! `diff`: what a run changed.

use clap::Args;
use wire::ExitCode;

use crate::{
    failure::Failure,
    report::{self, table},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Only the changed files
    #[arg(long)]
    stat: bool,
}

pub(super) async fn run(arguments: &Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let diff = session.connect().await?.diff(&arguments.run).await?;
    let report = session.report;
    if report.is_json() {
        report.json(&diff);
    } else if arguments.stat {
        report.data(&table::diffstat(&diff.files, report::width()));
    } else if report::stdout_is_terminal() {
        report.data(&format!("{}\n\n{}", table::diffstat(&diff.files, report::width()), table::diff(&diff.diff)));
    } else {
        // As it is, so that `git apply` can read it.
        report.raw(&diff.diff);
    }
    if diff.truncated {
        report.note("the diff was cut because it is very long; the branch has all of it");
    }
    Ok(ExitCode::Done)
}
