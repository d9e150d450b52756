//! Taking over what a person committed on a run's branch in their own repository: their objects
//! are copied, and our branch follows theirs by compare-and-swap. Only ever forward; their
//! repository is read and not written.

use super::harvest::HarvestRefusal;
use super::newcomers::refuse_newcomers;
use super::publish::published_note;
use super::run::Call;
use super::{BranchName, CommitId, GitError, PrivateRepo, TreeId, UserRepo};

#[derive(Debug)]
pub enum Adopted {
    /// Our branch stands where theirs does.
    Taken {
        commit: CommitId,
        tree: TreeId,
        /// What the person changed.
        changed: Vec<String>,
    },
    /// There is nothing of theirs: no such branch, or nothing on it that ours has not.
    Nothing,
    /// Their branch does not follow from ours.
    Diverged { tip: CommitId },
    /// Their branch follows from ours, but this commit is not part of it.
    Lacks { missing: CommitId },
    /// Their branch has something that no run may have in its tree.
    Unsafe(HarvestRefusal),
}

/// Moves our branch from `ours` to where the person's stands. After a crash at any instant a
/// second call finishes what the first began.
pub fn adopt(
    private: &PrivateRepo,
    user: &UserRepo,
    branch: &BranchName,
    ours: &CommitId,
    must_contain: Option<&CommitId>,
) -> Result<Adopted, GitError> {
    let _alone = user.lock()?;
    private.share_objects(user)?;
    let Some(tip) = user.tip(branch)? else {
        return Ok(Adopted::Nothing);
    };
    if private.is_ancestor(&tip, ours)? {
        return Ok(Adopted::Nothing);
    }
    if !private.is_ancestor(ours, &tip)? {
        return Ok(Adopted::Diverged { tip });
    }
    if let Some(missing) = must_contain
        && !private.is_ancestor(missing, &tip)?
    {
        return Ok(Adopted::Lacks { missing: missing.clone() });
    }
    match refuse_newcomers(private, ours, &tip) {
        Ok(()) => {}
        Err(HarvestRefusal::Git(error)) => return Err(error),
        Err(refusal) => return Ok(Adopted::Unsafe(refusal)),
    }
    take_objects(private, user, ours, &tip)?;
    // Noted before our branch moves: what goes on from here may be published over their tip.
    private.force_ref(&published_note(branch), &tip)?;
    let before = stands_on_the_way(private, branch, ours, &tip)?;
    private.set_tip(branch, &tip, Some(&before))?;
    let changed = private.diffstat(ours, &tip)?.into_iter().map(|change| change.path).collect();
    Ok(Adopted::Taken { tree: private.tree_of(&tip)?, commit: tip, changed })
}

/// Where our branch stands: at `ours`, or further along theirs, by an earlier take-over that nobody was told of.
fn stands_on_the_way(
    private: &PrivateRepo,
    branch: &BranchName,
    ours: &CommitId,
    theirs: &CommitId,
) -> Result<CommitId, GitError> {
    match private.tip(branch)? {
        Some(tip) if private.is_ancestor(ours, &tip)? && private.is_ancestor(&tip, theirs)? => Ok(tip),
        Some(_) | None => Ok(ours.clone()),
    }
}

/// Copies what is new since `ours` into the private repository, which until now only shares it:
/// the person may throw their branch away and clean up.
fn take_objects(private: &PrivateRepo, user: &UserRepo, ours: &CommitId, tip: &CommitId) -> Result<(), GitError> {
    Call::at(user.common_dir())
        .args(["pack-objects", "--revs", "--stdout", "--quiet", "--thin"])
        .env("GIT_NO_LAZY_FETCH", "1")
        .input(format!("{tip}\n^{ours}\n"))
        .run_into(private.call().args(["index-pack", "--stdin", "--fix-thin", "--strict"]))
        .map(drop)
}
