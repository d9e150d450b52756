//! What the server may look at while agents work: their live activity, artifacts, diffs, and the repository itself
//! through an agent that only reads. Never changes any of it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use domain::{Artifact, CommitId, Run};
use runner::git::{ChangeList, FilePage, PatchPage};
use runner::{Activity, ArtifactText, FileWish, Hands, Listing, ReadError, RunDiff, Talk, Talked, Watch};
use tokio::sync::broadcast;

/// A read that is under way.
pub type Reading<'a, T> = Pin<Box<dyn Future<Output = Result<T, ReadError>> + Send + 'a>>;

/// What the hands let the server look at. A seam, so that the faces can be tested without agents.
pub trait Shelf: Send + Sync + 'static {
    /// What agents do right now.
    fn activity(&self) -> broadcast::Receiver<Activity>;
    /// The text of an artifact; for code the diff against the base.
    fn artifact_text<'a>(&'a self, run: &'a Run, artifact: &'a Artifact) -> Reading<'a, ArtifactText>;
    /// The diff of a run's branch against its base.
    fn diff<'a>(&'a self, run: &'a Run) -> Reading<'a, RunDiff>;
    /// Every file that a commit changes against the run's base.
    fn changes<'a>(&'a self, run: &'a Run, to: &'a CommitId, listing: Listing) -> Reading<'a, Arc<ChangeList>>;
    /// A page of the diff of one file.
    fn file_page<'a>(&'a self, run: &'a Run, to: &'a CommitId, wish: FileWish) -> Reading<'a, Option<FilePage>>;
    /// A page of the whole diff.
    fn patch_page<'a>(&'a self, run: &'a Run, to: &'a CommitId, part: (u64, usize)) -> Reading<'a, PatchPage>;
    /// Whether commits that a fork would begin with are still there.
    fn check_commits<'a>(&'a self, run: &'a Run, commits: Vec<CommitId>) -> Reading<'a, ()>;
    /// Says to the agent at work what people said to it.
    fn pass_on<'a>(&'a self, run: &'a Run) -> Telling<'a>;
    /// Where a person's terminal is reached, while a run's conversation is on one.
    fn terminal(&self, run: &Run) -> Option<std::path::PathBuf>;
    /// Has a question about a repository answered, by an agent that may only read.
    fn discuss(&self, talk: Talk, watch: Watch) -> Talking<'_>;
}

/// A word that is being said.
pub type Telling<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// A question that is being answered.
pub type Talking<'a> = Pin<Box<dyn Future<Output = Result<Talked, String>> + Send + 'a>>;

impl Shelf for Hands {
    fn activity(&self) -> broadcast::Receiver<Activity> {
        Hands::activity(self)
    }

    fn artifact_text<'a>(&'a self, run: &'a Run, artifact: &'a Artifact) -> Reading<'a, ArtifactText> {
        Box::pin(Hands::artifact_text(self, run, artifact))
    }

    fn diff<'a>(&'a self, run: &'a Run) -> Reading<'a, RunDiff> {
        Box::pin(Hands::diff(self, run))
    }

    fn changes<'a>(&'a self, run: &'a Run, to: &'a CommitId, listing: Listing) -> Reading<'a, Arc<ChangeList>> {
        Box::pin(Hands::changes(self, run, to, listing))
    }

    fn file_page<'a>(&'a self, run: &'a Run, to: &'a CommitId, wish: FileWish) -> Reading<'a, Option<FilePage>> {
        Box::pin(Hands::file_page(self, run, to, wish))
    }

    fn patch_page<'a>(&'a self, run: &'a Run, to: &'a CommitId, part: (u64, usize)) -> Reading<'a, PatchPage> {
        Box::pin(Hands::patch_page(self, run, to, part))
    }

    fn check_commits<'a>(&'a self, run: &'a Run, commits: Vec<CommitId>) -> Reading<'a, ()> {
        Box::pin(Hands::check_commits(self, run, commits))
    }

    fn pass_on<'a>(&'a self, run: &'a Run) -> Telling<'a> {
        Box::pin(Hands::pass_on(self, run))
    }

    fn terminal(&self, run: &Run) -> Option<std::path::PathBuf> {
        Hands::terminal(self, run)
    }

    fn discuss(&self, talk: Talk, watch: Watch) -> Talking<'_> {
        Box::pin(Hands::discuss(self, talk, watch))
    }
}
