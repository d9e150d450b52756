//! `log`: what agents said, thought and did in a run, turn by turn.

use clap::Args;
use wire::{ExitCode, SessionHistory, SessionView};

use crate::{
    client::Client,
    failure::Failure,
    report::{self, talk},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Only this conversation, e.g. `planner` or `implementer-2`
    #[arg(long, short)]
    session: Option<String>,
    /// Only list the conversations
    #[arg(long, conflicts_with = "session")]
    list: bool,
    /// Show thoughts too
    #[arg(long)]
    thoughts: bool,
}

pub(super) async fn run(arguments: &Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let all = client.sessions(&arguments.run).await?;
    let chosen: Vec<&SessionView> = all.iter().filter(|view| is_chosen(view, arguments.session.as_deref())).collect();
    if let (Some(wanted), []) = (&arguments.session, chosen.as_slice()) {
        let names: Vec<&str> = all.iter().map(talk::name).collect();
        let hint = if names.is_empty() {
            "no agent has spoken yet".to_owned()
        } else {
            format!("there are {}", names.join(", "))
        };
        return Err(Failure::usage(format!("run {} has no conversation `{wanted}`", arguments.run), hint));
    }
    if arguments.list {
        match session.report.is_json() {
            true => all.iter().for_each(|view| session.report.json_line(view)),
            false => session.report.data(&talk::table(&all, report::width())),
        }
        return Ok(ExitCode::Done);
    }
    for view in chosen {
        let history = whole(&client, &view.id).await?;
        match session.report.is_json() {
            true => session.report.json_line(&history),
            false => session.report.data(&talk::history(&history, arguments.thoughts, report::width())),
        }
    }
    Ok(ExitCode::Done)
}

fn is_chosen(view: &SessionView, wanted: Option<&str>) -> bool {
    wanted.is_none_or(|wanted| talk::name(view) == wanted || view.role == wanted)
}

/// A conversation with all of its turns.
pub(crate) async fn whole(client: &Client, id: &str) -> Result<SessionHistory, Failure> {
    let mut history = client.session(id, 0).await?;
    while history.more {
        let next = client.session(id, history.turns.last().map_or(0, |turn| turn.number)).await?;
        history.more = next.more;
        history.turns.extend(next.turns);
    }
    Ok(history)
}
