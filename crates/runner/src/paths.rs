//! Where things lie in the data directory.

use std::path::{Path, PathBuf};

use domain::{Digest, EffectId, RunId, Session, slug};

/// The data directory's layout.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    home: PathBuf,
}

impl Paths {
    pub(crate) fn new(home: &Path) -> Self {
        Self { home: home.to_owned() }
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Folder of a project: its name for people, a digest of its path against mix-ups.
    pub(crate) fn project(&self, root: &Path) -> PathBuf {
        let name = root.file_name().map(|name| slug(&name.to_string_lossy())).unwrap_or_default();
        let digest = Digest::of([root.to_string_lossy().as_ref()]);
        self.home.join("projects").join(format!("{name}-{}", &digest.as_str()[..12]))
    }

    pub(crate) fn repo(&self, root: &Path) -> PathBuf {
        self.project(root).join("repo.git")
    }

    pub(crate) fn run(&self, run: &RunId) -> PathBuf {
        self.home.join("runs").join(run.as_str())
    }

    /// A file for each run whose folders could not be given back.
    pub(crate) fn left_over(&self) -> PathBuf {
        self.home.join("left-over")
    }

    pub(crate) fn channel(&self, channel: &str) -> PathBuf {
        self.home.join("channels").join(slug(channel))
    }

    pub(crate) fn workspace(&self, run: &RunId) -> PathBuf {
        self.run(run).join("workspace")
    }

    pub(crate) fn session(&self, run: &RunId, session: &Session) -> PathBuf {
        self.run(run).join("sessions").join(format!("{}-{}", slug(&session.role), session.visit))
    }

    /// How far a conversation had come when one of its processes had ended; beyond the reach of agents.
    pub(crate) fn mark(&self, run: &RunId, session: &Session) -> PathBuf {
        let name = format!("{}-{}-{}.json", slug(&session.role), session.visit, session.attempt);
        self.run(run).join("sessions").join("marks").join(name)
    }

    pub(crate) fn effects(&self, run: &RunId) -> PathBuf {
        self.run(run).join("effects")
    }

    /// Spool of an effect's process; `part` tells several processes of one effect apart.
    pub(crate) fn spool(&self, effect: &EffectId, part: Option<usize>) -> PathBuf {
        let name = match part {
            None => effect.number.to_string(),
            Some(part) => format!("{}-{part}", effect.number),
        };
        self.effects(&effect.run).join(name)
    }

    /// Clean checkout in which an effect's checks run.
    pub(crate) fn proving_ground(&self, effect: &EffectId) -> PathBuf {
        self.run(&effect.run).join(format!("proof-{}", effect.number))
    }
}
