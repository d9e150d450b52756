//! `channel`: ask about the code of a repository, while runs go on.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use futures_util::StreamExt as _;
use serde_json::Value;
use tokio_tungstenite::tungstenite::Message;
use wire::{AskRequest, ChannelMessage, ChannelView, ExitCode, LiveName, NewChannel, QuestionView};

use super::run::project;
use crate::{
    client::Client,
    failure::Failure,
    live,
    report::{self, clean_line, markdown, talk, words::fit},
    session::Session,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Ask something and wait for the answer
    Ask(Ask),
    /// List the channels
    List,
    /// Show all that was said in a channel
    Show {
        /// Its id
        channel: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// What you want to know
    #[arg(required = true)]
    question: Vec<String>,
    /// Go on in this channel; else in the newest one about the repository
    #[arg(long, conflicts_with = "new")]
    channel: Option<String>,
    /// Begin a new channel
    #[arg(long)]
    new: bool,
    /// The git repository
    #[arg(long, value_name = "PATH", default_value = ".")]
    repo: PathBuf,
    /// Who answers
    #[arg(long, value_name = "PROVIDER/MODEL")]
    model: Option<String>,
}

pub(super) async fn run(action: Action, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    match action {
        Action::Ask(arguments) => ask(arguments, &client, session).await,
        Action::List => {
            let channels = client.channels().await?;
            match session.report.is_json() {
                true => session.report.json(&channels),
                false => session.report.data(&talk::channels(&channels, jiff::Timestamp::now(), report::width())),
            }
            Ok(ExitCode::Done)
        }
        Action::Show { channel } => {
            let channel = client.channel(&channel).await?;
            match session.report.is_json() {
                true => session.report.json(&channel),
                false => session.report.data(&talk::channel(&channel, report::width())),
            }
            Ok(ExitCode::Done)
        }
    }
}

async fn ask(arguments: Ask, client: &Client, session: &Session) -> Result<ExitCode, Failure> {
    let channel = chosen(&arguments, client).await?;
    let text = arguments.question.join(" ");
    let asked = client.ask_channel(&channel, &AskRequest { text, model: arguments.model }).await?;
    let question = answered(client, session, &channel, asked.number).await?;
    if session.report.is_json() {
        session.report.json(&question);
    } else if let Some(answer) = &question.answer {
        session.report.data(&markdown::render(answer, &[], report::width()));
        session.report.note(&talk::footer(&channel, &question));
    }
    match question.problem {
        None => Ok(ExitCode::Done),
        Some(problem) => {
            let hint = format!("ask again, or with another model: --channel {channel} --model provider/model");
            Err(Failure::failed("no_answer", clean_line(&problem), hint))
        }
    }
}

/// The channel that was named, the newest about the repository, or a new one.
async fn chosen(arguments: &Ask, client: &Client) -> Result<String, Failure> {
    if let Some(channel) = &arguments.channel {
        return Ok(client.channel(channel).await?.id);
    }
    let new =
        NewChannel { project: project(&arguments.repo)?, title: fit(&clean_line(&arguments.question.join(" ")), 60) };
    let known = match arguments.new {
        true => None,
        false => client.channels().await?.into_iter().find(|known| new.project.starts_with(&known.project)),
    };
    match known {
        Some(known) => Ok(known.id),
        None => Ok(client.open_channel(&new).await?.id),
    }
}

/// Follows the channel until the question is answered. Where it cannot be followed, it is asked again and again.
async fn answered(client: &Client, session: &Session, channel: &str, number: u32) -> Result<QuestionView, Failure> {
    let done = |view: &ChannelView| {
        view.questions.iter().find(|question| question.number == number && question.state != "open").cloned()
    };
    loop {
        if let Some(mut socket) = live::channel(client, channel).await {
            while let Some(Ok(message)) = socket.next().await {
                let Message::Text(text) = message else { continue };
                match serde_json::from_str::<ChannelMessage>(text.as_str()) {
                    Ok(ChannelMessage::Channel { channel }) => {
                        if let Some(question) = done(&channel) {
                            return Ok(question);
                        }
                    }
                    Ok(ChannelMessage::Activity { name: LiveName::TurnToolStarted, data, .. }) => note(session, &data),
                    // A message of a newer server that is not understood is no reason to stop.
                    Ok(ChannelMessage::Activity { .. }) | Err(_) => {}
                }
            }
        }
        if let Some(question) = done(&client.channel(channel).await?) {
            return Ok(question);
        }
        tokio::time::sleep(live::PAUSE).await;
    }
}

fn note(session: &Session, data: &Value) {
    let word = |name: &str| data[name].as_str().map(clean_line).unwrap_or_default();
    if word("tool") == "reply" {
        // The answer itself follows.
        return;
    }
    let line = fit(&format!("▸ {} {}", word("tool"), word("input")), report::width().saturating_sub(2));
    session.report.note(&line);
}
