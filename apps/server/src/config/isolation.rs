//! What holds agents: the projects that may run in the weaker tier, more paths that sandboxes show, and limits. Only the
//! user's `config.toml` and environment say it, never a repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use runner::Isolation;

use super::SettingsError;
use super::environment::get;
use super::limits;
use super::user::UserFile;

/// Sockets and processes of the host are not for reading.
const NEVER: [&str; 4] = ["/proc", "/sys", "/dev", "/run"];

pub(super) fn isolation(
    environment: &BTreeMap<String, String>,
    user: &UserFile,
    data: &Path,
    path: &Path,
) -> Result<Isolation, SettingsError> {
    let refuse = |reason: String| SettingsError::File { path: path.to_owned(), reason };
    if let Some(odd) = user.restricted_projects.iter().find(|project| !project.is_absolute()) {
        return Err(refuse(format!("restricted_projects: `{}` is not an absolute path", odd.display())));
    }
    let own = get(environment, "HOME").map(PathBuf::from);
    for readable in &user.readable_paths {
        if let Some(why) = objection(readable, data, own.as_deref()) {
            return Err(refuse(format!("readable_paths: `{}` {why}", readable.display())));
        }
    }
    Ok(Isolation {
        restricted: user.restricted_projects.clone(),
        readable: user.readable_paths.clone(),
        limits: limits::attempt(environment, user, path)?,
    })
}

/// Why agents cannot be shown a path.
fn objection(path: &Path, data: &Path, own: Option<&Path>) -> Option<&'static str> {
    if !path.is_absolute() {
        return Some("is not an absolute path");
    }
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (path, data) = (real(path), real(data));
    if path.starts_with(&data) || data.starts_with(&path) {
        return Some("is, is in or holds the data directory, which agents must not see");
    }
    let parent_is_home = path.parent() == Some(Path::new("/home"));
    let holds = |home: &Path| real(home).starts_with(&path);
    if parent_is_home || holds(Path::new("/root")) || holds(Path::new("/home")) || own.is_some_and(holds) {
        return Some("is or holds a home; name a folder in it");
    }
    NEVER
        .iter()
        .any(|never| path.starts_with(never))
        .then_some("is the host's own: its sockets and processes are there")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_the_data_directory_and_the_hosts_own_folders_cannot_be_shown() {
        let (data, own) = (Path::new("/srv/holdpoint"), Path::new("/people/ada"));
        let check = |path: &str| objection(Path::new(path), data, Some(own));
        for fine in ["/srv/toolchain", "/home/ada/tools", "/people/ada/tools", "/data/sdk"] {
            assert_eq!(check(fine), None, "{fine}");
        }
        for (path, why) in [
            ("srv", "absolute"),
            ("/", "data directory"),
            ("/srv", "data directory"),
            ("/srv/holdpoint/cache", "data directory"),
            ("/home", "home"),
            ("/home/ada", "home"),
            ("/root", "home"),
            ("/people", "home"),
            ("/people/ada", "home"),
            ("/run/docker.sock", "host's own"),
        ] {
            assert!(check(path).is_some_and(|said| said.contains(why)), "{path}: {:?}", check(path));
        }
    }
}
