//! `completions`: for the user's shell.

use clap::{Args, CommandFactory as _};
use wire::ExitCode;

use super::Cli;
use crate::report::Report;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Which shell
    shell: clap_complete::Shell,
}

pub(crate) fn run(arguments: &Arguments, report: Report) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "holdpoint", &mut script);
    report.raw(&String::from_utf8_lossy(&script));
    ExitCode::Done
}
