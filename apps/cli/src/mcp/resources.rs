//! Runs and what they made as resources: `holdpoint://runs/ID`, `/diff`, `/why`, `/artifacts/N`, and the inbox.

use rmcp::model::{ErrorData, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde::Serialize;
use wire::{ExitCode, RunView, reveal};

use super::face::{Face, protocol_error};
use super::held::Hold;
use super::told::{Run, RunDetail, Why};
use crate::{
    change::{Of, files, is_code},
    commands::patch,
    failure::Failure,
    report::{clean, clean_line},
};

const SCHEME: &str = "holdpoint://";
const PAGE: usize = 50;
const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";
const DIFF: &str = "text/x-diff";

/// The inbox and the list, then the runs, newest first; the cursor is the last run of the page before.
pub(super) async fn list(face: &Face, cursor: Option<String>) -> Result<ListResourcesResult, ErrorData> {
    let first = cursor.is_none();
    let runs = page(face, cursor.as_deref()).await.map_err(|failure| {
        // Nothing but the cursor was asked.
        let wrong = failure.exit == ExitCode::Usage;
        if wrong { ErrorData::invalid_params("that is no cursor of this list", None) } else { protocol_error(&failure) }
    })?;
    let mut resources = Vec::new();
    if first {
        let inbox = Resource::new(format!("{SCHEME}holds"), "holds").with_mime_type(JSON);
        resources.push(inbox.with_title("Inbox").with_description("Everything that waits for the user"));
        let runs = Resource::new(format!("{SCHEME}runs"), "runs").with_mime_type(JSON);
        resources.push(runs.with_title("Runs").with_description("The newest runs"));
    }
    resources.extend(runs.iter().take(PAGE).map(of_run));
    let next_cursor = runs.get(PAGE).and(runs.get(PAGE - 1)).map(|run| run.id.clone());
    Ok(ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources) })
}

/// One more than a page has: it says whether there is a next one.
async fn page(face: &Face, before: Option<&str>) -> Result<Vec<RunView>, Failure> {
    let count = (PAGE + 1).to_string();
    let mut which = vec![("roots", "true"), ("limit", count.as_str())];
    which.extend(before.map(|before| ("before", before)));
    face.client().await?.page(&which).await
}

fn of_run(run: &RunView) -> Resource {
    let request = clean_line(&run.request).chars().take(80).collect::<String>();
    Resource::new(format!("{SCHEME}runs/{}", run.id), run.id.clone())
        .with_title(request)
        .with_description(format!("{} ({})", run.status.replace('_', " "), run.playbook))
        .with_mime_type(JSON)
}

/// What can be read of any run.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |rest: &str, name: &str, about: &str, kind: &str| {
        ResourceTemplate::new(format!("{SCHEME}runs/{{run}}{rest}"), name).with_description(about).with_mime_type(kind)
    };
    vec![
        template("", "run", "A run: stage, hold, why, tasks, artifacts", JSON),
        template("/why", "why", "Why a run is not moving", JSON),
        template("/diff", "diff", "What a run's branch changes", DIFF),
        template("/artifacts/{number}", "artifact", "Something a run made, counted from 1", MARKDOWN),
    ]
}

/// What an address means.
#[derive(Debug, PartialEq, Eq)]
enum Address<'a> {
    Holds,
    Runs,
    Run(&'a str),
    Why(&'a str),
    Diff(&'a str),
    Artifact(&'a str, usize),
}

fn address(uri: &str) -> Option<Address<'_>> {
    let parts: Vec<&str> = uri.strip_prefix(SCHEME)?.split('/').collect();
    match parts.as_slice() {
        ["holds"] => Some(Address::Holds),
        ["runs"] => Some(Address::Runs),
        ["runs", run] if !run.is_empty() => Some(Address::Run(run)),
        ["runs", run, "why"] => Some(Address::Why(run)),
        ["runs", run, "diff"] => Some(Address::Diff(run)),
        ["runs", run, "artifacts", number] => Some(Address::Artifact(run, number.parse().ok()?)),
        _ => None,
    }
}

pub(super) async fn read(face: &Face, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let Some(address) = address(uri) else {
        let shown: String = uri.chars().filter(|c| !c.is_control()).take(200).collect();
        let message = format!("there is no resource `{shown}`; `resources/templates/list` says which there are");
        return Err(ErrorData::resource_not_found(message, None));
    };
    let (text, kind) = content(face, address).await.map_err(|failure| protocol_error(&failure))?;
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(kind)]))
}

async fn content(face: &Face, address: Address<'_>) -> Result<(String, &'static str), Failure> {
    let client = face.client().await?;
    match address {
        Address::Holds => json(&client.holds().await?.iter().map(Hold::of).collect::<Vec<_>>()),
        Address::Runs => json(&page(face, None).await?.iter().take(PAGE).map(Run::of).collect::<Vec<_>>()),
        Address::Run(run) => {
            let run = client.run(run).await?;
            json(&RunDetail::of(&run, &client.why(&run.id).await?))
        }
        Address::Why(run) => json(&Why::of(&client.why(run).await?)),
        Address::Diff(run) => {
            let list = files(&client, run, Of::Branch).await?;
            Ok((reveal(&patch(&client, run, Of::Branch, &list.head).await?), DIFF))
        }
        Address::Artifact(run, number) => {
            let made = client.artifact(run, number).await?;
            if !is_code(&made.artifact.kind) {
                return Ok((clean(&made.content), MARKDOWN));
            }
            let diff = patch(&client, run, Of::Artifact(number), &made.artifact.commit).await?;
            let note = made.note.as_deref().map(|note| format!("{}\n\n", note.trim_end())).unwrap_or_default();
            Ok((reveal(&format!("{note}{diff}")), DIFF))
        }
    }
}

fn json(value: &impl Serialize) -> Result<(String, &'static str), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| {
        Failure::failed("bug", format!("the answer cannot be written: {error}"), "please report it")
    })?;
    Ok((text, JSON))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_means_one_thing_or_nothing() {
        assert_eq!(address("holdpoint://runs/abc"), Some(Address::Run("abc")));
        assert_eq!(address("holdpoint://runs/abc/artifacts/2"), Some(Address::Artifact("abc", 2)));
        for bad in
            ["", "file:///etc/passwd", "holdpoint://runs/", "holdpoint://runs/a/artifacts/x", "holdpoint://runs/a/b"]
        {
            assert_eq!(address(bad), None, "{bad}");
        }
    }
}
