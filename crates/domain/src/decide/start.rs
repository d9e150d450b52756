//! Beginning a run.

use super::Draft;
use crate::{Effect, Event, Rejection, Start, branch_name, child_branch_name};

pub(super) fn start(draft: &mut Draft, start: Start) -> Result<(), Rejection> {
    if draft.run.opened.is_some() {
        return Err(Rejection::AlreadyStarted);
    }
    let may_be_empty = start.config.task.is_some();
    Start::check_request(&start.request, may_be_empty).map_err(Rejection::BadRequest)?;
    let named = start.config.task.as_ref().and_then(|task| task.name.as_deref()).unwrap_or(&start.request);
    let (branch, open) = match &start.parent {
        Some(parent) => (child_branch_name(parent), Effect::OpenChildBranch),
        None => (branch_name(&draft.run.id, named), Effect::OpenBranch),
    };
    draft.record(Event::RunStarted {
        project: start.project,
        request: start.request,
        playbook: start.playbook,
        config: start.config,
        branch,
        by: start.by,
        parent: start.parent,
        forked_from: None,
    });
    draft.request(open);
    Ok(())
}
