//! Why an effect could not be done, in words for the person who is asked about it.

use std::error::Error;
use std::fmt;

/// What happened, and what to do next.
#[derive(Debug)]
pub(crate) struct Trouble {
    message: String,
    pub(crate) hint: Option<String>,
}

impl Trouble {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()) }
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
        Self { message, hint: None }
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
        Self { message: format!("{doing} `{}`: {error}", path.display()), hint }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<crate::git::GitError> for Trouble {
    fn from(error: crate::git::GitError) -> Self {
        Self { hint: error.hint(), ..Self::of(&error) }
    }
}

impl From<crate::git::HarvestRefusal> for Trouble {
    fn from(error: crate::git::HarvestRefusal) -> Self {
        Self { hint: error.hint(), ..Self::of(&error) }
    }
}

impl From<crate::models::ModelError> for Trouble {
    fn from(error: crate::models::ModelError) -> Self {
        Self { hint: Some(error.hint()), ..Self::of(&error) }
    }
}

impl From<crate::shim::client::ShimError> for Trouble {
    fn from(error: crate::shim::client::ShimError) -> Self {
        Self::of(&error)
    }
}
