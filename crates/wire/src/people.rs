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
