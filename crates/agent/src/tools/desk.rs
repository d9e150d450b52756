//! What tools work with: the workspace, the session folder, and what the job says about the change under judgement.

use std::path::{Path, PathBuf};

use drivers::{DIFF_FILE, HandIn, Job};

use super::changes::Plans;
use super::searcher::Searcher;
use super::views::Views;
use super::web_code_search::Web;
use super::{ToolError, changes, comments};
use crate::strangers::Strangers;
use crate::workspace::Workspace;

/// What tools work with.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) workspace: Workspace,
    /// Where the full output of long commands is kept.
    pub(crate) outputs: PathBuf,
    pub(super) session: PathBuf,
    pub(super) scope: Option<String>,
    pub(super) views: Views,
    pub(super) plans: Plans,
    pub(super) searcher: Searcher,
    pub(super) web: Web,
    /// What was read of them by this process.
    pub(crate) strangers: Strangers,
    diff: Option<String>,
}

impl Desk {
    pub(crate) fn new(workspace: Workspace, session: &Path, door: &Path, job: &Job) -> Self {
        let desk = Self {
            workspace,
            outputs: session.join("output"),
            session: session.to_owned(),
            scope: job.scope.clone(),
            views: Views::default(),
            plans: Plans::new(session),
            searcher: Searcher::new(session, door, job.embeddings.as_deref()),
            web: Web::new(door, job.web_search),
            strangers: Strangers::new(job),
            diff: job.diff.clone(),
        };
        changes::recover(&desk);
        desk
    }

    /// The change under judgement: whole if Holdpoint laid it out as a file, else as the job shows it.
    pub(super) fn diff(&self) -> Result<String, ToolError> {
        if let Ok(bytes) = std::fs::read(self.session.join(DIFF_FILE)) {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        let none = "there is no change to look at: nothing was committed yet in this run";
        self.diff.clone().ok_or_else(|| ToolError::Refused(none.to_owned()))
    }

    /// What was kept while working goes with what is handed in.
    pub(crate) fn take_along(&self, hand_in: HandIn) -> HandIn {
        // A verdict is worth more than its remarks: it is handed in also when they cannot be read any more.
        comments::take_along(&self.session, hand_in.clone()).unwrap_or(hand_in)
    }
}
