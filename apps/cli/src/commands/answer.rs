//! `answer`: to an agent's question; options by number or by text.

use std::path::PathBuf;

use clap::Args;
use wire::{AnswerRequest, ExitCode};

use super::{bind, decided, held};
use crate::{ask, failure::Failure, session::Session};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// The answer; for choices the number or the text of an option
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    answer: Vec<String>,
    /// Answer with a file
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Answer only the question with this digest
    #[arg(long)]
    digest: Option<String>,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let held = held(&client, &arguments.run, session).await?;
    if held.question.is_none() {
        let hint = format!("it takes: {}", held.allowed.join(", "));
        return Err(Failure::usage("the run does not ask anything", hint));
    }
    let answer = match &arguments.file {
        Some(path) => ask::file_answer(path)?,
        None => ask::resolve(&held, &arguments.answer)?,
    };
    let request = AnswerRequest { answer, digest: Some(bind(&held, arguments.digest)) };
    let run = client.answer(&held.id, &request).await?;
    Ok(decided(&run, "answered", session))
}
