//! The session folder: the job that is read, and where the files of a conversation are.

use std::io;
use std::path::PathBuf;

use drivers::{GUIDANCE_FILE, JOB_FILE, Job, OBSERVATIONS_FILE, STREAM_FILE, TURNS_FILE};

/// What can go wrong with the session folder.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// No job can be read.
    #[error("the job `{}` cannot be read: {source}", .path.display())]
    JobUnreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The job is not one this agent understands.
    #[error("the job `{}` is not understood: {source}", .path.display())]
    JobInvalid {
        /// The file.
        path: PathBuf,
        /// What the decoder said.
        source: serde_json::Error,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct SessionFolder(PathBuf);

impl SessionFolder {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(crate) fn turns(&self) -> PathBuf {
        self.0.join(TURNS_FILE)
    }

    pub(crate) fn guidance(&self) -> PathBuf {
        self.0.join(GUIDANCE_FILE)
    }

    pub(crate) fn observations(&self) -> PathBuf {
        self.0.join(OBSERVATIONS_FILE)
    }

    pub(crate) fn stream(&self) -> PathBuf {
        self.0.join(STREAM_FILE)
    }

    pub(crate) fn job(&self) -> Result<Job, SessionError> {
        let path = self.0.join(JOB_FILE);
        let bytes =
            std::fs::read(&path).map_err(|source| SessionError::JobUnreadable { path: path.clone(), source })?;
        serde_json::from_slice(&bytes).map_err(|source| SessionError::JobInvalid { path, source })
    }
}
