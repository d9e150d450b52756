//! `compare`: runs side by side; adopting one approves it first and cancels the others only then.

use clap::Args;
use inquire::{Confirm, InquireError};
use wire::{ApproveRequest, CancelRequest, CompareView, ComparedRun, ExitCode};

use super::review::{Asking, review};
use crate::{
    client::Client,
    failure::Failure,
    report::{self, compare, run::short},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Ids of the runs; one stands for all it was started together with
    #[arg(required = true)]
    runs: Vec<String>,
    /// Say yes to this one and cancel the others
    #[arg(long, value_name = "RUN")]
    adopt: Option<String>,
    /// Do not ask before adopting
    #[arg(long, requires = "adopt")]
    yes: bool,
}

pub(super) async fn run(arguments: Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let compared = client.compare(&arguments.runs).await?;
    let Some(wanted) = &arguments.adopt else {
        if session.report.is_json() {
            session.report.json(&compared);
        } else {
            session.report.data(&compare::draw(&compared, report::width()));
        }
        return Ok(ExitCode::Done);
    };
    let (chosen, others) = choose(&compared, wanted)?;
    if !session.report.is_json() {
        session.report.note(&compare::draw(&compared, report::width()));
    }
    if let Some(held) = &chosen.hold {
        // The question is asked below, about all of the runs at once.
        review(&client, held, "approve", Asking::Never, session).await?;
    }
    if !arguments.yes && !agreed(chosen, &others).await? {
        session.report.note("nothing was changed");
        return Ok(ExitCode::Waiting);
    }
    adopt(&client, chosen, &others, session).await
}

/// The run that is meant, with what binds the yes to it, and those that are still open.
fn choose<'a>(compared: &'a CompareView, wanted: &str) -> Result<(&'a ComparedRun, Vec<&'a ComparedRun>), Failure> {
    let wanted = wanted.to_lowercase();
    let meant: Vec<&ComparedRun> = compared.runs.iter().filter(|run| run.id.starts_with(&wanted)).collect();
    let [chosen] = meant.as_slice() else {
        let ids: Vec<String> = compared.runs.iter().map(|run| short(&run.id)).collect();
        let message = format!("`{wanted}` is not one of the runs that are compared");
        return Err(Failure::usage(message, format!("choose one of: {}", ids.join(", "))));
    };
    let can = chosen
        .hold
        .as_ref()
        .is_some_and(|hold| hold.kind == "review" && hold.allowed.iter().any(|word| word == "approve"));
    if !can {
        let message = format!("run {} cannot be adopted: it is {}", short(&chosen.id), chosen.status.replace('_', " "));
        let hint = format!("adopt a run that waits for its review; `holdpoint why {}` tells more", short(&chosen.id));
        return Err(Failure::failed("not_adoptable", message, hint));
    }
    let ended = |run: &ComparedRun| matches!(run.status.as_str(), "completed" | "failed" | "cancelled");
    let others = compared.runs.iter().filter(|run| run.id != chosen.id && !ended(run)).collect();
    Ok((chosen, others))
}

/// Never without somebody who says yes.
async fn agreed(chosen: &ComparedRun, others: &[&ComparedRun]) -> Result<bool, Failure> {
    if !report::person_present() {
        let hint = "add --yes to adopt it without being asked";
        return Err(Failure::usage("there is nobody to ask whether the others shall be cancelled", hint));
    }
    let ids: Vec<String> = others.iter().map(|run| short(&run.id)).collect();
    let rest = if ids.is_empty() { String::new() } else { format!(" and cancel {}", ids.join(", ")) };
    let question = format!("Adopt {}{rest}?", short(&chosen.id));
    let asked = tokio::task::spawn_blocking(move || Confirm::new(&question).with_default(false).prompt()).await;
    match asked.map_err(|error| Failure::failed("terminal", error.to_string(), "try again"))? {
        Ok(agreed) => Ok(agreed),
        Err(InquireError::OperationCanceled | InquireError::OperationInterrupted) => Ok(false),
        Err(error) => Err(Failure::failed("terminal", format!("cannot ask on this terminal: {error}"), "add --yes")),
    }
}

async fn adopt(
    client: &Client,
    chosen: &ComparedRun,
    others: &[&ComparedRun],
    session: &Session,
) -> Result<ExitCode, Failure> {
    let digest = chosen.hold.as_ref().map(|hold| hold.digest.clone()).unwrap_or_default();
    // Only when the yes was taken are the others given up.
    let run = client.approve(&chosen.id, &ApproveRequest { digest, notes: None }).await?;
    let reason = Some(format!("run {} was adopted instead", short(&chosen.id)));
    let mut failed = None;
    for other in others {
        match client.cancel(&other.id, &CancelRequest { reason: reason.clone() }).await {
            Ok(_) => session.report.note(&format!("cancelled {}", short(&other.id))),
            Err(failure) if failure.problem.code == "already_ended" => {}
            Err(failure) => failed = Some(failure),
        }
    }
    if let Some(failure) = failed {
        return Err(failure);
    }
    Ok(super::decided(&run, "adopted", session))
}
