//! The user's repository, as found from any directory in it. Everything here reads; the only
//! writes to it are a branch moved by compare-and-swap and objects added, and they live in
//! `publish` and `land`.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::retry_on_intr;

use super::run::{Call, Finished};
use super::{BranchName, CommitId, GitError};

#[derive(Debug, Clone)]
pub struct UserRepo {
    top: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    object_format: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    pub url: String,
}

impl UserRepo {
    /// Finds the repository around `path`, which may be a sub-directory or a linked worktree.
    pub fn open(path: &Path) -> Result<Self, GitError> {
        let path = path.canonicalize().map_err(GitError::io("cannot open", path))?;
        let found = Call::discover(&path)
            .args(["rev-parse", "--path-format=absolute", "--is-bare-repository"])
            .args(["--is-inside-work-tree", "--show-object-format", "--git-common-dir"])
            .arg("--absolute-git-dir")
            .finish()?;
        if found.code != 0 {
            return Err(why_not(path, found));
        }
        let text = String::from_utf8_lossy(&found.stdout).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        let [bare, inside, object_format, common_dir, git_dir] = lines[..] else {
            return Err(GitError::NotARepository(path));
        };
        if bare == "true" || inside != "true" {
            return Err(GitError::Bare(path));
        }
        let top = Call::discover(&path).args(["rev-parse", "--path-format=absolute", "--show-toplevel"]).line()?;
        let repo = Self {
            top: PathBuf::from(top),
            git_dir: PathBuf::from(git_dir),
            common_dir: PathBuf::from(common_dir),
            object_format: object_format.to_owned(),
        };
        repo.refuse_without_commits()?;
        Ok(repo)
    }

    fn refuse_without_commits(&self) -> Result<(), GitError> {
        let any_branch = self.call().args(["for-each-ref", "--count=1", "refs/heads/"]).run()?;
        if any_branch.is_empty() && resolve(&self.git_dir, "HEAD")?.is_none() {
            return Err(GitError::Empty(self.top.clone()));
        }
        Ok(())
    }

    /// The top of the checkout that was opened.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// The git directory that all worktrees share.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    pub(crate) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    pub(crate) fn object_format(&self) -> &str {
        &self.object_format
    }

    pub(crate) fn call(&self) -> Call {
        Call::at(&self.git_dir)
    }

    /// The branch that is checked out here.
    pub fn current_branch(&self) -> Result<BranchName, GitError> {
        match head_branch(&self.git_dir)? {
            Some(name) => BranchName::parse(&name),
            None => Err(GitError::DetachedHead(self.top.clone())),
        }
    }

    /// What is checked out here, in words: the branch, or `detached at <id>`.
    pub fn head_name(&self) -> Result<String, GitError> {
        if let Some(name) = head_branch(&self.git_dir)? {
            return Ok(name);
        }
        let commit = resolve(&self.git_dir, "HEAD")?;
        let commit = commit.ok_or_else(|| GitError::Empty(self.top.clone()))?;
        Ok(format!("detached at {}", &commit.as_str()[..10]))
    }

    pub fn branch_tip(&self, branch: &BranchName) -> Result<CommitId, GitError> {
        self.tip(branch)?.ok_or_else(|| GitError::BranchMissing(branch.to_string()))
    }

    pub(crate) fn tip(&self, branch: &BranchName) -> Result<Option<CommitId>, GitError> {
        resolve(&self.common_dir, &branch.full())
    }

    /// The branch work starts from when nobody names one: what the remote calls its default,
    /// else `main` or `master`, else what is checked out.
    pub fn default_branch(&self) -> Result<BranchName, GitError> {
        if let Some(remote) = self.remote_named(None)? {
            let head = format!("refs/remotes/{}/HEAD", remote.name);
            let prefix = format!("refs/remotes/{}/", remote.name);
            let target = self.call().args(["symbolic-ref", "-q"]).arg(head).finish()?.found("symbolic-ref")?;
            let target = String::from_utf8_lossy(&target.unwrap_or_default()).trim().to_owned();
            if let Some(name) = target.strip_prefix(&prefix)
                && let Ok(branch) = BranchName::parse(name)
                && self.tip(&branch)?.is_some()
            {
                return Ok(branch);
            }
        }
        for name in ["main", "master"] {
            let branch = BranchName::parse(name)?;
            if self.tip(&branch)?.is_some() {
                return Ok(branch);
            }
        }
        self.current_branch()
    }

    /// Where this branch is pushed: its own upstream, else `origin`, else the only remote.
    pub fn remote(&self, base: &BranchName) -> Result<Option<Remote>, GitError> {
        let key = format!("branch.{base}.remote");
        let upstream = self.call().args(["config", "--get", "--", &key]).finish()?.found("config --get")?;
        let upstream = String::from_utf8_lossy(&upstream.unwrap_or_default()).trim().to_owned();
        self.remote_named(Some(&upstream))
    }

    fn remote_named(&self, preferred: Option<&str>) -> Result<Option<Remote>, GitError> {
        let remotes = self.remotes()?;
        let named = |name: &str| remotes.iter().find(|remote| remote.name == name);
        let only = || match &remotes[..] {
            [only] => Some(only),
            _ => None,
        };
        Ok(preferred.and_then(named).or_else(|| named("origin")).or_else(only).cloned())
    }

    fn remotes(&self) -> Result<Vec<Remote>, GitError> {
        let listed = self.call().args(["config", "-z", "--get-regexp", r"^remote\..*\.(url|pushurl)$"]).finish()?;
        let listed = listed.found("config --get-regexp")?.unwrap_or_default();
        let text = String::from_utf8_lossy(&listed).into_owned();
        let mut remotes: Vec<Remote> = Vec::new();
        for (key, url) in text.split('\0').filter_map(|item| item.split_once('\n')) {
            let Some(key) = key.strip_prefix("remote.") else {
                continue;
            };
            let Some((name, kind)) = key.rsplit_once('.') else {
                continue;
            };
            match remotes.iter_mut().find(|remote| remote.name == name) {
                Some(remote) if kind == "pushurl" => remote.url = url.to_owned(),
                Some(_) => {}
                None => remotes.push(Remote { name: name.to_owned(), url: url.to_owned() }),
            }
        }
        Ok(remotes)
    }

    /// Keeps other Holdpoint processes from changing this repository until dropped. The kernel
    /// lets go of it when the process dies, so that whatever a dead one left is ours to finish.
    pub(crate) fn lock(&self) -> Result<File, GitError> {
        let directory = File::open(&self.common_dir).map_err(GitError::io("cannot open", &self.common_dir))?;
        retry_on_intr(|| flock(&directory, FlockOperation::LockExclusive))
            .map_err(std::io::Error::from)
            .map_err(GitError::io("cannot lock", &self.common_dir))?;
        Ok(directory)
    }
}

fn why_not(path: PathBuf, found: Finished) -> GitError {
    let stderr = &found.stderr;
    if stderr.contains("safe.bareRepository") || stderr.contains("must be run in a work tree") {
        GitError::Bare(path)
    } else if stderr.contains("dubious ownership") {
        GitError::NotYours(path)
    } else if stderr.contains("not a git repository") {
        GitError::NotARepository(path)
    } else {
        found.failed("rev-parse --git-dir".to_owned())
    }
}

/// The short name of the branch that HEAD of this git directory stands on.
pub(crate) fn head_branch(git_dir: &Path) -> Result<Option<String>, GitError> {
    let head = Call::at(git_dir).args(["symbolic-ref", "-q", "HEAD"]).finish()?.found("symbolic-ref HEAD")?;
    let target = String::from_utf8_lossy(&head.unwrap_or_default()).trim().to_owned();
    Ok(target.strip_prefix("refs/heads/").map(str::to_owned))
}

/// The commit a full reference name (or `HEAD`) stands at.
pub(crate) fn resolve(git_dir: &Path, reference: &str) -> Result<Option<CommitId>, GitError> {
    let found =
        Call::at(git_dir).args(["rev-parse", "--verify", "--quiet"]).arg(format!("{reference}^{{commit}}")).finish()?;
    // A git that could not tell must not read as a branch that is not there.
    match found.found("rev-parse --verify")? {
        Some(id) => CommitId::parse(String::from_utf8_lossy(&id).trim()).map(Some),
        None => Ok(None),
    }
}
