//! `cancel`: ends a run.

use clap::Args;
use wire::{CancelRequest, ExitCode};

use crate::{failure::Failure, report, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Why
    reason: Vec<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let reason = Some(arguments.reason.join(" ")).filter(|reason| !reason.is_empty());
    let run = session.connect().await?.cancel(&arguments.run, &CancelRequest { reason }).await?;
    if session.report.is_json() {
        session.report.json(&run);
    } else {
        session.report.note(&format!("cancelled {}", report::run::short(&run.id)));
    }
    Ok(ExitCode::Done)
}
