//! Puts the run's branch into the user's repository.

use domain::{CommitId, Outcome};
use engine::{Job, boundary};

use crate::git::{Published, publish};
use crate::hands::Hands;
use crate::repos::{Repos, to_git};
use crate::trouble::Trouble;

pub(crate) async fn run(hands: &Hands, job: &Job, commit: &CommitId) -> Result<Outcome, Trouble> {
    let (paths, run, commit) = (hands.paths.clone(), job.run.clone(), to_git(commit)?);
    hands
        .blocking(&job.id.run, move || {
            let repos = Repos::open(&paths, &run)?;
            boundary("publish.before");
            let published = publish(&repos.private, &repos.user, &repos.branch, &commit)?;
            boundary("publish.after");
            match published {
                Published::Done | Published::AlreadyThere => Ok(Outcome::Published),
                Published::Taken { tip } => Err(Trouble::with_hint(
                    format!(
                        "your repository has a branch `{}` that Holdpoint did not leave there (at {tip})",
                        repos.branch
                    ),
                    "rename or delete that branch, then retry",
                )),
                Published::CheckoutDirty { paths } => Err(Trouble::with_hint(
                    format!("`{}` is checked out with changes in {}", repos.branch, paths.join(", ")),
                    "commit or stash them, or check out another branch, then retry",
                )),
                Published::CheckoutBusy => Err(Trouble::with_hint(
                    format!("another git process works on the checkout of `{}`", repos.branch),
                    "wait for it to end, then retry",
                )),
            }
        })
        .await
}
