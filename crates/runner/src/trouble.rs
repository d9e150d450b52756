//! Why an effect could not be done, in words for the person who is asked about it.

use std::error::Error;
use std::fmt;

use crate::commission::PrepareError;
use crate::passing::{EFFECT_WAITS, passes, words_pass};
use crate::shim::SpoolError;
use crate::shim::client::{NO_MESSAGE, ShimError};

/// What happened, and what to do next.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    pub(crate) prospect: Prospect,
}

/// Whether doing the same again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Prospect {
    /// Only if somebody changes something.
    #[default]
    Standing,
    /// Nobody knows: git failed for a reason of its own, or a repository may be damaged.
    Unclear,
    /// The machine was short of something, or a process was killed.
    Passing,
}

impl Trouble {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, prospect: Prospect::Standing }
    }

    /// Of what may well go the next time.
    pub(crate) fn unclear(message: impl Into<String>) -> Self {
        Self { prospect: Prospect::Unclear, ..Self::new(message) }
    }

    /// A program that its supervisor could not start, for this reason.
    pub(crate) fn not_started(program: impl fmt::Display, reason: &str) -> Self {
        let message = format!("{program} could not be started: {reason}");
        Self { prospect: Prospect::of_words(reason), ..Self::new(message) }
    }

    pub(crate) fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()), prospect: Prospect::Standing }
    }

    /// The whole chain of causes in one line.
    pub(crate) fn of(error: &(dyn Error + 'static)) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = error.source();
        }
        Self { message, hint: None, prospect: Prospect::Standing }
    }

    /// A file operation that failed.
    pub(crate) fn io(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let kind = error.kind();
        let hint = if kind == std::io::ErrorKind::StorageFull {
            Some("free some space on that disk, then retry".to_owned())
        } else if kind == std::io::ErrorKind::PermissionDenied {
            Some("check who owns the data directory".to_owned())
        } else {
            None
        };
        Self { message: format!("{doing} `{}`: {error}", path.display()), hint, prospect: Prospect::of(error) }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// How the C library puts `EIO`.
const IO_ERROR: &str = "Input/output error";

impl Prospect {
    /// How often the same is worth doing again.
    pub(crate) fn tries(self) -> usize {
        match self {
            Self::Standing => 0,
            Self::Unclear => 2,
            Self::Passing => EFFECT_WAITS.len(),
        }
    }

    fn of(error: &std::io::Error) -> Self {
        match error {
            error if passes(error) => Self::Passing,
            // Of one bad block or a lost connection to the disk; what is done again is written to other blocks.
            error if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => Self::Unclear,
            _ => Self::Standing,
        }
    }

    /// As [`Prospect::of`], where only the words of the error are left.
    fn of_words(words: &str) -> Self {
        match words {
            words if words_pass(words) => Self::Passing,
            words if words.contains(IO_ERROR) => Self::Unclear,
            _ => Self::Standing,
        }
    }

    fn of_spool(error: &SpoolError) -> Self {
        match error {
            SpoolError::File { source, .. } => Self::of(source),
            SpoolError::Damaged { .. } => Self::Standing,
        }
    }

    fn of_attempt(error: &ShimError) -> Self {
        match error {
            ShimError::Prepare(cause) => {
                cause.downcast_ref::<PrepareError>().map_or(Self::Standing, |error| error.prospect)
            }
            ShimError::Spool(error) => Self::of_spool(error),
            ShimError::Spawn { source, .. } | ShimError::Stop(source) => Self::of(source),
            ShimError::NeverStarted { log } if log == NO_MESSAGE => Self::Unclear,
            ShimError::NeverStarted { log } => Self::of_words(log),
            ShimError::Unreachable(_) => Self::Standing,
        }
    }
}

impl From<crate::git::GitError> for Trouble {
    fn from(error: crate::git::GitError) -> Self {
        let prospect = match (error.passes(), error.may_be_damage()) {
            (true, _) => Prospect::Passing,
            (false, true) => Prospect::Unclear,
            (false, false) => Prospect::Standing,
        };
        Self { hint: error.hint(), prospect, ..Self::of(&error) }
    }
}

impl From<crate::git::HarvestRefusal> for Trouble {
    fn from(error: crate::git::HarvestRefusal) -> Self {
        if let crate::git::HarvestRefusal::Git(error) = error {
            return error.into();
        }
        Self { hint: error.hint(), ..Self::of(&error) }
    }
}

impl From<crate::models::ModelError> for Trouble {
    fn from(error: crate::models::ModelError) -> Self {
        Self { hint: Some(error.hint()), ..Self::of(&error) }
    }
}

impl From<SpoolError> for Trouble {
    fn from(error: SpoolError) -> Self {
        Self { prospect: Prospect::of_spool(&error), ..Self::of(&error) }
    }
}

impl From<ShimError> for Trouble {
    fn from(error: ShimError) -> Self {
        Self { prospect: Prospect::of_attempt(&error), ..Self::of(&error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_space_is_worth_another_try_and_a_missing_program_is_not() {
        let prospect = |reason: &str| Trouble::not_started("the check `tests`", reason).prospect;
        assert_eq!(prospect("the sandbox cannot be started: No space left on device (os error 28)"), Prospect::Passing);
        assert_eq!(prospect("the sandbox cannot be started: Input/output error (os error 5)"), Prospect::Unclear);
        let supervisor = |log: &str| Trouble::from(ShimError::NeverStarted { log: log.to_owned() }).prospect;
        assert_eq!(supervisor("cannot write: No space left on device (os error 28)"), Prospect::Passing);
        let spool = |code| {
            let source = std::io::Error::from_raw_os_error(code);
            Trouble::from(SpoolError::File { path: "handed-in.json".into(), source }).prospect
        };
        assert_eq!((spool(5), spool(28), spool(13)), (Prospect::Unclear, Prospect::Passing, Prospect::Standing));
        assert_eq!(supervisor(NO_MESSAGE), Prospect::Unclear);
        assert_eq!(supervisor("the document is torn"), Prospect::Standing);
        assert_eq!(prospect("`sh` could not be started: No such file or directory (os error 2)"), Prospect::Standing);
    }
}
