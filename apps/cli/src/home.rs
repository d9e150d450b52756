//! The data directory: where it is, and what a client reads there. Never writes anything but the folder itself.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use wire::ServerInfo;

use crate::failure::Failure;

/// The data directory.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    path: PathBuf,
    token: &'static str,
}

impl Home {
    /// `HOLDPOINT_HOME`, else the platform's data folder.
    pub(crate) fn find() -> Result<Self, Failure> {
        locate(|name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
            .and_then(|path| std::path::absolute(path).ok())
            .map(Self::at)
            .ok_or_else(|| {
                Failure::unavailable("no_home", "there is no data directory", "set HOLDPOINT_HOME to a folder of yours")
            })
    }

    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, token: "token" }
    }

    /// The same as an agent has it: with the token that reads and starts runs, and decides nothing.
    pub(crate) fn for_agents(&self) -> Self {
        Self { path: self.path.clone(), token: "mcp-token" }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn token_file(&self) -> PathBuf {
        self.path.join(self.token)
    }

    pub(crate) fn log_file(&self) -> PathBuf {
        self.path.join("server.log")
    }

    pub(crate) fn start_lock(&self) -> PathBuf {
        self.path.join("start.lock")
    }

    /// Makes the folder, readable by its owner only.
    pub(crate) fn create(&self) -> Result<(), Failure> {
        use std::os::unix::fs::DirBuilderExt as _;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.path)
            .map_err(|error| Failure::file("create the data directory", &self.path, &error))
    }

    /// Where a server says it is; it may be long gone.
    pub(crate) fn server(&self) -> Option<ServerInfo> {
        // A missing or half-written file means the same to a client: no server is known.
        let text = fs::read_to_string(self.path.join("server.json")).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(crate) fn token(&self) -> Result<String, Failure> {
        let path = self.token_file();
        let text = fs::read_to_string(&path).map_err(|error| Failure::file("read the token", &path, &error))?;
        Ok(text.trim().to_owned())
    }
}

fn locate(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable("HOLDPOINT_HOME")
        .or_else(|| variable("XDG_DATA_HOME").map(|data| data.join("holdpoint")))
        .or_else(|| variable("HOME").map(|home| home.join(".local/share/holdpoint")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_variable_wins_over_the_platform() {
        let find = |known: &[(&str, &str)]| {
            let known: Vec<_> = known.iter().map(|(k, v)| ((*k).to_owned(), PathBuf::from(v))).collect();
            locate(move |name| known.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone()))
        };
        assert_eq!(find(&[("HOLDPOINT_HOME", "/a"), ("HOME", "/h")]), Some("/a".into()));
        assert_eq!(find(&[("XDG_DATA_HOME", "/x"), ("HOME", "/h")]), Some("/x/holdpoint".into()));
        assert_eq!(find(&[("HOME", "/h")]), Some("/h/.local/share/holdpoint".into()));
        assert_eq!(find(&[]), None);
    }
}
