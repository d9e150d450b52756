//! Who is there: health of the server, logins, users.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthView {
    /// `ok`.
    pub status: String,
    /// Its version.
    pub version: String,
}

/// What a user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks at everything and changes nothing.
    Viewer,
    /// Also decides on what waits, answers, says something to agents, pauses and resumes.
    Reviewer,
    /// Everything: also starts, cancels and merges runs, and lets people in.
    Admin,
}

impl Role {
    /// The word used in views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Reviewer => "reviewer",
            Self::Admin => "admin",
        }
    }
}

/// Asks for a code that lets one browser in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewLoginCode {
    /// For whom; for whoever asks unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

/// A code that lets one browser in, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoginCodeView {
    /// The code.
    pub code: String,
    /// Where to open it. The code is behind the `#`, which browsers keep to themselves.
    pub url: String,
    /// Who will be logged in.
    pub user: String,
    /// For how long it is good.
    pub expires_in_seconds: u64,
}

/// Logs a browser in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginRequest {
    /// The code.
    pub code: String,
}

/// Logs out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LogoutRequest {
    /// In all browsers, not only in this one.
    #[serde(default)]
    pub everywhere: bool,
}

/// What logging out did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogoutView {
    /// Browsers that are logged out now.
    pub ended: usize,
}

/// Who somebody is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MeView {
    /// The name decisions are written down under.
    pub name: String,
    /// `viewer`, `reviewer` or `admin`; `agent` for the token that reads and starts runs.
    pub role: String,
}

/// Lets somebody in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// The name decisions will be written down under: small letters, digits, `.`, `-` and `_`.
    pub name: String,
    /// What the user may do.
    pub role: Role,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UserView {
    /// The name.
    pub name: String,
    /// What the user may do.
    pub role: Role,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub added_at: jiff::Timestamp,
    /// Browsers that are logged in.
    pub browsers: usize,
}

/// A new user's token, shown this one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewUserView {
    /// The name.
    pub name: String,
    /// What the user may do.
    pub role: Role,
    /// For `Authorization: Bearer …`. Only its digest is kept.
    pub token: String,
}
