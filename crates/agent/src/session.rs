//! The session folder: the job that is read, the result that is handed in.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use drivers::{GUIDANCE_FILE, HandIn, JOB_FILE, Job, OBSERVATIONS_FILE, RESULT_FILE, STREAM_FILE, TURNS_FILE};

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
    /// The result cannot be written.
    #[error("the result `{}` cannot be handed in: {source}", .path.display())]
    ResultUnwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
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

    /// Publishes the result: after a crash there is either none or all of it.
    pub(crate) fn hand_in(&self, hand_in: &HandIn) -> Result<(), SessionError> {
        let path = self.0.join(RESULT_FILE);
        let bytes = serde_json::to_vec_pretty(hand_in).expect("a hand-in is made of strings and lists");
        self.publish(&path, &bytes).map_err(|source| SessionError::ResultUnwritable { path, source })
    }

    fn publish(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let temporary = path.with_extension("json.tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        File::open(&self.0)?.sync_all()
    }
}
