//! What is known of the power of the user's GitHub token: learned when it is used, logged once, and kept in the data
//! directory for `holdpoint doctor`. Holds no token, only the beginning of its digest.

use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::durable;
use crate::forge::{Forge, excess};

/// In the data directory.
const FILE: &str = "github-token.json";

/// What the forge said of a token when it was last used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenPower {
    /// By which it is seen that it is the same token.
    mark: String,
    /// The forge that it was used for.
    pub host: String,
    /// Scopes it has and pull requests do not need.
    pub excess: Vec<String>,
}

impl TokenPower {
    /// What is known of this token; without one, of the token that was used last.
    #[must_use]
    pub fn read(home: &Path, token: Option<&str>) -> Option<Self> {
        // One that cannot be read is learned anew with the next use.
        let text = std::fs::read(home.join(FILE)).ok()?;
        let known: Self = serde_json::from_slice(&text).ok()?;
        token.is_none_or(|token| known.mark == mark(token)).then_some(known)
    }

    /// What to do about it.
    #[must_use]
    pub fn hint() -> &'static str {
        "make a fine-grained token with `Pull requests: read and write` for the repository alone, or a classic one with \
         `repo` only (`public_repo` for a public repository), and set GITHUB_TOKEN to it"
    }
}

/// Writes down what a use of the token showed, and warns when that is new. Blocks.
pub(crate) fn note(home: &Path, token: &str, forge: &Forge) {
    let Some((scopes, visibility)) = forge.scopes() else { return };
    let excess = excess(&scopes, visibility);
    let power = TokenPower { mark: mark(token), host: forge.host(), excess };
    if TokenPower::read(home, Some(token)).as_ref() == Some(&power) {
        return;
    }
    if !power.excess.is_empty() {
        let (host, scopes) = (&power.host, power.excess.join(", "));
        tracing::warn!(host, scopes, hint = TokenPower::hint(), "GITHUB_TOKEN can do more than pull requests need");
    }
    let text = serde_json::to_vec(&power).unwrap_or_default();
    if let Err(error) = durable::replace(&home.join("github-token.new"), &home.join(FILE), &text) {
        tracing::warn!(%error, "what is known of GITHUB_TOKEN could not be written down");
    }
}

fn mark(token: &str) -> String {
    let digest = Sha256::digest(token.trim().as_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
