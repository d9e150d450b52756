//! `plan`: what a person can write in an agent's place, as `decide RUN modify_plan --file` takes it back.

use wire::{ExitCode, RunView};

use super::OneRun;
use crate::{client::Client, failure::Failure, session::Session};

/// Artifacts that are texts a person can write.
const WRITTEN: [&str; 5] = ["plan", "spec", "scope", "research", "requirement"];

pub(super) async fn run(arguments: &OneRun, session: &Session) -> Result<ExitCode, Failure> {
    let client = session.connect().await?;
    let run = client.run(&arguments.run).await?;
    session.report.raw(&text(&client, &run).await?);
    Ok(ExitCode::Done)
}

/// The plan as it stands: JSON for a plan of tasks, Markdown for the rest.
pub(crate) async fn text(client: &Client, run: &RunView) -> Result<String, Failure> {
    if let Some(goal) = run.goal.as_ref().filter(|goal| !goal.tasks.is_empty()) {
        let text = serde_json::to_string_pretty(&goal.tasks).expect("tasks are plain data");
        return Ok(format!("{text}\n"));
    }
    let shown = run.hold.as_ref().and_then(|hold| hold.artifact.as_ref());
    let written = |kind: &str| WRITTEN.contains(&kind);
    let newest = run.artifacts.iter().rposition(|made| written(&made.kind));
    let index = match shown.filter(|made| written(&made.kind)) {
        Some(shown) => {
            run.artifacts.iter().rposition(|made| made.digest == shown.digest && made.commit == shown.commit)
        }
        None => newest,
    };
    let index = index.ok_or_else(|| {
        let message = format!("run {} has no plan yet", run.id);
        Failure::failed("no_plan", message, "`holdpoint show` tells where it stands")
    })?;
    if run.artifacts[index].kind == "plan" {
        let plan = client.plan(&run.id).await?;
        let text = serde_json::to_string_pretty(&plan).expect("a value that came as JSON is JSON");
        return Ok(format!("{text}\n"));
    }
    client.artifact(&run.id, index + 1).await.map(|made| made.content)
}
