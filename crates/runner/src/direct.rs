//! Programs that use their own login at their own vendor: which, where they may go, and their login on its way into the
//! session folder and out of it again. Never shows a login; never follows a link that an agent may have planted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use broker::{DirectGrant, HostPattern, PriceTable, Secret};
use domain::{AgentProgram, AgentTask, ModelName, Run, RunId};
use drivers::{Way, driver};

use crate::dir_fd::{Dir, FileError, Kind, read_trusted};
use crate::paths::Paths;
use crate::trouble::Trouble;

/// A login is a small file.
const MOST_LOGIN: u64 = 1024 * 1024;

/// The programs that use their own login, by their name.
#[derive(Debug, Clone, Default)]
pub struct DirectAgents(pub BTreeMap<String, DirectSettings>);

/// How one program uses its own login.
#[derive(Debug, Clone)]
pub struct DirectSettings {
    /// Where it may go.
    pub hosts: Vec<HostPattern>,
    /// Its login files.
    pub login: Vec<LoginFile>,
    /// Variables that hold its login; `None`: not set where the server runs.
    pub variables: BTreeMap<String, Option<Secret>>,
}

/// A file with a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginFile {
    /// Where the user has it.
    pub from: PathBuf,
    /// Where the program looks for it, below the session folder.
    pub to: String,
}

/// A login that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// A file.
    #[error("the login file `{}` of `{program}` cannot be read: {reason}", path.display())]
    File {
        /// The program.
        program: String,
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A variable.
    #[error("the variable {name} with the login of `{program}` is not set where the server runs")]
    Variable {
        /// The program.
        program: String,
        /// Which.
        name: String,
    },
    /// The run was started with a login that the settings no longer name.
    #[error("`{0}` was to use its own login, and config.toml no longer has [agents.direct.\"{0}\"]")]
    NotSet(String),
    /// The run has read text of strangers, and a login is a secret.
    #[error("`{program}` would work with its own login, and {told}")]
    Strangers {
        /// The program.
        program: String,
        /// What was read.
        told: String,
    },
}

impl LoginError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::File { program, .. } | Self::Variable { program, .. } => {
                let known: Option<AgentProgram> = program.parse().ok();
                let how = known.as_ref().map_or("log it in", driver::how_to_log_in);
                format!("{how}; what it has is named in [agents.direct.\"{program}\"] of config.toml")
            }
            Self::Strangers { .. } => "start another run with a program that goes through the broker, or with \
                                       `--trust-source` if you trust what it has read"
                .to_owned(),
            Self::NotSet(_) => "put it back and start the server again, or start another run".to_owned(),
        }
    }
}

impl From<LoginError> for Trouble {
    fn from(error: LoginError) -> Self {
        Self::with_hint(error.to_string(), error.hint())
    }
}

impl DirectSettings {
    /// Whether its login is there.
    ///
    /// # Errors
    /// What is missing.
    pub fn check(&self, program: &str) -> Result<(), LoginError> {
        for file in &self.login {
            file.read().map_err(|reason| LoginError::File {
                program: program.to_owned(),
                path: file.from.clone(),
                reason,
            })?;
        }
        match self.variables.iter().find(|(_, value)| value.is_none()) {
            Some((name, _)) => Err(LoginError::Variable { program: program.to_owned(), name: name.clone() }),
            None => Ok(()),
        }
    }
}

impl LoginFile {
    /// Its content.
    ///
    /// # Errors
    /// Why there is none.
    pub fn read(&self) -> Result<Vec<u8>, String> {
        read_trusted(&self.from, MOST_LOGIN).map_err(|error| match error {
            FileError::NotRegular(_) => "it is not a file".to_owned(),
            FileError::TooLarge { .. } => "it is too large for a login".to_owned(),
            FileError::Missing | FileError::Io(_) => error.to_string(),
        })
    }
}

/// What a program with its own login is given for one attempt.
#[derive(Debug, Clone)]
pub(crate) struct Direct {
    program: AgentProgram,
    settings: DirectSettings,
}

impl DirectAgents {
    /// The settings of the program that plays a role, where it uses its own login.
    pub(crate) fn of(&self, run: &Run, task: &AgentTask) -> Result<Option<Direct>, LoginError> {
        let role = &task.session.role;
        if !run.is_direct(role) {
            return Ok(None);
        }
        let program = run.program(role);
        let name = program.to_string();
        if let Some(told) = run.told_of_strangers() {
            return Err(LoginError::Strangers { program: name, told });
        }
        let settings = self.0.get(&name).ok_or_else(|| LoginError::NotSet(name.clone()))?;
        settings.check(&name)?;
        Ok(Some(Direct { program, settings: settings.clone() }))
    }

    /// Takes every login back out of the session folders of a run.
    pub(crate) fn take_back(&self, paths: &Paths, run: &RunId) -> Result<(), Trouble> {
        let places: Vec<&str> = self.0.values().flat_map(|one| &one.login).map(|file| file.to.as_str()).collect();
        let folder = paths.run(run).join("sessions");
        let sessions = match Dir::open(&folder).and_then(|sessions| Ok((sessions.names()?, sessions))) {
            Ok((names, sessions)) => names.into_iter().map(move |name| (sessions.sub(&name), name)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Trouble::io("reading", &folder, &error)),
        };
        for (session, name) in sessions {
            let session = session.and_then(|session| places.iter().try_for_each(|place| remove(&session, place)));
            let path = || folder.join(String::from_utf8_lossy(&name).as_ref());
            session.map_err(|error| Trouble::io("taking the login out of", &path(), &error))?;
        }
        Ok(())
    }
}

impl Direct {
    pub(crate) fn way(&self) -> Way {
        Way::Direct {
            login: self.settings.login.iter().map(|file| file.to.clone()).collect(),
            hosts: self.settings.hosts.iter().map(ToString::to_string).collect(),
        }
    }

    pub(crate) fn grant(&self, model: Option<&ModelName>, prices: &PriceTable) -> DirectGrant {
        let vendor = driver::vendor(&self.program);
        let set = self.settings.variables.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        let provider = vendor.or_else(|| model.map(ModelName::provider)).unwrap_or_default().to_owned();
        DirectGrant {
            program: self.program.to_string(),
            hosts: self.settings.hosts.clone(),
            model: model.map(ToString::to_string),
            prices: prices.for_provider(&provider),
            provider,
            variables: set.map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }

    /// Puts its login where it looks for it.
    pub(crate) fn put(&self, session: &Path) -> Result<(), Trouble> {
        let written = |error: std::io::Error| Trouble::io("putting the login into", session, &error);
        let folder = Dir::open(session).map_err(written)?;
        for file in &self.settings.login {
            let bytes = file.read().map_err(|reason| {
                let program = self.program.to_string();
                Trouble::from(LoginError::File { program, path: file.from.clone(), reason })
            })?;
            let (parent, name) = folder.make_parent_of(file.to.as_bytes()).map_err(written)?;
            parent.write(name, &bytes, 0o600).map_err(written)?;
        }
        Ok(())
    }
}

fn remove(session: &Dir, place: &str) -> std::io::Result<()> {
    let Some((parent, name)) = session.parent_of(place.as_bytes())? else { return Ok(()) };
    match parent.kind(name)? {
        Some(Kind::File { .. } | Kind::Symlink | Kind::Special(_)) => parent.remove(name),
        // The program made something else of it; no login of ours is there.
        Some(Kind::Directory) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_follows_no_link_that_an_agent_left_in_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let (session, outside) = (folder.path().join("session"), folder.path().join("outside"));
        std::fs::create_dir(&session).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join(".credentials.json"), "the user's own").unwrap();
        std::os::unix::fs::symlink(&outside, session.join("claude")).unwrap();
        let login = LoginFile { from: outside.join(".credentials.json"), to: "claude/.credentials.json".to_owned() };
        let settings = DirectSettings { hosts: Vec::new(), login: vec![login], variables: BTreeMap::new() };
        remove(&Dir::open(&session).unwrap(), "claude/.credentials.json").unwrap();
        assert!(outside.join(".credentials.json").exists(), "what lies behind the link is left alone");
        let direct = Direct { program: AgentProgram::Claude, settings: settings.clone() };
        direct.put(&session).unwrap();
        let put = session.join("claude/.credentials.json");
        assert!(!session.join("claude").symlink_metadata().unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&put).unwrap(), "the user's own");
        let mode = std::os::unix::fs::PermissionsExt::mode(&put.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        remove(&Dir::open(&session).unwrap(), "claude/.credentials.json").unwrap();
        assert!(!put.exists() && outside.join(".credentials.json").exists());
    }

    #[test]
    fn what_is_missing_of_a_login_is_named_and_nothing_of_it_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let missing = LoginFile { from: folder.path().join("none.json"), to: "claude/none.json".to_owned() };
        let mut settings = DirectSettings {
            hosts: Vec::new(),
            login: vec![missing],
            variables: BTreeMap::from([("TOKEN".to_owned(), Some(Secret::new("s3cret")))]),
        };
        assert!(settings.check("claude").unwrap_err().to_string().contains("none.json"));
        settings.login.clear();
        settings.check("claude").unwrap();
        assert!(!format!("{settings:?}").contains("s3cret"));
        settings.variables.insert("OTHER".to_owned(), None);
        assert!(settings.check("claude").unwrap_err().to_string().contains("OTHER"));
    }
}
