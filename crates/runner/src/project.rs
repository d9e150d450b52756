//! A look at a user's repository before a run starts. Only reads.

use std::path::{Path, PathBuf};

use crate::git::{BranchName, GitError, PrivateRepo, UserRepo};

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
}

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
    Ok(Project { root: user.top().to_owned(), base_branch: base.as_str().to_owned(), remote, config })
}
