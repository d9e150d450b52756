//! The only binary: reads the command line, runs one command, ends with its exit code.

mod ask;
mod attention;
mod change;
mod client;
mod commands;
mod demo;
mod editor;
mod failure;
mod hidden;
mod home;
mod live;
mod log_writer;
mod mcp;
mod report;
mod screen;
mod session;
mod start;
mod telemetry;
mod tmux;
mod tui;
mod watch;

use clap::Parser as _;
use wire::ExitCode;

use crate::{
    commands::{AgentPart, Cli, Command},
    failure::Failure,
    report::{Format, Report},
    session::Session,
};

fn main() -> std::process::ExitCode {
    let mut cli = Cli::parse();
    // These must not have a runtime's threads around them, and their exit codes are not ours.
    match cli.command {
        Command::Shim => return hidden::shim(),
        Command::Inside { arguments } => return hidden::inside(arguments),
        Command::Agent(AgentPart::Work { session, door }) => return hidden::agent(session, &door),
        Command::Agent(AgentPart::Sit { session, door }) => return hidden::sit(session, &door),
        Command::Agent(AgentPart::Relay { session }) => return hidden::relay(&session),
        other => cli.command = other,
    }
    let report = Report { format: if cli.json { Format::Json } else { Format::Human } };
    let exit = run(cli, report).unwrap_or_else(|failure| {
        report.failure(&failure);
        failure.exit
    });
    std::process::ExitCode::from(exit.number())
}

fn run(cli: Cli, report: Report) -> Result<ExitCode, Failure> {
    match cli.command {
        Command::Completions(arguments) => Ok(commands::completions::run(&arguments, report)),
        command => {
            let runtime = tokio::runtime::Runtime::new().map_err(|error| {
                Failure::unavailable(
                    "runtime",
                    format!("cannot start: {error}"),
                    "check the limits on threads and files",
                )
            })?;
            let session = Session::new(report)?;
            runtime.block_on(Box::pin(commands::run(command, &session)))
        }
    }
}
