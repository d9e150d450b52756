//! Takes up what a person did on the run's branch in their repository.

use domain::{ArtifactKind, Digest, Outcome};
use engine::{Job, boundary};

use crate::artifacts::Table;
use crate::git::{self, Adopted};
use crate::hands::Hands;
use crate::repos::Repos;
use crate::trouble::Trouble;

const MAX_FILES_LISTED: usize = 500;

pub(crate) async fn run(hands: &Hands, job: &Job, stage: &str) -> Result<Outcome, Trouble> {
    let (paths, inner, stage) = (hands.paths.clone(), job.clone(), stage.to_owned());
    let guard = hands.guard(&job.run);
    let work = move || {
        let repos = Repos::open(&paths, &inner.run)?;
        boundary("adopt.before");
        let adopted = git::adopt(&repos.private, &repos.user, &repos.branch, &Repos::head(&inner.run)?, None)?;
        boundary("adopt.after");
        let branch = &repos.branch;
        let reason = match adopted {
            Adopted::Taken { commit, tree, changed } => {
                let table = Table { paths: &paths, repos: &repos, job: &inner, stage: &stage, guard: &guard };
                let title = format!("taken over from `{branch}`: {}", subject_of(&repos, &commit)?);
                let digest = Digest::of([tree.as_str()]);
                let mut artifact = table.artifact(kind(&inner, &stage), None, &commit, digest, title)?;
                artifact.files = changed.into_iter().take(MAX_FILES_LISTED).collect();
                return Ok(Outcome::Adopted { artifact: Box::new(artifact) });
            }
            Adopted::Nothing => {
                format!("`{branch}` in your repository has no new commit; commit your work there, then resume")
            }
            Adopted::Diverged { tip } => format!(
                "`{branch}` in your repository (at {tip}) does not follow from the run's; merge or rebase it onto what \
                 Holdpoint put there, then resume"
            ),
            Adopted::Lacks { missing } => format!("`{branch}` in your repository does not contain {missing}"),
            Adopted::Unsafe(refusal) => {
                format!("what is on `{branch}` cannot be taken up: {refusal}; mend it there, then resume")
            }
        };
        Ok(Outcome::NotAdopted { reason })
    };
    hands.blocking(&job.id.run, work).await
}

/// What the stage would have made, if that is code; a person's commits are code in any case.
fn kind(job: &Job, stage: &str) -> ArtifactKind {
    let index = job.run.opened().playbook.index_of(stage);
    let made = index.and_then(|index| job.run.stage(index).work.artifact());
    made.filter(|kind| kind.is_code()).unwrap_or(ArtifactKind::Code)
}

fn subject_of(repos: &Repos, commit: &git::CommitId) -> Result<String, Trouble> {
    Ok(crate::artifacts::one_line(&repos.private.message(commit)?))
}
