//! `decide`: any decision a hold takes.

use std::{io::Read as _, path::PathBuf};

use clap::Args;
use wire::{DecideRequest, ExitCode, HoldView};

use super::{asking, bind, decided, held, plan, review::review};
use crate::{ask, client::Client, editor::Draft, failure::Failure, session::Session};

/// A plan longer than this is refused by the server too.
const LONGEST: u64 = 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// One of the words the hold allows, e.g. retry, accept_anyway, modify_plan, resolve
    decision: String,
    /// Notes, feedback, question, guidance or reason
    #[arg(long)]
    text: Option<String>,
    /// The same from a file, e.g. the plan for `modify_plan`; `-` reads standard input
    #[arg(long, value_name = "PATH", conflicts_with_all = ["text", "edit"])]
    file: Option<PathBuf>,
    /// For `modify_plan`: change what is shown in your editor
    #[arg(long, conflicts_with = "text")]
    edit: bool,
    /// For `extend`: how many more minutes
    #[arg(long)]
    minutes: Option<u32>,
    /// For `raise`: how many more dollars
    #[arg(long)]
    usd: Option<f64>,
    /// For `retry`: another model for the role, from now on
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
    /// For `answer`: the answer, or an option by number or text (repeatable)
    #[arg(long)]
    answer: Vec<String>,
    /// Decide only on what has this digest
    #[arg(long)]
    digest: Option<String>,
    /// Do not ask on a terminal; the list of files is printed all the same
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let held = held(&client, &arguments.run, session).await?;
    let decision = arguments.decision.to_lowercase().replace('-', "_");
    if !held.allowed.contains(&decision) {
        let hint = format!("it takes: {}", held.allowed.join(", "));
        return Err(Failure::usage(format!("this hold does not take `{decision}`"), hint));
    }
    review(&client, &held, &decision, asking(arguments.yes), session).await?;
    let answer = match arguments.answer.as_slice() {
        [] => None,
        words => Some(ask::resolve(&held, words)?),
    };
    let text = match (&arguments.file, arguments.edit) {
        (Some(path), _) => Some(read(path)?),
        (None, true) => Some(edited(&client, &held, session).await?),
        (None, false) => arguments.text.clone(),
    };
    let request = DecideRequest {
        digest: bind(&held, arguments.digest),
        text,
        minutes: arguments.minutes,
        usd: arguments.usd,
        model: arguments.model,
        answer,
        ..ask::request(&held, &decision)
    };
    let run = client.decide(&held.run, &request).await?;
    if arguments.edit {
        draft(&held, session).drop();
    }
    Ok(decided(&run, "decided", session))
}

/// What the person made of what a hold shows.
pub(crate) async fn edited(client: &Client, held: &HoldView, session: &Session) -> Result<String, Failure> {
    let run = client.run(&held.run).await?;
    let text = plan::text(client, &run).await?;
    let draft = draft(held, session);
    let edited = tokio::task::spawn_blocking(move || draft.edit(&text)).await;
    let edited = edited.map_err(|error| Failure::failed("editor", error.to_string(), "try again"))??;
    edited.ok_or_else(|| Failure::usage("nothing was changed", "approve it as it is, or change something"))
}

/// What the person has made so far of what a hold shows.
pub(crate) fn draft(held: &HoldView, session: &Session) -> Draft {
    let is_plan = held.artifact.as_ref().is_some_and(|made| made.kind == "plan");
    Draft::of(&session.home, &held.id, if is_plan { "json" } else { "md" })
}

pub(super) fn read(path: &std::path::Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(LONGEST + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text))
    };
    read.map_err(|error| {
        Failure::usage(format!("cannot read `{}` as text: {error}", path.display()), "give the path of a text file")
    })?;
    Ok(text)
}
