//! Keeping what is in a workspace before it is deleted: everything that can be harvested goes
//! to `refs/holdpoint/rescue/<name>`. Deletes nothing itself.

use std::path::Path;

use super::harvest::{HarvestRefusal, OnRefusal, gather};
use super::{BranchName, CommitId, CommitRequest, CommitText, PrivateRepo};

#[derive(Debug)]
pub enum Rescued {
    /// The workspace has nothing that `base` has not.
    Nothing,
    Kept {
        commit: CommitId,
        /// What could not be taken along, and why.
        left_out: Vec<HarvestRefusal>,
    },
}

/// Commits the workspace's content under `name`. A second call with the same content adopts
/// the first; with other content it adds a commit on top, so that nothing is lost. Paths in `exclude` are not the
/// run's: they stay as they are in `base`.
pub fn rescue(
    private: &PrivateRepo,
    workspace: &Path,
    base: &CommitId,
    name: &BranchName,
    text: &CommitText,
    exclude: &[String],
) -> Result<Rescued, HarvestRefusal> {
    if !workspace.is_dir() {
        return Ok(Rescued::Nothing);
    }
    let (tree, left_out) = gather(private, workspace, base, exclude, OnRefusal::LeaveOut)?;
    let reference = format!("refs/holdpoint/rescue/{name}");
    let before = private.reference(&reference)?;
    if let Some(commit) = &before
        && private.tree_of(commit)? == tree
    {
        let commit = commit.clone();
        return Ok(Rescued::Kept { commit, left_out });
    }
    if before.is_none() && left_out.is_empty() && private.tree_of(base)? == tree {
        return Ok(Rescued::Nothing);
    }
    let commit = private.commit(&CommitRequest {
        parents: vec![before.clone().unwrap_or_else(|| base.clone())],
        tree,
        text: text.clone(),
    })?;
    private.swap(&reference, &commit, before.as_ref(), "holdpoint: rescue")?;
    Ok(Rescued::Kept { commit, left_out })
}
