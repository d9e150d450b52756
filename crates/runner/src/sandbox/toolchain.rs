//! Compilers and interpreters that people install into their home: which directories of it an
//! agent may read so that the programs on the PATH run. Never a place where credentials live.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Entries looked at in one directory of programs; more than that is not a `bin`.
const MOST_PROGRAMS: usize = 2048;

/// Names that hold credentials, at any depth below the home.
const SECRET: &[&str] = &[
    ".netrc",
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".config",
    ".docker",
    ".kube",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".password-store",
    ".mozilla",
    ".claude",
    ".codex",
    ".gemini",
];

/// What is shown of a home.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Toolchain {
    /// Directories and files to read and execute.
    pub(super) roots: Vec<PathBuf>,
    /// Parts of them that stay hidden.
    pub(super) hidden: Vec<PathBuf>,
    /// Variables without which the tools look in the agent's own home.
    pub(super) variables: BTreeMap<String, String>,
}

/// Computes it from those entries of `path` that lie in `home`.
pub(super) fn in_home(home: &Path, path: &[PathBuf]) -> Toolchain {
    let mut found = Toolchain::default();
    for entry in path {
        let Ok(inner) = entry.strip_prefix(home) else {
            continue;
        };
        if inner.as_os_str().is_empty() || is_secret(inner) || !entry.is_dir() {
            continue;
        }
        if inner.starts_with(".pyenv") {
            found.add(home.join(".pyenv"));
            found.point("PYENV_ROOT", home.join(".pyenv"));
        } else if inner.starts_with(".nvm") {
            found.add(home.join(".nvm/versions"));
        } else {
            if inner.starts_with(".cargo") {
                found.add(home.join(".rustup"));
                found.point("RUSTUP_HOME", home.join(".rustup"));
            }
            found.add(entry.clone());
            found.add(entry.with_file_name("lib"));
            found.add_link_targets(home, entry);
        }
    }
    found.hide_credentials();
    found
}

/// Whether some part of a path inside a home is known to hold credentials.
fn is_secret(inner: &Path) -> bool {
    inner.components().any(|part| {
        let name = part.as_os_str().to_string_lossy();
        name.starts_with("credentials") || SECRET.contains(&name.as_ref())
    })
}

impl Toolchain {
    fn add(&mut self, root: PathBuf) {
        if root.exists() && !self.covers(&root) {
            self.roots.push(root);
        }
    }

    fn covers(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    fn point(&mut self, variable: &str, to: PathBuf) {
        if to.exists() {
            self.variables.insert(variable.to_owned(), to.to_string_lossy().into_owned());
        }
    }

    /// Programs in a home are often links to where a version of them was unpacked.
    fn add_link_targets(&mut self, home: &Path, programs: &Path) {
        let Ok(entries) = fs::read_dir(programs) else {
            return;
        };
        for entry in entries.filter_map(Result::ok).take(MOST_PROGRAMS) {
            let Ok(target) = fs::canonicalize(entry.path()) else {
                continue;
            };
            let Ok(inner) = target.strip_prefix(home) else {
                continue;
            };
            if !is_secret(inner) && !self.covers(&target) {
                self.add(installation_of(&target));
            }
        }
    }

    /// Looks one level deep: tools keep their tokens beside their `bin`, not below it.
    fn hide_credentials(&mut self) {
        for root in &self.roots {
            let Ok(entries) = fs::read_dir(root) else {
                continue;
            };
            let secret = entries
                .filter_map(Result::ok)
                .filter(|entry| is_secret(Path::new(&entry.file_name())))
                .map(|entry| entry.path());
            self.hidden.extend(secret);
        }
    }
}

/// A Python environment is its directory; anything else is the file alone.
fn installation_of(program: &Path) -> PathBuf {
    program
        .parent()
        .filter(|parent| parent.ends_with("bin"))
        .and_then(Path::parent)
        .filter(|root| root.join("pyvenv.cfg").exists())
        .unwrap_or(program)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn home_with(dirs: &[&str]) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        for dir in dirs {
            fs::create_dir_all(home.path().join(dir)).unwrap();
        }
        home
    }

    #[test]
    fn cargo_on_the_path_shows_its_programs_and_toolchains_but_not_its_token() {
        let home = home_with(&[".cargo/bin", ".rustup", ".ssh"]);
        fs::write(home.path().join(".cargo/credentials.toml"), "token").unwrap();
        let shown = in_home(home.path(), &[home.path().join(".cargo/bin")]);
        assert_eq!(shown.roots, [home.path().join(".rustup"), home.path().join(".cargo/bin")]);
        assert!(shown.variables.contains_key("RUSTUP_HOME"));
    }

    #[test]
    fn the_home_itself_and_places_of_credentials_are_never_shown() {
        let home = home_with(&[".config/gh/bin", ".aws/bin"]);
        let path = [home.path().to_owned(), home.path().join(".config/gh/bin"), home.path().join(".aws/bin")];
        assert_eq!(in_home(home.path(), &path), Toolchain::default());
    }

    #[test]
    fn a_linked_program_shows_the_version_it_points_to_and_nothing_beside_it() {
        let home = home_with(&[".local/bin", ".local/share/tool/versions"]);
        let version = home.path().join(".local/share/tool/versions/2.0");
        fs::write(&version, "#!/bin/sh").unwrap();
        symlink(&version, home.path().join(".local/bin/tool")).unwrap();
        let shown = in_home(home.path(), &[home.path().join(".local/bin")]);
        assert_eq!(shown.roots, [home.path().join(".local/bin"), version]);
    }

    #[test]
    fn a_credentials_file_inside_a_shown_directory_is_hidden() {
        let home = home_with(&["go/bin"]);
        let secret = home.path().join("go/bin/credentials.json");
        fs::write(&secret, "x").unwrap();
        let shown = in_home(home.path(), &[home.path().join("go/bin")]);
        assert_eq!(shown.hidden, [secret]);
    }
}
