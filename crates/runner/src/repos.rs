//! The two repositories of a run: the user's, which is only read, and the private one.

use std::path::Path;

use domain::{CommitId, EffectId, Run};
use jiff::Timestamp;

use crate::git::{
    self, Author, BranchName, CommitText, EFFECT_TRAILER, PrivateRepo, RUN_TRAILER, STAGE_TRAILER, UserRepo,
};
use crate::paths::Paths;
use crate::trouble::Trouble;

/// Both repositories and the run's branch names.
pub(crate) struct Repos {
    pub(crate) user: UserRepo,
    pub(crate) private: PrivateRepo,
    pub(crate) branch: BranchName,
    pub(crate) base: BranchName,
}

impl Repos {
    pub(crate) fn open(paths: &Paths, run: &Run) -> Result<Self, Trouble> {
        let opened = run.opened();
        let user = UserRepo::open(Path::new(&opened.project))?;
        let private = PrivateRepo::open(&paths.repo(user.top()), &user)?;
        let branch = BranchName::parse(&opened.branch)?;
        let base = BranchName::parse(&opened.config.git.base_branch)?;
        let repos = Self { user, private, branch, base };
        repos.restore(run)?;
        Ok(repos)
    }

    /// A repository that was rebuilt may have lost the run's branch. Its log names the commit, which is there if either
    /// repository has it.
    fn restore(&self, run: &Run) -> Result<(), Trouble> {
        let Some(head) = run.head.as_ref().filter(|_| self.private.was_rebuilt()) else { return Ok(()) };
        if self.private.tip(&self.branch)?.is_some() {
            return Ok(());
        }
        if self.private.reference(head.as_str())?.is_none() {
            return Err(git::GitError::CommitLost { commit: head.short().to_owned() }.into());
        }
        tracing::warn!(run = %run.id, branch = %self.branch, %head, "the run's branch was lost and stands again");
        Ok(self.private.force_ref(&self.branch.full(), &to_git(head)?)?)
    }

    /// The branch's tip as the run's log knows it.
    pub(crate) fn head(run: &Run) -> Result<git::CommitId, Trouble> {
        let head = run.head.as_ref().ok_or_else(|| Trouble::new("the run has no branch yet"))?;
        to_git(head)
    }

    pub(crate) fn base_commit(run: &Run) -> Result<git::CommitId, Trouble> {
        let base = run.base.as_ref().ok_or_else(|| Trouble::new("the run has no branch yet"))?;
        to_git(base)
    }
}

/// What a commit of ours says: trailers lead from any line back to its run.
pub(crate) fn commit_text(effect: &EffectId, stage: &str, message: String, when: Timestamp) -> CommitText {
    let trailers = vec![
        (RUN_TRAILER.to_owned(), effect.run.to_string()),
        (STAGE_TRAILER.to_owned(), stage.to_owned()),
        (EFFECT_TRAILER.to_owned(), effect.to_string()),
    ];
    let author = Author { name: "Holdpoint".to_owned(), email: "holdpoint@localhost".to_owned() };
    CommitText { message, trailers, when, author }
}

pub(crate) fn to_git(commit: &CommitId) -> Result<git::CommitId, Trouble> {
    Ok(git::CommitId::parse(commit.as_str())?)
}

pub(crate) fn from_git(commit: &git::CommitId) -> Result<CommitId, Trouble> {
    commit.as_str().parse().map_err(|error: domain::IdError| Trouble::of(&error))
}

/// When an effect was wished for; commits carry this date, so that a repeat gives the same commit.
pub(crate) fn wished_at(run: &Run, effect: &EffectId) -> Timestamp {
    run.requested_at.get(&effect.number).copied().unwrap_or(run.updated_at)
}
