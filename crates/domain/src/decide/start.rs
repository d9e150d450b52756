//! Beginning a run.

use super::Draft;
use crate::{Effect, Event, Rejection, Start, branch_name, child_branch_name};

pub(super) fn start(draft: &mut Draft, start: Start) -> Result<(), Rejection> {
    if draft.run.opened.is_some() {
        return Err(Rejection::AlreadyStarted);
    }
    Start::check_request(&start.request).map_err(Rejection::BadRequest)?;
    let (branch, open) = match &start.parent {
        Some(parent) => (child_branch_name(parent), Effect::OpenChildBranch),
        None => (branch_name(&draft.run.id, &start.request), Effect::OpenBranch),
    };
    draft.record(Event::RunStarted {
        project: start.project,
        request: start.request,
        playbook: start.playbook,
        config: start.config,
        branch,
        by: start.by,
        parent: start.parent,
    });
    draft.request(open);
    Ok(())
}
