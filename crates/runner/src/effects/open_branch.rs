//! Makes the private repository know the base, and starts the run's branch there.

use domain::Outcome;
use engine::{Job, boundary};

use crate::hands::Hands;
use crate::repos::{Repos, from_git};
use crate::trouble::Trouble;

pub(crate) async fn run(hands: &Hands, job: &Job) -> Result<Outcome, Trouble> {
    let (paths, run) = (hands.paths.clone(), job.run.clone());
    let base = hands.blocking(&job.id.run, move || {
        let repos = Repos::open(&paths, &run)?;
        // The branch may stand from an earlier try; the base may have moved since.
        if let Some(tip) = repos.private.tip(&repos.branch)? {
            return from_git(&tip);
        }
        let base = repos.private.import_base(&repos.user, &repos.base)?;
        boundary("open_branch.before");
        repos.private.create_branch(&repos.branch, &base)?;
        boundary("open_branch.after");
        from_git(&base)
    });
    Ok(Outcome::BranchOpened { base: base.await? })
}
