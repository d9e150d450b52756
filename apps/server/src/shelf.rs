//! What the server may look at while agents work: their live activity, artifacts, diffs, and the repository itself
//! through an agent that only reads. Never changes any of it.

use std::future::Future;
use std::pin::Pin;

use domain::{Artifact, CommitId, Run};
use runner::{Activity, Hands, ReadError, RunDiff, Talk, Talked, Watch};
use tokio::sync::broadcast;

/// A read that is under way.
pub type Reading<'a, T> = Pin<Box<dyn Future<Output = Result<T, ReadError>> + Send + 'a>>;

/// What the hands let the server look at. A seam, so that the faces can be tested without agents.
pub trait Shelf: Send + Sync + 'static {
    /// What agents do right now.
    fn activity(&self) -> broadcast::Receiver<Activity>;
    /// The text of an artifact; for code the diff against the base.
    fn artifact_text<'a>(&'a self, run: &'a Run, artifact: &'a Artifact) -> Reading<'a, String>;
    /// The diff of a run's branch against its base.
    fn diff<'a>(&'a self, run: &'a Run) -> Reading<'a, RunDiff>;
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

    fn artifact_text<'a>(&'a self, run: &'a Run, artifact: &'a Artifact) -> Reading<'a, String> {
        Box::pin(Hands::artifact_text(self, run, artifact))
    }

    fn diff<'a>(&'a self, run: &'a Run) -> Reading<'a, RunDiff> {
        Box::pin(Hands::diff(self, run))
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
