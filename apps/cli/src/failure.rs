//! Why a command did not do what was asked: a problem for people and the number the process ends with.

use std::path::Path;

use wire::{ExitCode, Fault, Problem};

/// A problem and its exit code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", problem.message)]
pub(crate) struct Failure {
    pub(crate) exit: ExitCode,
    pub(crate) problem: Problem,
}

impl Failure {
    /// The command line asks for something that cannot be.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ExitCode::Usage, "usage", message, hint)
    }

    /// The world, or the server, does not play along.
    pub(crate) fn unavailable(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ExitCode::Unavailable, code, message, hint)
    }

    /// What was asked could not be done.
    pub(crate) fn failed(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ExitCode::Failed, code, message, hint)
    }

    /// The server said no.
    pub(crate) fn refused(status: u16, problem: Problem) -> Self {
        Self { exit: Fault::exit_code_of_status(status), problem }
    }

    /// A file or folder cannot be used.
    pub(crate) fn file(doing: &str, path: &Path, error: &std::io::Error) -> Self {
        let hint = "check that the path exists, that you may use it and that the disk is not full";
        Self::unavailable("file", format!("cannot {doing} `{}`: {error}", path.display()), hint)
    }

    /// Whether the server's state had moved on.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(
            self.problem.code.as_str(),
            "digest_changed" | "hold_changed" | "already_decided" | "no_hold" | "conflict" | "already_ended"
        )
    }

    fn new(exit: ExitCode, code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let problem = Problem { code: code.to_owned(), message: message.into(), hint: hint.into(), field: None };
        Self { exit, problem }
    }
}
