//! Beginning a run.

use super::Draft;
use crate::{Effect, Event, Rejection, Start, branch_name};

pub(super) fn start(draft: &mut Draft, start: Start) -> Result<(), Rejection> {
    if draft.run.opened.is_some() {
        return Err(Rejection::AlreadyStarted);
    }
    Start::check_request(&start.request).map_err(Rejection::BadRequest)?;
    let branch = branch_name(&draft.run.id, &start.request);
    draft.record(Event::RunStarted {
        project: start.project,
        request: start.request,
        playbook: start.playbook,
        config: start.config,
        branch,
        by: start.by,
    });
    draft.request(Effect::OpenBranch);
    Ok(())
}
