//! How to get into the place where the user's repository is shared. Holds a token: its `Debug` does not show it.

use std::collections::BTreeMap;
use std::fmt;

/// How to open pull requests.
#[derive(Clone, Default)]
pub struct ForgeSettings {
    /// A token for GitHub.
    pub token: Option<String>,
    /// The API's address, for another host than github.com.
    pub api: Option<String>,
}

impl ForgeSettings {
    /// From `GITHUB_TOKEN` and `GITHUB_API_URL`.
    #[must_use]
    pub fn read(environment: &BTreeMap<String, String>) -> Self {
        let get = |name| {
            let text = environment.get(name).map(|text| text.trim().to_owned());
            text.filter(|text| !text.is_empty())
        };
        Self { token: get("GITHUB_TOKEN"), api: get("GITHUB_API_URL") }
    }
}

impl fmt::Debug for ForgeSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "[token]");
        f.debug_struct("ForgeSettings").field("token", &token).field("api", &self.api).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_and_never_shown() {
        let said = [("GITHUB_TOKEN", " s3cret "), ("GITHUB_API_URL", "")];
        let said = said.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let settings = ForgeSettings::read(&said);
        assert_eq!((settings.token.as_deref(), settings.api.as_deref()), (Some("s3cret"), None));
        assert!(!format!("{settings:?}").contains("s3cret"));
    }
}
