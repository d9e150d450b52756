//! Starts a fork's branch where its origin's stood, and takes along the conversation that was under way. Nothing of the
//! origin is changed: both share a repository, and its conversation is only read.

use domain::{CommitId, Outcome, Run};
use engine::{Job, boundary};

use crate::carry;
use crate::hands::Hands;
use crate::read::gone;
use crate::repos::{Repos, to_git};
use crate::trouble::Trouble;

pub(crate) async fn run(hands: &Hands, job: &Job, at: &CommitId) -> Result<Outcome, Trouble> {
    let from = job.run.opened().forked_from.as_ref().ok_or_else(|| Trouble::new("the run is nobody's fork"))?;
    let (paths, inner, at, origin) = (hands.paths.clone(), job.clone(), at.clone(), from.run.clone());
    let open = move || {
        let repos = Repos::open(&paths, &inner.run)?;
        if let Some(missing) = gone(&repos, std::iter::once(&at).chain(unfinished(&inner.run)))? {
            return Err(missing);
        }
        for (tree, number) in unfinished(&inner.run).zip(1..) {
            let name = format!("refs/holdpoint/rescue/{}/{}-{number}", inner.id.run, inner.id.number);
            repos.private.force_ref(&name, &to_git(tree)?)?;
        }
        let carried = carry::carry(&paths, &inner.run, &origin)?;
        // The branch comes last: where it stands, all the rest is there.
        if repos.private.tip(&repos.branch)?.is_none() {
            boundary("open_fork.before");
            repos.private.create_branch(&repos.branch, &to_git(&at)?)?;
            boundary("open_fork.after");
        }
        Ok(carried)
    };
    Ok(Outcome::ForkOpened { carried: hands.blocking(&job.id.run, open).await? })
}

/// Trees that agents left and that somebody may go on with.
fn unfinished(run: &Run) -> impl Iterator<Item = &CommitId> {
    run.stages.iter().filter_map(|stage| stage.wip.as_ref())
}
