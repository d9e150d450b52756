//! Reading what runs made, from the private repository. Never writes.

use std::sync::Arc;

use domain::{Artifact, CommitId, Run};

use crate::change_lists::Listing;
use crate::git::{self, CappedDiff, ChangeList, ChangeStatus, FileId, FilePage, PatchPage, TextView};
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

/// Path, status letter, added and deleted lines.
pub type FileCounts = (String, String, Option<u64>, Option<u64>);

/// The change of a run against its base, with as much of its text as fits.
#[derive(Debug, Clone)]
pub struct RunDiff {
    /// From.
    pub base: String,
    /// To.
    pub head: String,
    /// All of them.
    pub files: Vec<FileCounts>,
    /// Unified diff.
    pub text: String,
    /// Whether the text was cut.
    pub truncated: bool,
    /// Files that the text does not have whole.
    pub left_out: Vec<String>,
}

/// An artifact to read.
#[derive(Debug, Clone, Default)]
pub struct ArtifactText {
    /// The file, or for code the unified diff against the base, below its note if it has one.
    pub text: String,
    /// Of code: the words its agent wrote beside it.
    pub note: Option<String>,
    /// Of code: its files, all of them.
    pub files: Option<Vec<FileCounts>>,
    /// Of code: files that the text does not have whole.
    pub left_out: Vec<String>,
}

/// Which part of a file's diff is wanted.
#[derive(Debug, Clone)]
pub struct FileWish {
    /// The file.
    pub file: FileId,
    /// From this byte on.
    pub offset: u64,
    /// Whether a binary is shown as lines too.
    pub view: TextView,
}

/// Bytes of a diff that is answered in one piece.
const MAX_DIFF: u64 = 1024 * 1024;
/// Bytes of one page of a file's diff.
const FILE_PAGE: usize = 256 * 1024;

impl Hands {
    /// The text of an artifact.
    pub async fn artifact_text(&self, run: &Run, artifact: &Artifact) -> Result<ArtifactText, ReadError> {
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
                return Ok(ArtifactText { text: text.clone(), ..ArtifactText::default() });
            }
            let RunDiff { files, text: diff, left_out, .. } = cut_diff(&repos, &Repos::base_commit(&run)?, &commit)?;
            let text = file.as_ref().map_or_else(|| diff.clone(), |note| format!("{}\n\n{diff}", note.trim_end()));
            Ok(ArtifactText { text, note: file, files: Some(files), left_out })
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
            cut_diff(&repos, &Repos::base_commit(&run)?, &Repos::head(&run)?)
        };
        Ok(self.reading(read).await?)
    }

    /// Every file that a commit changes against the run's base. A fresh list fails when the content of a file cannot be read.
    pub async fn changes(&self, run: &Run, to: &CommitId, listing: Listing) -> Result<Arc<ChangeList>, ReadError> {
        let lists = Arc::clone(&self.change_lists);
        let read = move |repos: &Repos, base: &git::CommitId, to: &git::CommitId| {
            let commits = (base.clone(), to.clone());
            if let Some(list) = lists.get(&commits).filter(|_| listing == Listing::Continued) {
                return Ok(list);
            }
            let list = Arc::new(repos.private.changes(base, to)?);
            lists.keep(commits, &list);
            Ok(list)
        };
        self.between(run, to, read).await
    }

    /// A page of the diff of one file; `None` when the change has no such file.
    pub async fn file_page(&self, run: &Run, to: &CommitId, wish: FileWish) -> Result<Option<FilePage>, ReadError> {
        let page = move |repos: &Repos, base: &git::CommitId, to: &git::CommitId| {
            Ok(repos.private.file_page((base, to), &wish.file, wish.view, (wish.offset, FILE_PAGE))?)
        };
        self.between(run, to, page).await
    }

    /// A page of the whole diff, as git prints it: from a byte on, at most so many.
    pub async fn patch_page(&self, run: &Run, to: &CommitId, part: (u64, usize)) -> Result<PatchPage, ReadError> {
        self.between(run, to, move |repos, base, to| Ok(repos.private.patch_page(base, to, part)?)).await
    }

    async fn between<T: Send + 'static>(
        &self,
        run: &Run,
        to: &CommitId,
        read: impl FnOnce(&Repos, &git::CommitId, &git::CommitId) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, ReadError> {
        let (paths, run, to) = (self.paths.clone(), run.clone(), to.clone());
        let read = move || {
            let repos = Repos::open(&paths, &run)?;
            read(&repos, &Repos::base_commit(&run)?, &to_git(&to)?)
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

/// The list is whole; the text is cut where it is very long, and then it is told what is not in it.
fn cut_diff(repos: &Repos, base: &git::CommitId, head: &git::CommitId) -> Result<RunDiff, Trouble> {
    let files = repos.private.diffstat(base, head)?;
    let (text, truncated) = match repos.private.diff_capped(base, head, MAX_DIFF)? {
        CappedDiff::Whole(text) => (text, false),
        CappedDiff::CutOff(text) => (text, true),
    };
    let left_out = if truncated { git::left_out(&files, &text) } else { Vec::new() };
    let files = files.into_iter().map(|file| (file.path, letter(&file.status), file.added, file.deleted)).collect();
    Ok(RunDiff { base: base.to_string(), head: head.to_string(), files, text, truncated, left_out })
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

/// One letter, as git writes it.
fn letter(status: &ChangeStatus) -> String {
    status.letter().to_owned()
}
