//! Landing a run on the user's base branch: the one place where that branch moves. Refuses
//! rather than forces: a base that moved, a checkout with changes, or anything in between is
//! an answer, and nothing has happened then.

use super::bring_along::Step;
use super::checkout::checkouts_of;
use super::commit::RUN_TRAILER;
use super::publish::{Moved, finish_moves, move_branch};
use super::{BranchName, CommitId, CommitRequest, CommitText, GitError, PrivateRepo, TreeId, UserRepo};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// One commit with the whole change.
    Squash,
    /// A merge commit, also where fast-forward would do.
    NoFf,
    /// The base becomes the branch; no new commit.
    FastForward,
}

#[derive(Debug, Clone)]
pub struct LandRequest {
    pub base: BranchName,
    /// Where the base stood when the work was checked.
    pub expected_base: CommitId,
    /// The tree the base has afterwards.
    pub tree: TreeId,
    pub branch_tip: CommitId,
    pub strategy: Strategy,
    /// With a `Holdpoint-Run` trailer, by which a landing that happened is known again.
    pub text: CommitText,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Landed {
    Done {
        commit: CommitId,
        previous: CommitId,
    },
    AlreadyLanded {
        commit: CommitId,
    },
    /// The base is not where the work was checked against.
    BaseMoved {
        tip: CommitId,
    },
    /// The branch does not follow from the base, or has another tree than asked for.
    NotFastForward,
    /// The base is checked out with changes in these files.
    CheckoutDirty {
        paths: Vec<String>,
    },
    /// Another git process works on a checkout of the base.
    CheckoutBusy,
}

/// Lands the work. After a crash at any instant a second call with the same request finishes
/// what the first began.
pub fn land(private: &PrivateRepo, user: &UserRepo, request: &LandRequest) -> Result<Landed, GitError> {
    if request.text.trailer(RUN_TRAILER).is_none() {
        return Err(GitError::BadTrailer { key: RUN_TRAILER.to_owned(), reason: "a landing must carry it" });
    }
    let _alone = user.lock()?;
    let tip = user.branch_tip(&request.base)?;
    finish_moves(private, user, &request.base, &tip)?;
    if let Some(commit) = already_landed(private, request, &tip)? {
        bring_checkouts_along(private, user, request, &commit, &tip)?;
        return Ok(Landed::AlreadyLanded { commit });
    }
    if tip != request.expected_base {
        return Ok(Landed::BaseMoved { tip });
    }
    let Some(commit) = landing_commit(private, request)? else {
        return Ok(Landed::NotFastForward);
    };
    let reason = "holdpoint: land";
    match move_branch(private, user, &request.base, Some(&tip), &commit, reason)? {
        Moved::Done => Ok(Landed::Done { commit, previous: tip }),
        Moved::Elsewhere(Some(tip)) => Ok(Landed::BaseMoved { tip }),
        Moved::Elsewhere(None) => Err(GitError::BranchMissing(request.base.to_string())),
        Moved::CheckoutDirty(paths) => Ok(Landed::CheckoutDirty { paths }),
        Moved::CheckoutBusy => Ok(Landed::CheckoutBusy),
    }
}

fn landing_commit(private: &PrivateRepo, request: &LandRequest) -> Result<Option<CommitId>, GitError> {
    let parents = match request.strategy {
        Strategy::Squash => vec![request.expected_base.clone()],
        Strategy::NoFf => vec![request.expected_base.clone(), request.branch_tip.clone()],
        Strategy::FastForward => {
            let follows = private.is_ancestor(&request.expected_base, &request.branch_tip)?;
            let same = private.tree_of(&request.branch_tip)? == request.tree;
            return Ok((follows && same).then(|| request.branch_tip.clone()));
        }
    };
    private.commit(&CommitRequest { parents, tree: request.tree.clone(), text: request.text.clone() }).map(Some)
}

/// The commit by which this run is already on the base, made by us or merged by a person.
fn already_landed(private: &PrivateRepo, request: &LandRequest, tip: &CommitId) -> Result<Option<CommitId>, GitError> {
    let Some(run) = request.text.trailer(RUN_TRAILER) else {
        return Ok(None);
    };
    let since = Some(&request.expected_base);
    for commit in private.with_trailer(tip, since, RUN_TRAILER, run)? {
        // The branch's own commits carry the trailer too: one of them on the base means
        // nothing unless all of them are.
        if !private.is_ancestor(&commit, &request.branch_tip)? {
            return Ok(Some(commit));
        }
    }
    let had_nothing = private.is_ancestor(&request.branch_tip, &request.expected_base)?;
    if !had_nothing && private.is_ancestor(&request.branch_tip, tip)? {
        return Ok(Some(request.branch_tip.clone()));
    }
    Ok(None)
}

/// A process that died right after moving the base left its checkouts behind.
fn bring_checkouts_along(
    private: &PrivateRepo,
    user: &UserRepo,
    request: &LandRequest,
    commit: &CommitId,
    tip: &CommitId,
) -> Result<(), GitError> {
    if commit != tip {
        return Ok(());
    }
    for checkout in checkouts_of(user, &request.base)? {
        let step = Step::new(private, &checkout, &request.expected_base, commit)?;
        if step.is_unfinished()? {
            step.repair()?;
        }
    }
    Ok(())
}
