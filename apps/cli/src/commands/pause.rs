//! `pause`: lets a run wait.

use clap::Args;
use wire::{ExitCode, PauseRequest};

use crate::{failure::Failure, report::run::short, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Why
    #[arg(long)]
    reason: Option<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let request = PauseRequest { reason: arguments.reason };
    let run = session.connect().await?.pause(&arguments.run, &request).await?;
    if session.report.is_json() {
        session.report.json(&run);
    } else {
        let id = short(&run.id);
        let when = if run.status == "paused" { "paused" } else { "it pauses as soon as what is being done ends" };
        session.report.note(&format!("{when}; let it go on with `holdpoint resume {id}`"));
    }
    Ok(ExitCode::Done)
}
