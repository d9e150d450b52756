//! What can go wrong with git, named by what a caller can do about it, with a hint for the
//! person who reads it. Never carries file contents or credentials.

use std::io;
use std::path::PathBuf;

use crate::passing::{passes, words_pass};

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("`{}` is not inside a git repository", .0.display())]
    NotARepository(PathBuf),
    #[error("`{}` is a bare repository: it has no checkout", .0.display())]
    Bare(PathBuf),
    #[error("the repository `{}` has no commits yet", .0.display())]
    Empty(PathBuf),
    #[error("the repository at `{}` belongs to another user, so git refuses to read it", .0.display())]
    NotYours(PathBuf),
    #[error("HEAD of `{}` is detached: no branch is checked out", .0.display())]
    DetachedHead(PathBuf),
    #[error("there is no branch `{0}`")]
    BranchMissing(String),
    #[error("`{name}` cannot be used as a branch name: {reason}")]
    BadRef { name: String, reason: &'static str },
    #[error("`{0}` is not a git object id")]
    BadObjectId(String),
    #[error("`{path}` cannot be used as a path in a tree: {reason}")]
    BadPath { path: String, reason: &'static str },
    #[error("`{key}` cannot be used as a commit trailer: {reason}")]
    BadTrailer { key: String, reason: &'static str },
    #[error("`{url}` cannot be used as a remote: {reason}")]
    BadRemote { url: String, reason: &'static str },
    #[error("`{reference}` is at {} instead of {}", shown(.actual), shown(.expected))]
    Moved { reference: String, expected: Option<String>, actual: Option<String> },
    #[error("`{reference}` is locked by another git process")]
    RefLocked { reference: String },
    #[error("objects that `{}` needs are missing", .repository.display())]
    ObjectsMissing { repository: PathBuf, detail: String },
    #[error("the content of {} is not in Holdpoint's repository of the project any more", listed(.paths))]
    ContentUnreadable { paths: Vec<String>, detail: String },
    #[error("Holdpoint's own repository `{}` is damaged and could not be rebuilt", .0.display())]
    Damaged(PathBuf),
    #[error(
        "commit {commit}, which the run's log names, is neither in Holdpoint's repository of the project nor in yours"
    )]
    CommitLost { commit: String },
    #[error("the checkout of `{}` cannot be found", .0.display())]
    CheckoutUnknown(PathBuf),
    #[error("`git {args}` did not end within {seconds} seconds")]
    TimedOut { args: String, seconds: u64 },
    #[error("`git {args}` {}: {stderr}", ended(*.code))]
    Failed { args: String, code: i32, stderr: String },
    #[error("`git {args}` printed something unexpected: {detail}")]
    Unreadable { args: String, detail: String },
    #[error("cannot start git")]
    Start(#[source] io::Error),
    #[error("{doing} `{}`", .path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

impl GitError {
    /// What the person can do next, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotARepository(_) => "run `git init` and make a first commit, or name another directory",
            Self::Bare(_) => "name a checkout: `git clone` the bare repository and use the clone",
            Self::Empty(_) => "make a first commit: `git commit --allow-empty -m start`",
            Self::NotYours(_) => "if you trust it: `git config --global --add safe.directory <PATH>`",
            Self::DetachedHead(_) => "check out a branch with `git switch <BRANCH>`, or name one",
            Self::BranchMissing(_) => "list the branches with `git branch --all`",
            Self::BadRef { .. } => "use letters, digits, `.`, `_`, `/` and `-`, starting with a letter or digit",
            Self::BadRemote { .. } => "use an https or ssh URL, or a local path",
            Self::Moved { .. } => "somebody else moved it; look at it and try again",
            Self::RefLocked { .. } => "wait for the other git process; if none runs, remove the `.lock` file git names",
            Self::ObjectsMissing { .. } => {
                "the repository was pruned, or is a partial clone: fetch the missing history with `git fetch --unshallow` or `git fetch --refetch`"
            }
            Self::ContentUnreadable { .. } => {
                "fetch the commits into your repository if another clone has them; otherwise have the work done again"
            }
            Self::Damaged(_) => {
                "move that folder away and retry; runs go on as far as your repository has their commits"
            }
            Self::CommitLost { .. } => {
                "fetch it into your repository if another clone has it, then retry; otherwise cancel the run and start a new one"
            }
            Self::CheckoutUnknown(_) => "start from the main checkout of the repository",
            Self::Start(_) => "install git 2.38 or later and make sure it is on PATH",
            Self::BadObjectId(_)
            | Self::BadPath { .. }
            | Self::BadTrailer { .. }
            | Self::TimedOut { .. }
            | Self::Failed { .. }
            | Self::Unreadable { .. }
            | Self::Io { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// Whether the same call may succeed a moment later, without anybody doing anything.
    pub(crate) fn passes(&self) -> bool {
        match self {
            Self::Start(error) | Self::Io { source: error, .. } => passes(error),
            Self::Failed { code, stderr, .. } => *code < 0 || words_pass(stderr),
            Self::RefLocked { .. } | Self::Unreadable { .. } => true,
            Self::NotARepository(_)
            | Self::Bare(_)
            | Self::Empty(_)
            | Self::NotYours(_)
            | Self::DetachedHead(_)
            | Self::BranchMissing(_)
            | Self::BadRef { .. }
            | Self::BadObjectId(_)
            | Self::BadPath { .. }
            | Self::BadTrailer { .. }
            | Self::BadRemote { .. }
            | Self::Moved { .. }
            | Self::ObjectsMissing { .. }
            | Self::ContentUnreadable { .. }
            | Self::Damaged(_)
            | Self::CommitLost { .. }
            | Self::CheckoutUnknown(_)
            | Self::TimedOut { .. } => false,
        }
    }

    /// Whether a repository may not be what it was: looked through and mended, it may do.
    pub(crate) fn may_be_damage(&self) -> bool {
        matches!(
            self,
            Self::Failed { .. } | Self::ObjectsMissing { .. } | Self::ContentUnreadable { .. } | Self::Io { .. }
        )
    }

    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}

/// The first few names, and how many more there are.
fn listed(paths: &[String]) -> String {
    const FEW: usize = 3;
    let named: Vec<String> = paths.iter().take(FEW).map(|path| format!("`{path}`")).collect();
    match paths.len().saturating_sub(FEW) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn ended(code: i32) -> String {
    match code {
        0.. => format!("exited with {code}"),
        signal => format!("was ended by signal {}", -signal),
    }
}

fn shown(id: &Option<String>) -> &str {
    id.as_deref().unwrap_or("nothing")
}
