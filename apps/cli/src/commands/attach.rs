//! `attach`: an agent's session on a terminal of one's own. The run waits; it goes on when it is handed back.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use agent::Rose;
use clap::Args;
use wire::{AttachView, ExitCode, ResumeRequest, RunView};

use super::{decided, held};
use crate::client::Client;
use crate::tmux::{Shown, Tmux};
use crate::{failure::Failure, report::run::short, session::Session};

/// How long it may take until an agent has stopped and its session is there.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
#[command(
    after_help = "Leave a tmux window with its own keys (Ctrl-b d) and the session stays; leave the program and \
                        you are asked whether the agent shall go on."
)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// In this terminal, without tmux; Ctrl-] leaves it
    #[arg(long)]
    here: bool,
    /// Hand the session back: the agent goes on
    #[arg(long, conflicts_with = "here")]
    hand_back: bool,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    match (arguments.hand_back, arguments.here) {
        (true, _) => hand_back(&client, &arguments.run, session).await,
        (false, true) => here(&client, &arguments.run, session).await,
        (false, false) => in_tmux(&client, &arguments.run, session).await,
    }
}

async fn in_tmux(client: &Client, run: &str, session: &Session) -> Result<ExitCode, Failure> {
    let view = client.attach(run).await?;
    let own = std::env::current_exe().map_err(|error| Failure::file("find", &PathBuf::from("holdpoint"), &error))?;
    let command = [own.display().to_string(), "attach".to_owned(), view.run.id.clone(), "--here".to_owned()];
    let tmux = Tmux::of_run(&short(&view.run.id));
    let project = PathBuf::from(&view.run.project);
    tmux.open(&view.window, &project, session.home.path(), &command)?;
    if session.report.is_json() {
        session.report.json(&view);
        return Ok(ExitCode::Done);
    }
    let id = short(&view.run.id);
    let shown = tmux.show(&view.window)?;
    let after = client.run(&view.run.id).await?;
    session.report.note(&match (shown, after.attached.is_some()) {
        (Shown::Nowhere, _) => format!("the session is in tmux: `{}` (window `{}`)", tmux.how(), view.window),
        (Shown::Here, true) => format!(
            "you still have it: `holdpoint attach {id}` goes back to it, `holdpoint attach {id} --hand-back` lets the \
             agent go on"
        ),
        (Shown::Here, false) => format!("it goes on; follow it with `holdpoint watch {id}`"),
    });
    Ok(ExitCode::Done)
}

async fn here(client: &Client, run: &str, session: &Session) -> Result<ExitCode, Failure> {
    let view = client.attach(run).await?;
    let id = short(&view.run.id);
    session.report.note(&format!("waiting for the session of run {id} …"));
    match seated(client, &view).await? {
        Rose::Left => {
            session.report.note(&format!(
                "you still have it: `holdpoint attach {id}` goes back to it, `holdpoint attach {id} --hand-back` lets \
                 the agent go on"
            ));
            return Ok(ExitCode::Done);
        }
        Rose::Over => {}
    }
    let after = settled(client, &view.run.id).await?;
    if after.attached.is_none() {
        session.report.note(&format!("the session is over; the run is {}", after.status.replace('_', " ")));
        return Ok(ExitCode::Done);
    }
    if wants_to_hand_back()? {
        return hand_back(client, &view.run.id, session).await;
    }
    session.report.note(&format!(
        "it waits: `holdpoint attach {id}` opens the session again, `holdpoint attach {id} --hand-back` lets the agent \
         go on"
    ));
    Ok(ExitCode::Done)
}

/// Waits until the session is there, sits down, and says why the person rose.
async fn seated(client: &Client, view: &AttachView) -> Result<Rose, Failure> {
    let hint = "`holdpoint attach` works on the machine that the server runs on";
    let socket = view.terminal.clone().ok_or_else(|| Failure::failed("terminal", "there is no terminal", hint))?;
    let begun = Instant::now();
    loop {
        let at = PathBuf::from(&socket);
        let sat = tokio::task::spawn_blocking(move || agent::take_seat(&at)).await;
        let error = match sat.map_err(|error| Failure::failed("terminal", error.to_string(), "try again"))? {
            Ok(rose) => return Ok(rose),
            Err(error) => error,
        };
        let run = client.run(&view.run.id).await?;
        let active = run.attached.as_ref().is_some_and(|attached| attached.active);
        if !active || begun.elapsed() > PATIENCE {
            let id = short(&run.id);
            return Err(Failure::failed(
                "terminal",
                format!("the session did not open: {error}"),
                format!("`holdpoint events {id}` says what happened; `holdpoint resume {id}` lets the agent go on"),
            ));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The run once what the person did is kept.
async fn settled(client: &Client, run: &str) -> Result<RunView, Failure> {
    let begun = Instant::now();
    loop {
        let view = client.run(run).await?;
        let active = view.attached.as_ref().is_some_and(|attached| attached.active);
        if !active || begun.elapsed() > PATIENCE {
            return Ok(view);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn wants_to_hand_back() -> Result<bool, Failure> {
    match inquire::Confirm::new("Hand it back to the agent?").with_default(true).prompt() {
        Ok(yes) => Ok(yes),
        Err(_) => Ok(false),
    }
}

async fn hand_back(client: &Client, run: &str, session: &Session) -> Result<ExitCode, Failure> {
    let held = held(client, run, session).await?;
    let run = client.resume(&held.run, &ResumeRequest { digest: Some(held.digest.clone()) }).await?;
    Ok(decided(&run, "handed back, it goes on", session))
}
