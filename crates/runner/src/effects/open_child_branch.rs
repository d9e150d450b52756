//! Starts a child's branch at the commit its parent gave it. Nothing is fetched: parent and child share a repository.

use domain::Outcome;
use engine::{Job, boundary};

use crate::hands::Hands;
use crate::repos::{Repos, to_git};
use crate::trouble::Trouble;

pub(crate) async fn run(hands: &Hands, job: &Job) -> Result<Outcome, Trouble> {
    let parent = job.run.opened().parent.as_ref();
    let at = parent.map(|parent| parent.at.clone()).ok_or_else(|| Trouble::new("the run is nobody's child"))?;
    let (paths, run, start) = (hands.paths.clone(), job.run.clone(), to_git(&at)?);
    let open = move || {
        let repos = Repos::open(&paths, &run)?;
        // The branch may stand from an earlier try.
        if repos.private.tip(&repos.branch)?.is_none() {
            boundary("open_child_branch.before");
            repos.private.create_branch(&repos.branch, &start)?;
            boundary("open_child_branch.after");
        }
        Ok(())
    };
    hands.blocking(&job.id.run, open).await?;
    Ok(Outcome::BranchOpened { base: at })
}
