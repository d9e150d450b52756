//! `overturn`: says that an assumption was wrong; the run goes back to the stage that used it.

use clap::Args;
use wire::{ExitCode, OverturnRequest};

use super::decided;
use crate::{failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Number of the assumption, as `holdpoint show` tells it
    number: u32,
    /// What is right
    #[arg(required = true)]
    answer: Vec<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let request = OverturnRequest { assumption: arguments.number, answer: vec![arguments.answer.join(" ")] };
    let run = client.overturn(&arguments.run, &request).await?;
    Ok(decided(&run, "overturned", session))
}
