//! `artifact`: what a run made, as a list or one in full.

use clap::Args;
use jiff::Timestamp;
use wire::{ArtifactContent, ExitCode};

use super::diff::{patch, print_patch, print_sections};
use crate::{
    change::{self, Of},
    client::Client,
    failure::Failure,
    report::{self, change as shown, hold, markdown, table},
    session::Session,
};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Id of the run, or the start of it
    run: String,
    /// Number of the artifact; all are listed without it
    number: Option<usize>,
}

pub(super) async fn run(arguments: &Arguments, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let report = session.report;
    let Some(number) = arguments.number else {
        let artifacts = client.artifacts(&arguments.run).await?;
        if report.is_json() {
            report.json(&artifacts);
        } else {
            report.data(&table::artifacts(&artifacts, Timestamp::now(), report::width()));
        }
        return Ok(ExitCode::Done);
    };
    let content = client.artifact(&arguments.run, number).await?;
    if change::is_code(&content.artifact.kind) {
        return code(&client, (&arguments.run, number), content, session).await;
    }
    if report.is_json() {
        report.json(&content);
    } else if !report::stdout_is_terminal() {
        report.raw(&content.content);
    } else {
        report.data(&hold::document(&content, report::width()));
    }
    Ok(ExitCode::Done)
}

/// Code, whole: what the server answers in one piece may be cut.
async fn code(
    client: &Client,
    (run, number): (&str, usize),
    content: ArtifactContent,
    session: &Session,
) -> Result<ExitCode, Failure> {
    let (of, report) = (Of::Artifact(number), session.report);
    let note = content.note.as_deref().map(|note| format!("{}\n\n", note.trim_end())).unwrap_or_default();
    let list = change::files(client, run, of).await?;
    if report.is_json() {
        let whole = format!("{note}{}", patch(client, run, of, &list.head).await?);
        report.json(&ArtifactContent { content: whole, truncated: false, left_out: Vec::new(), ..content });
    } else if report::stdout_is_terminal() {
        if !note.is_empty() {
            report.data(&markdown::render(&note, &[], report::width()));
        }
        report.data(&shown::list(&list));
        print_sections(client, run, of, &list, session).await?;
    } else {
        report.raw(&note);
        print_patch(client, run, of, &list, session).await?;
    }
    Ok(ExitCode::Done)
}
