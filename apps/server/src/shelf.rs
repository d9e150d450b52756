//! What the server sees of agents at work: their live activity, artifacts and diffs; and the one thing it says to them.

use std::future::Future;
use std::pin::Pin;

use domain::{Artifact, Run};
use drivers::Guidance;
use runner::{Activity, Hands, ReadError, RunDiff, TellError};
use tokio::sync::broadcast;

/// A read that is under way.
pub type Reading<'a, T> = Pin<Box<dyn Future<Output = Result<T, ReadError>> + Send + 'a>>;

/// A word that is on its way.
pub type Telling<'a> = Pin<Box<dyn Future<Output = Result<Guidance, TellError>> + Send + 'a>>;

/// What the hands let the server look at. A seam, so that the faces can be tested without agents.
pub trait Shelf: Send + Sync + 'static {
    /// What agents do right now.
    fn activity(&self) -> broadcast::Receiver<Activity>;
    /// The text of an artifact; for code the diff against the base.
    fn artifact_text<'a>(&'a self, run: &'a Run, artifact: &'a Artifact) -> Reading<'a, String>;
    /// The diff of a run's branch against its base.
    fn diff<'a>(&'a self, run: &'a Run) -> Reading<'a, RunDiff>;
    /// Gives the agent at work a person's word.
    fn tell<'a>(&'a self, run: &'a Run, session: Option<&'a str>, by: &'a str, text: &'a str) -> Telling<'a>;
}

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

    fn tell<'a>(&'a self, run: &'a Run, session: Option<&'a str>, by: &'a str, text: &'a str) -> Telling<'a> {
        Box::pin(Hands::tell(self, run, session, by, text))
    }
}
