//! `tui`: inbox and runs on the whole terminal.

use std::io::IsTerminal as _;

use clap::Args;
use wire::ExitCode;

use crate::{attention::Attention, failure::Failure, report, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Tell the terminal when something new waits for you
    #[arg(long, value_enum)]
    notify: Option<Attention>,
}

pub(super) async fn run(arguments: &Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let hint = "use `holdpoint inbox`, `holdpoint list` and `holdpoint show RUN`, with --json for programs";
    if session.report.is_json() {
        return Err(Failure::usage("`holdpoint tui` is for people and prints no JSON", hint));
    }
    if !report::stdout_is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::usage("`holdpoint tui` needs a terminal, and this is none", hint));
    }
    Box::pin(crate::tui::run(&session.telling(arguments.notify))).await
}
