//! Completion of arguments: ids of runs in addresses of resources, paths of projects in the prompt. Nothing is offered
//! where nothing is known.

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, Reference};

use super::face::{Face, protocol_error};
use super::orchestrate;

pub(super) async fn complete(face: &Face, asked: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let begun = asked.argument.value.as_str();
    let known = match (&asked.r#ref, asked.argument.name.as_str()) {
        (Reference::Resource(_), "run") => of_runs(face, |run| run.id.clone()).await?,
        (Reference::Prompt(prompt), "project") if prompt.name == orchestrate::NAME => {
            of_runs(face, |run| run.project.clone()).await?
        }
        _ => Vec::new(),
    };
    let mut fitting: Vec<String> = Vec::new();
    for value in known.into_iter().filter(|value| value.starts_with(begun)) {
        if !fitting.contains(&value) && fitting.len() < CompletionInfo::MAX_VALUES {
            fitting.push(value);
        }
    }
    let info = CompletionInfo::new(fitting).map_err(|error| ErrorData::internal_error(error, None))?;
    Ok(CompleteResult::new(info))
}

/// From the newest runs, newest first.
async fn of_runs(face: &Face, what: impl Fn(&wire::RunView) -> String) -> Result<Vec<String>, ErrorData> {
    let asked = async { face.client().await?.page(&[("limit", "1000")]).await };
    let runs = asked.await.map_err(|failure| protocol_error(&failure))?;
    Ok(runs.iter().map(what).collect())
}
