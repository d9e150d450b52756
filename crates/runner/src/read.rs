//! Reading what runs made, from the private repository. Never writes.

use domain::{Artifact, CommitId, Run};

use crate::git::{CappedDiff, ChangeStatus};
use crate::hands::Hands;
use crate::repos::{Repos, to_git};
use crate::trouble::Trouble;

/// What cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ReadError {
    /// What happened.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

impl From<Trouble> for ReadError {
    fn from(trouble: Trouble) -> Self {
        Self { message: trouble.to_string(), hint: trouble.hint }
    }
}

/// The change of a run against its base.
#[derive(Debug, Clone)]
pub struct RunDiff {
    /// From.
    pub base: String,
    /// To.
    pub head: String,
    /// Path, status letter, added and deleted lines.
    pub files: Vec<(String, String, Option<u64>, Option<u64>)>,
    /// Unified diff.
    pub text: String,
    /// Whether the text was cut.
    pub truncated: bool,
}

const MAX_DIFF: u64 = 1024 * 1024;

impl Hands {
    /// The text of an artifact: the file, or for code the unified diff against the base, below its note if it has one.
    pub async fn artifact_text(&self, run: &Run, artifact: &Artifact) -> Result<String, ReadError> {
        let (paths, run, artifact) = (self.paths.clone(), run.clone(), artifact.clone());
        let read = move || {
            let repos = Repos::open(&paths, &run)?;
            let commit = to_git(&artifact.commit)?;
            let file = match &artifact.path {
                Some(path) => {
                    let bytes = repos.private.read_file(&commit, path)?;
                    let bytes = bytes.ok_or_else(|| Trouble::new(format!("`{path}` is not in commit {commit}")))?;
                    Some(String::from_utf8_lossy(&bytes).into_owned())
                }
                None => None,
            };
            if let (false, Some(text)) = (artifact.kind.is_code(), &file) {
                return Ok(text.clone());
            }
            let (CappedDiff::Whole(diff) | CappedDiff::CutOff(diff)) =
                repos.private.diff_capped(&Repos::base_commit(&run)?, &commit, MAX_DIFF)?;
            Ok(file.map_or_else(|| diff.clone(), |note| format!("{}\n\n{diff}", note.trim_end())))
        };
        Ok(self.reading(read).await?)
    }

    /// Whether commits that another run would begin with are still there.
    pub async fn check_commits(&self, run: &Run, commits: Vec<CommitId>) -> Result<(), ReadError> {
        let (paths, run) = (self.paths.clone(), run.clone());
        let read = move || match gone(&Repos::open(&paths, &run)?, commits.iter())? {
            Some(missing) => Err(missing),
            None => Ok(()),
        };
        Ok(self.reading(read).await?)
    }

    /// The change of a run against its base, as its branch stands.
    pub async fn diff(&self, run: &Run) -> Result<RunDiff, ReadError> {
        let (paths, run) = (self.paths.clone(), run.clone());
        let read = move || {
            let repos = Repos::open(&paths, &run)?;
            let (base, head) = (Repos::base_commit(&run)?, Repos::head(&run)?);
            let files = repos.private.diffstat(&base, &head)?;
            let (text, truncated) = match repos.private.diff_capped(&base, &head, MAX_DIFF)? {
                CappedDiff::Whole(text) => (text, false),
                CappedDiff::CutOff(text) => (text, true),
            };
            let files =
                files.into_iter().map(|file| (file.path, letter(&file.status), file.added, file.deleted)).collect();
            Ok(RunDiff { base: base.to_string(), head: head.to_string(), files, text, truncated })
        };
        Ok(self.reading(read).await?)
    }

    /// Reading takes no lane: it must not wait for a run's work.
    async fn reading<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Trouble> {
        let task = tokio::task::spawn_blocking(read);
        task.await.unwrap_or_else(|join| Err(Trouble::new(format!("the reading ended early: {join}"))))
    }
}

/// What to say of the first commit that is not there any more.
pub(crate) fn gone<'a>(repos: &Repos, commits: impl Iterator<Item = &'a CommitId>) -> Result<Option<Trouble>, Trouble> {
    for commit in commits {
        if repos.private.reference(commit.as_str())?.is_none() {
            let message = format!("commit {} is not in Holdpoint's repository of the project any more", commit.short());
            let hint = "the data directory was cleaned or begun anew since; start a new run, or fork a newer one";
            return Ok(Some(Trouble::with_hint(message, hint)));
        }
    }
    Ok(None)
}

fn letter(status: &ChangeStatus) -> String {
    match status {
        ChangeStatus::Added => "A",
        ChangeStatus::Modified => "M",
        ChangeStatus::Deleted => "D",
        ChangeStatus::TypeChanged => "T",
        ChangeStatus::Renamed { .. } => "R",
    }
    .to_owned()
}
