//! The code of a run with its tests as they were in the base commit: a second proof that an agent cannot make pass by
//! changing the tests.

use domain::{CommitId, is_test_file, is_test_harness};
use engine::Job;

use crate::git::{self, CommitRequest};
use crate::hands::Hands;
use crate::repos::{Repos, commit_text, from_git, to_git, wished_at};
use crate::trouble::Trouble;

/// Paths that an event names.
const MAX_FILES: usize = 500;

/// A commit of the same code with earlier tests.
pub(super) struct Earlier {
    /// Test files that the run changed or deleted, and new ones that runners read by themselves; at most [`MAX_FILES`].
    pub(super) files: Vec<String>,
    /// On no branch; the same for every repeat of the effect.
    pub(super) commit: CommitId,
}

/// The code of this commit with the tests of the base, if the run changed or deleted some.
pub(super) async fn commit(hands: &Hands, job: &Job, commit: &CommitId) -> Result<Option<Earlier>, Trouble> {
    let (paths, job, commit) = (hands.paths.clone(), job.clone(), to_git(commit)?);
    let id = job.id.run.clone();
    let make = move || {
        let run = &*job.run;
        let repos = Repos::open(&paths, run)?;
        let commands: Vec<&str> = run.opened().config.checks.iter().map(|check| check.command.as_str()).collect();
        let is_test = |path: &[u8]| is_test_file(&String::from_utf8_lossy(path), &commands);
        // A new `conftest.py` could make every earlier test pass.
        let is_harness = |path: &[u8]| is_test_harness(&String::from_utf8_lossy(path));
        let base = Repos::base_commit(run)?;
        let Some(restored) = repos.private.restored(&base, &commit, is_test, is_harness)? else {
            return Ok(None);
        };
        let text = commit_text(
            &job.id,
            "testing",
            "The same code with the tests of the base".to_owned(),
            wished_at(run, &job.id),
        );
        let request = CommitRequest { parents: vec![commit], tree: restored.tree, text };
        let files = restored.paths.iter().take(MAX_FILES).map(|path| git::shown(path)).collect();
        Ok(Some(Earlier { files, commit: from_git(&repos.private.commit(&request)?)? }))
    };
    hands.blocking(&id, make).await
}
