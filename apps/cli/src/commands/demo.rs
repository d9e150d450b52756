//! `demo`: the whole story on a sample repository, with a scripted model and the real product.

use std::path::PathBuf;

use clap::Args;
use wire::ExitCode;

use super::run::programs;
use crate::{
    demo::{self, Answers},
    failure::Failure,
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder for the sample repository and its data; an older demo there is replaced
    #[arg(long, value_name = "PATH", default_value = ".demo")]
    dir: PathBuf,
    /// Answer everything with yes or the first option
    #[arg(long, short)]
    yes: bool,
    /// Program that plays a role, e.g. implementer=codex, or one for all roles (repeatable)
    #[arg(long, value_name = "[ROLE=]AGENT")]
    agent: Vec<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let answers = if arguments.yes { Answers::FirstOption } else { Answers::PersonIfPresent };
    Box::pin(demo::run(&arguments.dir, answers, programs(&arguments.agent), session)).await
}
