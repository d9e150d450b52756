//! Problems: what happened, to what, and what to do next.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::ExitCode;

/// An error as every interface shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// A word for programs, e.g. `digest_changed`.
    pub code: String,
    /// What happened, to what.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// The field of the request at fault.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// Whose fault a problem is; decides HTTP status and exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The request is wrong.
    User,
    /// The token is missing or wrong.
    Unauthorized,
    /// The request comes from where it must not.
    Forbidden,
    /// There is no such thing.
    Missing,
    /// The state has moved on.
    Conflict,
    /// The request is too large.
    TooLarge,
    /// Too many requests of this kind.
    TooMany,
    /// The body is not JSON.
    MediaType,
    /// The Host header is not ours.
    Misdirected,
    /// The disk is full.
    Storage,
    /// The world outside does not answer.
    World,
    /// We are wrong.
    Bug,
}

impl Fault {
    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::User => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::Missing => 404,
            Self::Conflict => 409,
            Self::TooLarge => 413,
            Self::MediaType => 415,
            Self::Misdirected => 421,
            Self::TooMany => 429,
            Self::Bug => 500,
            Self::World => 503,
            Self::Storage => 507,
        }
    }

    /// The exit code for a status that came back over HTTP.
    #[must_use]
    pub fn exit_code_of_status(status: u16) -> ExitCode {
        match status {
            400 | 404 | 413 | 415 | 422 => ExitCode::Usage,
            401 | 403 | 421 | 429 | 503 | 507 => ExitCode::Unavailable,
            _ => ExitCode::Failed,
        }
    }
}
