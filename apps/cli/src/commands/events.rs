//! `events`: what happened to a run; as one JSON object per line for programs.

use clap::Args;
use wire::{EventView, ExitCode};

use crate::{
    failure::Failure,
    live::{Feed, Update},
    report::{self, table},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Go on until the run ends
    #[arg(long, short)]
    follow: bool,
    /// Only events after this number
    #[arg(long, default_value_t = 0)]
    after: u64,
    /// Only the named steps of the run and of its tasks
    #[arg(long, conflicts_with_all = ["follow", "after"])]
    steps: bool,
}

pub(super) async fn run(arguments: &Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    if arguments.steps {
        let run = client.run(&arguments.run).await?;
        if session.report.is_json() {
            run.checkpoints.iter().for_each(|step| session.report.json_line(step));
        } else {
            session.report.data(&table::steps(&run.checkpoints, report::width()));
        }
        return Ok(ExitCode::Done);
    }
    let events = client.events(&arguments.run, arguments.after).await?;
    events.iter().for_each(|event| print(event, session));
    if !arguments.follow {
        return Ok(ExitCode::Done);
    }
    let run = client.run(&arguments.run).await?;
    let last = events.last().map_or(arguments.after, |event| event.sequence);
    let mut feed = Feed::new(client, run.id, last);
    loop {
        match feed.next().await? {
            Update::Event(event) => {
                print(&event, session);
                if matches!(event.kind.as_str(), "RUN_COMPLETED" | "RUN_FAILED" | "RUN_CANCELLED") {
                    return Ok(ExitCode::Done);
                }
            }
            Update::Run(run) if matches!(run.status.as_str(), "completed" | "failed" | "cancelled") => {
                return Ok(ExitCode::Done);
            }
            Update::Run(_) | Update::Child(_) | Update::Activity(..) => {}
        }
    }
}

fn print(event: &EventView, session: &Session) {
    if session.report.is_json() {
        session.report.json_line(event);
    } else {
        session.report.data(&table::event(event, report::width()));
    }
}
