//! Pushes the run's branch to the user's remote, if there is one.

use domain::{CommitId, Outcome, SecretFinding};
use engine::{Job, boundary};

use crate::git::{PushOutcome, push_remote};
use crate::hands::Hands;
use crate::repos::{Repos, to_git};
use crate::trouble::Trouble;

/// `ask`: nobody said yes to this code, so nothing is sent to a remote that there is.
pub(crate) async fn run(hands: &Hands, job: &Job, commit: &CommitId, ask: bool) -> Result<Outcome, Trouble> {
    let (paths, run, commit) = (hands.paths.clone(), job.run.clone(), to_git(commit)?);
    let guards = hands.guards();
    hands
        .blocking(&job.id.run, move || {
            let repos = Repos::open(&paths, &run)?;
            let Some(remote) = repos.user.remote(&repos.base)? else {
                return Ok(Outcome::Pushed { remote: None });
            };
            if ask {
                return Ok(Outcome::PushUnasked { remote: remote.name });
            }
            let mut findings =
                guards.with_tasks(&run)?.in_range(&repos.private, &Repos::base_commit(&run)?, &commit)?;
            if !findings.is_empty() {
                findings.truncate(SecretFinding::MOST);
                return Ok(Outcome::SecretsFound { findings });
            }
            boundary("push.before");
            let pushed = push_remote(&repos.private, &repos.user, &remote, &repos.branch, &commit)?;
            boundary("push.after");
            Ok(match pushed {
                PushOutcome::Pushed | PushOutcome::AlreadyThere => Outcome::Pushed { remote: Some(remote.name) },
                PushOutcome::Rejected { reason }
                | PushOutcome::Refused { reason }
                | PushOutcome::Unreachable { reason } => Outcome::PushRefused { reason },
            })
        })
        .await
}
