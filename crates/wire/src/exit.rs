//! Exit codes of the command line.

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    /// Done.
    Done,
    /// The run failed, or what was asked could not be done.
    Failed,
    /// The command line was wrong.
    Usage,
    /// A person is waited for.
    Waiting,
    /// The run was cancelled.
    Cancelled,
    /// The server or the world is not available.
    Unavailable,
}

impl ExitCode {
    /// The number the process ends with.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Waiting => 3,
            Self::Cancelled => 4,
            Self::Unavailable => 5,
        }
    }

    /// The exit code that fits a run's status.
    #[must_use]
    pub fn of_status(status: &str) -> Self {
        match status {
            "failed" => Self::Failed,
            "cancelled" => Self::Cancelled,
            "awaiting_approval" | "awaiting_clarification" | "paused" | "stuck" => Self::Waiting,
            _ => Self::Done,
        }
    }
}
