//! Before a yes to code: the whole list of files it is about, and at a terminal a question.

use inquire::{Confirm, InquireError};
use wire::HoldView;

use crate::{
    change::{self, Of},
    client::Client,
    failure::Failure,
    report::{self, change as shown, run::short},
    session::Session,
};

/// Decisions that let the code that is shown go on.
pub(crate) fn is_yes(decision: &str) -> bool {
    matches!(decision, "approve" | "accept_anyway" | "create_pr")
}

/// Whether the person was asked before, or does not want to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    AtTerminal,
    Never,
}

/// Lists every file with true counts; a person at the terminal is asked. A list that cannot be had is a failure: nobody
/// says yes to what cannot be shown.
pub(super) async fn review(
    client: &Client,
    held: &HoldView,
    decision: &str,
    asking: Asking,
    session: &Session,
) -> Result<(), Failure> {
    if !is_yes(decision) {
        return Ok(());
    }
    let run = client.run(&held.run).await?;
    let Some(of) = Of::shown_by(held, &run) else { return Ok(()) };
    let list = change::files(client, &run.id, of).await?;
    let report = session.report;
    report.note(&shown::list(&list));
    if asking == Asking::Never || report.is_json() || !report::person_present() {
        return Ok(());
    }
    let id = short(&run.id);
    let word = decision.replace('_', " ");
    let question = format!("{word} {}?", shown::totals(&list.total));
    let help = format!("only their names were shown here; `holdpoint diff {id}` shows every line, --yes does not ask");
    let asked = move || Confirm::new(&question).with_default(false).with_help_message(&help).prompt();
    let answer = tokio::task::spawn_blocking(asked).await;
    match answer.map_err(|error| Failure::failed("terminal", error.to_string(), "try again"))? {
        Ok(true) => Ok(()),
        Ok(false) | Err(InquireError::OperationCanceled | InquireError::OperationInterrupted) => Err(Failure::failed(
            "not_decided",
            "nothing was decided; the run keeps waiting",
            format!("look at it with `holdpoint diff {id}`"),
        )),
        Err(error) => Err(Failure::failed("terminal", format!("cannot ask on this terminal: {error}"), "add --yes")),
    }
}
