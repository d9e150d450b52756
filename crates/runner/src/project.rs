//! A look at a user's repository before a run starts. Only reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use domain::Playbook;

use crate::git::{BranchName, CommitId, GitError, PrivateRepo, UserRepo};

/// What a run needs to know of a repository.
#[derive(Debug, Clone)]
pub struct Project {
    /// Top of the checkout.
    pub root: PathBuf,
    /// Branch to start from.
    pub base_branch: String,
    /// Name of the remote, if there is one.
    pub remote: Option<String>,
    /// `.autonomous/config.json` as committed on the base branch.
    pub config: Option<String>,
    /// `.autonomous/playbooks/*.toml` as committed on the base branch.
    pub playbooks: PlaybookFiles,
    /// `.autonomous/roles/*.toml` as committed on the base branch, by the role's name.
    pub roles: BTreeMap<String, String>,
}

/// A repository's own playbooks, by name.
#[derive(Debug, Clone, Default)]
pub struct PlaybookFiles {
    /// The files that were read, in order of their names; never more than 50.
    pub files: Vec<PlaybookFile>,
    /// How many more there are.
    pub left_out: usize,
}

/// One file of a repository's own playbooks.
#[derive(Debug, Clone)]
pub struct PlaybookFile {
    /// The file's name without `.toml`.
    pub name: String,
    /// Its text; `None` if it is too long for a playbook.
    pub source: Option<String>,
}

/// So many playbooks of a repository are read.
const MAX_PLAYBOOKS: usize = 50;

/// A repository that cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The path cannot be used.
    #[error("`{}` is not a folder", .0.display())]
    NoFolder(PathBuf),
    /// Git says no.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The look was interrupted.
    #[error("the repository could not be read")]
    Interrupted,
}

impl ProjectError {
    /// A word for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoFolder(_) => "no_such_folder",
            Self::Git(GitError::NotARepository(_)) => "not_a_repository",
            Self::Git(GitError::Bare(_)) => "bare_repository",
            Self::Git(GitError::Empty(_)) => "empty_repository",
            Self::Git(GitError::DetachedHead(_)) => "detached_head",
            Self::Git(GitError::BranchMissing(_)) => "base_branch_missing",
            Self::Git(GitError::BadRef { .. }) => "bad_branch_name",
            Self::Git(_) | Self::Interrupted => "git",
        }
    }

    /// What happened.
    #[must_use]
    pub fn message(&self) -> String {
        self.to_string()
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::NoFolder(_) => "pass `--repo <PATH>` of a git checkout".to_owned(),
            Self::Git(GitError::DetachedHead(_)) => "check out a branch, or pass `--base <BRANCH>`".to_owned(),
            Self::Git(error) => error.hint().unwrap_or_else(|| "see the message of git above".to_owned()),
            Self::Interrupted => "try again".to_owned(),
        }
    }

    /// The field of a request at fault.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Git(GitError::BranchMissing(_) | GitError::BadRef { .. } | GitError::DetachedHead(_)) => "baseBranch",
            Self::NoFolder(_) | Self::Git(_) | Self::Interrupted => "project",
        }
    }
}

/// Looks at the repository around a path.
pub async fn inspect(path: &Path, base: Option<&str>, scratch: &Path) -> Result<Project, ProjectError> {
    let (path, base, scratch) = (path.to_owned(), base.map(str::to_owned), scratch.to_owned());
    let look = move || look(&path, base.as_deref(), &scratch);
    tokio::task::spawn_blocking(look).await.unwrap_or(Err(ProjectError::Interrupted))
}

fn look(path: &Path, base: Option<&str>, home: &Path) -> Result<Project, ProjectError> {
    if !path.is_dir() {
        return Err(ProjectError::NoFolder(path.to_owned()));
    }
    let user = UserRepo::open(path)?;
    let base = match base {
        Some(name) => BranchName::parse(name)?,
        None => user.current_branch()?,
    };
    user.branch_tip(&base)?;
    let remote = user.remote(&base)?.map(|remote| remote.name);
    let paths = crate::paths::Paths::new(home);
    let private = PrivateRepo::open(&paths.repo(user.top()), &user)?;
    let tip = private.import_base(&user, &base)?;
    let config = private.read_file(&tip, ".autonomous/config.json")?;
    let config = config.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let playbooks = playbooks(&private, &tip)?;
    let roles = roles(&private, &tip)?;
    let base_branch = base.as_str().to_owned();
    Ok(Project { root: user.top().to_owned(), base_branch, remote, config, playbooks, roles })
}

/// Read from the commit: neither a dirty checkout nor an agent's branch counts.
fn playbooks(private: &PrivateRepo, tip: &CommitId) -> Result<PlaybookFiles, GitError> {
    let folder = format!("{}/", Playbook::folder());
    let out = private.call().args(["ls-tree", "-z", "-l", "--full-tree", tip.as_str(), "--", &folder]).run()?;
    let mut sizes: Vec<(String, usize)> =
        out.split(|byte| *byte == 0).filter_map(|line| sized(line, &folder)).collect();
    sizes.sort();
    let left_out = sizes.len().saturating_sub(MAX_PLAYBOOKS);
    let mut files = Vec::new();
    for (name, size) in sizes.into_iter().take(MAX_PLAYBOOKS) {
        let source = match size <= Playbook::MAX_BYTES {
            true => private.read_file(tip, &Playbook::path_of(&name))?,
            false => None,
        };
        let source = source.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        files.push(PlaybookFile { name, source });
    }
    Ok(PlaybookFiles { files, left_out })
}

fn roles(private: &PrivateRepo, tip: &CommitId) -> Result<BTreeMap<String, String>, GitError> {
    const FOLDER: &str = ".autonomous/roles";
    let mut roles = BTreeMap::new();
    for name in private.list(tip, FOLDER)?.into_iter().take(MAX_PLAYBOOKS) {
        let Some(role) = name.strip_suffix(".toml") else { continue };
        if let Some(bytes) = private.read_file(tip, &format!("{FOLDER}/{name}"))? {
            roles.insert(role.to_owned(), String::from_utf8_lossy(&bytes).into_owned());
        }
    }
    Ok(roles)
}

/// Name and size of a regular TOML file, from a line `<mode> <type> <id> <size>\t<path>`.
fn sized(line: &[u8], folder: &str) -> Option<(String, usize)> {
    let (head, path) = std::str::from_utf8(line).ok()?.split_once('\t')?;
    let mut parts = head.split_ascii_whitespace();
    let regular = parts.next()?.starts_with("100");
    let size = parts.nth(2)?.parse().ok()?;
    let name = path.strip_prefix(folder)?.strip_suffix(".toml")?;
    regular.then(|| (name.to_owned(), size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(top: &Path, arguments: &[&str]) {
        let done = std::process::Command::new("git").arg("-C").arg(top).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    #[test]
    fn playbooks_come_from_the_commit_and_not_from_the_checkout() {
        let place = tempfile::tempdir().unwrap();
        let (top, home) = (place.path().join("repository"), place.path().join("home"));
        let folder = top.join(Playbook::folder());
        std::fs::create_dir_all(&folder).unwrap();
        git(&top, &["init", "-q", "-b", "main"]);
        std::fs::write(folder.join("security.toml"), "name = \"security\"").unwrap();
        std::fs::write(folder.join("large.toml"), "#".repeat(Playbook::MAX_BYTES + 1)).unwrap();
        std::fs::write(folder.join("notes.md"), "not one").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.join("link.toml")).unwrap();
        git(&top, &["add", "-A"]);
        git(&top, &["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", "x"]);
        std::fs::write(folder.join("security.toml"), "changed").unwrap();
        std::fs::write(folder.join("late.toml"), "not committed").unwrap();

        let found = look(&top, None, &home).unwrap().playbooks;
        let found: Vec<_> = found.files.iter().map(|file| (file.name.as_str(), file.source.as_deref())).collect();
        assert_eq!(found, [("large", None), ("security", Some("name = \"security\""))]);
    }

    #[test]
    fn only_so_many_playbooks_are_read() {
        let place = tempfile::tempdir().unwrap();
        let (top, home) = (place.path().join("repository"), place.path().join("home"));
        let folder = top.join(Playbook::folder());
        std::fs::create_dir_all(&folder).unwrap();
        git(&top, &["init", "-q", "-b", "main"]);
        for number in 0..53 {
            std::fs::write(folder.join(format!("p{number:02}.toml")), "").unwrap();
        }
        git(&top, &["add", "-A"]);
        git(&top, &["-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", "x"]);
        let found = look(&top, None, &home).unwrap().playbooks;
        assert_eq!((found.files.len(), found.left_out, found.files[49].name.as_str()), (50, 3, "p49"));
    }
}
