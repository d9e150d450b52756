//! Why an effect could not be done, in words for the person who is asked about it.

use std::error::Error;
use std::fmt;

use crate::commission::PrepareError;
use crate::passing::{EFFECT_WAITS, passes, words_pass};
use crate::shim::SpoolError;
use crate::shim::client::ShimError;

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

    fn of_attempt(error: &ShimError) -> Self {
        match error {
            ShimError::Prepare(cause) => {
                cause.downcast_ref::<PrepareError>().map_or(Self::Standing, |error| error.prospect)
            }
            ShimError::Spool(SpoolError::File { source, .. })
            | ShimError::Spawn { source, .. }
            | ShimError::Stop(source) => Self::of(source),
            ShimError::NeverStarted { log } if words_pass(log) => Self::Passing,
            ShimError::Spool(SpoolError::Damaged { .. })
            | ShimError::NeverStarted { .. }
            | ShimError::Unreachable(_) => Self::Standing,
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

impl From<ShimError> for Trouble {
    fn from(error: ShimError) -> Self {
        Self { prospect: Prospect::of_attempt(&error), ..Self::of(&error) }
    }
}
