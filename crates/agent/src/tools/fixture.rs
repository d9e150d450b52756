//! A desk in a temporary folder, for the tests of the tools.

use drivers::{Job, JobKind};

use super::Desk;
use crate::workspace::Workspace;

pub(super) fn desk(files: &[(&str, &str)]) -> (tempfile::TempDir, Desk) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("work");
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(folder.path().join("session")).unwrap();
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let desk = reopened(&folder);
    (folder, desk)
}

/// The same desk in a new process.
pub(super) fn reopened(folder: &tempfile::TempDir) -> Desk {
    with_job(folder, &crate::prompt::tests::job(JobKind::Code))
}

/// The desk of who judges a change.
pub(super) fn judging(diff: &str) -> (tempfile::TempDir, Desk) {
    let (folder, _) = desk(&[]);
    let job = Job { diff: Some(diff.to_owned()), ..crate::prompt::tests::job(JobKind::Review) };
    let desk = with_job(&folder, &job);
    (folder, desk)
}

/// The desk where a search is set up; the broker's socket is in the folder itself.
pub(super) fn with_web(folder: &tempfile::TempDir) -> Desk {
    with_job(folder, &Job { web_search: true, ..crate::prompt::tests::job(JobKind::Code) })
}

/// The desk where a model makes vectors; the broker's socket is in the folder itself.
pub(super) fn with_embeddings(folder: &tempfile::TempDir, model: &str) -> Desk {
    with_job(folder, &Job { embeddings: Some(model.to_owned()), ..crate::prompt::tests::job(JobKind::Code) })
}

fn with_job(folder: &tempfile::TempDir, job: &Job) -> Desk {
    let workspace = Workspace::open(&folder.path().join("work")).unwrap();
    Desk::new(workspace, &folder.path().join("session"), folder.path(), job)
}
