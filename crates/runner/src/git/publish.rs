//! Moving a branch of the user's repository: objects first, then the reference by
//! compare-and-swap, then clean checkouts of it. None of the user's hooks runs; configuration
//! is not written.

use super::bring_along::{Plan, Prepared, Step};
use super::checkout::{Checkout, checkouts_of};
use super::commit::RUN_TRAILER;
use super::private_repo::compare_and_swap;
use super::run::Call;
use super::unfinished_move::Move;
use super::{BranchName, CommitId, GitError, PrivateRepo, UserRepo};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Published {
    Done,
    AlreadyThere,
    /// The user has a branch of that name which Holdpoint did not make.
    Taken {
        tip: CommitId,
    },
    /// The branch is checked out with changes in these files; nothing was done.
    CheckoutDirty {
        paths: Vec<String>,
    },
    /// Another git process works on the checkout; nothing was done.
    CheckoutBusy,
}

/// Puts the branch into the user's repository at this commit.
pub fn publish(
    private: &PrivateRepo,
    user: &UserRepo,
    branch: &BranchName,
    commit: &CommitId,
) -> Result<Published, GitError> {
    let _alone = user.lock()?;
    let noted = published_note(branch);
    let tip = user.tip(branch)?;
    if let Some(tip) = &tip {
        finish_moves(private, user, branch, tip)?;
        if tip == commit {
            private.force_ref(&noted, commit)?;
            return Ok(Published::AlreadyThere);
        }
        if !is_ours(private, &noted, tip)? || !private.is_ancestor(tip, commit)? {
            return Ok(Published::Taken { tip: tip.clone() });
        }
    }
    let moved = move_branch(private, user, branch, tip.as_ref(), commit, "holdpoint: publish")?;
    match moved {
        Moved::Done => {
            private.force_ref(&noted, commit)?;
            Ok(Published::Done)
        }
        Moved::Elsewhere(Some(tip)) => Ok(Published::Taken { tip }),
        Moved::Elsewhere(None) => Err(GitError::BranchMissing(branch.to_string())),
        Moved::CheckoutDirty(paths) => Ok(Published::CheckoutDirty { paths }),
        Moved::CheckoutBusy => Ok(Published::CheckoutBusy),
    }
}

/// Where we note the commit at which the user's branch was last ours.
pub(crate) fn published_note(branch: &BranchName) -> String {
    format!("refs/holdpoint/published/{branch}")
}

/// Whether the user's branch stands where we put it, by our note or by its own trailer.
fn is_ours(private: &PrivateRepo, noted: &str, tip: &CommitId) -> Result<bool, GitError> {
    if private.reference(noted)?.as_ref() == Some(tip) {
        return Ok(true);
    }
    let prefix = format!("{RUN_TRAILER}: ");
    let message = private.message(tip)?;
    Ok(message.lines().any(|line| line.starts_with(&prefix)))
}

pub(crate) enum Moved {
    Done,
    /// The branch was not where the caller thought.
    Elsewhere(Option<CommitId>),
    CheckoutDirty(Vec<String>),
    CheckoutBusy,
}

/// Moves the branch from `old` to `new` with every clean checkout of it. The caller holds
/// `UserRepo::lock`.
pub(crate) fn move_branch(
    private: &PrivateRepo,
    user: &UserRepo,
    branch: &BranchName,
    old: Option<&CommitId>,
    new: &CommitId,
    reason: &str,
) -> Result<Moved, GitError> {
    give_objects(private, user, old, new)?;
    let checkouts = checkouts_of(user, branch)?;
    let ready = match (old, &checkouts[..]) {
        (_, []) => Vec::new(),
        // A checkout of a branch without commits: whatever is in it is the user's.
        (None, _) => return Ok(Moved::CheckoutBusy),
        (Some(old), checkouts) => match prepare_all(private, checkouts, old, new)? {
            Ok(ready) => ready,
            Err(not_moved) => return Ok(not_moved),
        },
    };
    let noted = Move::begin(private, user, &branch.full(), new)?;
    let swap = |call| compare_and_swap(call, user.common_dir(), &branch.full(), new, old, reason);
    // A lock that a killed git left is not worth the whole wait; one that a person's git holds is.
    let mut swapped = swap(Call::at(user.common_dir()).pin("core.filesRefLockTimeout", "1000"));
    if matches!(swapped, Err(GitError::RefLocked { .. })) {
        noted.remove_left_locks()?;
        swapped = swap(Call::at(user.common_dir()));
    }
    if matches!(swapped, Ok(()) | Err(GitError::Moved { .. } | GitError::RefLocked { .. })) {
        noted.end()?;
    }
    if let Err(error) = swapped {
        for checkout in &checkouts {
            checkout.unlock()?;
        }
        if let GitError::Moved { .. } = error {
            return Ok(Moved::Elsewhere(user.tip(branch)?));
        }
        return Err(error);
    }
    for (step, plan) in &ready {
        step.apply(plan)?;
    }
    Ok(Moved::Done)
}

type Ready<'a> = Vec<(Step<'a>, Plan)>;

/// Locks and checks every checkout; if one is in the way, all are let go.
fn prepare_all<'a>(
    private: &'a PrivateRepo,
    checkouts: &'a [Checkout],
    old: &'a CommitId,
    new: &'a CommitId,
) -> Result<Result<Ready<'a>, Moved>, GitError> {
    let mut ready = Vec::new();
    let mut in_the_way = None;
    for checkout in checkouts {
        let step = Step::new(private, checkout, old, new)?;
        match step.prepare()? {
            Prepared::Ready(plan) => ready.push((step, plan)),
            Prepared::Dirty(paths) => in_the_way = Some(Moved::CheckoutDirty(paths)),
            Prepared::Busy => in_the_way = Some(Moved::CheckoutBusy),
        }
    }
    match in_the_way {
        None => Ok(Ok(ready)),
        Some(not_moved) => {
            for checkout in checkouts {
                checkout.unlock()?;
            }
            Ok(Err(not_moved))
        }
    }
}

/// Finishes what a process that died in `move_branch` left, if anything. The caller holds
/// `UserRepo::lock` and has read `tip`.
pub(crate) fn finish_moves(
    private: &PrivateRepo,
    user: &UserRepo,
    branch: &BranchName,
    tip: &CommitId,
) -> Result<(), GitError> {
    for checkout in checkouts_of(user, branch)? {
        let Some(left) = checkout.unfinished()? else {
            continue;
        };
        if left.new == *tip {
            Step::new(private, &checkout, &left.old, &left.new)?.repair()?;
        } else {
            // The branch was not moved, or has moved on: there is nothing of ours to finish.
            checkout.unlock()?;
        }
    }
    Ok(())
}

/// Copies into the user's object store what it lacks for `new`.
pub(crate) fn give_objects(
    private: &PrivateRepo,
    user: &UserRepo,
    old: Option<&CommitId>,
    new: &CommitId,
) -> Result<(), GitError> {
    let there = Call::at(user.common_dir())
        .args(["rev-list", "--objects", "--quiet", new.as_str(), "--not", "--branches"])
        .finish()?;
    if there.code == 0 {
        return Ok(());
    }
    let mut wanted = format!("{new}\n");
    let branches =
        Call::at(user.common_dir()).args(["for-each-ref", "--format=^%(objectname)", "refs/heads/"]).run()?;
    wanted.push_str(&String::from_utf8_lossy(&branches));
    if let Some(old) = old {
        wanted.push_str(&format!("^{old}\n"));
    }
    private
        .call()
        .args(["pack-objects", "--revs", "--stdout", "--quiet", "--thin"])
        .input(wanted)
        .run_into(Call::at(user.common_dir()).args(["index-pack", "--stdin", "--fix-thin", "--strict"]))
        .map(drop)
}
