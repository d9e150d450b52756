//! The list of secrets that this process holds, shared by who looks for them in work, in texts and in the log.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use broker::Secret;
use domain::{KnownSecret, SecretScanner};
use serde_json::Value;

use crate::direct::DirectAgents;
use crate::hands::HandsConfig;
use crate::mcp::{McpServers, McpSource};
use crate::models::Models;
use crate::settings::ForgeSettings;

/// The secrets that this process holds, each with the name of what it is. A clone is the same list: what is added later
/// is redacted wherever the list is used, in the log too. `Debug` shows the names alone.
#[derive(Clone, Default)]
pub struct ServerSecrets(Arc<RwLock<Secrets>>);

#[derive(Default)]
struct Secrets {
    known: Vec<KnownSecret>,
    /// Secret answers of runs: not looked for in the work of other runs, but in the log.
    answers: Vec<KnownSecret>,
    /// Over both; made when it is needed.
    scanner: Option<Arc<SecretScanner>>,
}

impl fmt::Debug for ServerSecrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServerSecrets").field(&self.known()).finish()
    }
}

impl ServerSecrets {
    /// One more; what is too short to be looked for is left out.
    pub fn add(&self, name: &str, value: &str) {
        let Some(secret) = KnownSecret::new(name, value) else { return };
        let mut secrets = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if !secrets.known.contains(&secret) {
            secrets.known.push(secret);
            secrets.scanner = None;
        }
    }

    pub(crate) fn add_answers(&self, answers: &[KnownSecret]) {
        let is_new = |secrets: &Secrets| answers.iter().any(|answer| !secrets.answers.contains(answer));
        if !is_new(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return;
        }
        let mut secrets = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for answer in answers {
            if !secrets.answers.contains(answer) {
                secrets.answers.push(answer.clone());
            }
        }
        secrets.scanner = None;
    }

    /// The keys that an attempt is granted.
    pub(crate) fn add_granted(&self, grant: &broker::Grant) {
        for upstream in &grant.upstreams {
            self.secret(&format!("the key of `{}`", upstream.provider), &upstream.key);
        }
        if let Some(search) = &grant.search {
            self.secret("the key of the web search", &search.key);
        }
    }

    /// A text without these secrets and without what looks like one.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        self.scanner().redact(text)
    }

    pub(crate) fn known(&self) -> Vec<KnownSecret> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).known.clone()
    }

    fn scanner(&self) -> Arc<SecretScanner> {
        if let Some(scanner) = &self.0.read().unwrap_or_else(PoisonError::into_inner).scanner {
            return Arc::clone(scanner);
        }
        let all: Vec<KnownSecret> = {
            let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner);
            secrets.known.iter().chain(&secrets.answers).cloned().collect()
        };
        // Made outside of the lock: a panic in here is logged, and whoever logs reads the list.
        let scanner = Arc::new(SecretScanner::knowing(&all));
        let mut secrets = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if secrets.known.len() + secrets.answers.len() == all.len() {
            secrets.scanner = Some(Arc::clone(&scanner));
        }
        scanner
    }

    /// Those that the hands are given to work with, and these.
    pub(crate) fn with_those_of(self, config: &HandsConfig) -> Self {
        self.of_models(&config.models);
        self.of_servers(&config.mcp);
        self.of_logins(&config.direct);
        self.of_forge(&config.forge);
        self
    }

    fn secret(&self, name: &str, secret: &Secret) {
        self.add(name, &secret.hand_over());
    }

    fn of_models(&self, models: &Models) {
        for (provider, settings) in &models.upstreams {
            self.secret(&format!("the key of `{provider}`"), &settings.key);
        }
        if let Some(search) = &models.search {
            self.secret("the key of the web search", &search.key);
        }
    }

    fn of_servers(&self, servers: &McpServers) {
        for server in &servers.0 {
            let (McpSource::Process { variables: values, .. } | McpSource::Http { headers: values, .. }) = &server.way;
            for (name, value) in values {
                let label = format!("`{name}` of the MCP server `{}`", server.name);
                self.secret(&label, value);
                // A header has a word before what is secret in it.
                let value = value.hand_over();
                if let Some((_, rest)) = value.split_once(' ') {
                    self.add(&label, rest);
                }
            }
        }
    }

    fn of_logins(&self, programs: &DirectAgents) {
        for (program, settings) in &programs.0 {
            for (name, value) in &settings.variables {
                if let Some(value) = value {
                    self.secret(&format!("`{name}` of `{program}`"), value);
                }
            }
            for file in &settings.login {
                // The start reports a missing program.
                let Ok(bytes) = file.read() else { continue };
                for value in login_values(&bytes) {
                    self.add(&format!("the login of `{program}`"), &value);
                }
            }
        }
    }

    fn of_forge(&self, forge: &ForgeSettings) {
        if let Some(token) = &forge.token {
            self.add("GITHUB_TOKEN", token);
        }
    }
}

/// The long texts of a login file: in JSON those of its values that are no address and no sentence.
fn login_values(bytes: &[u8]) -> Vec<String> {
    const SHORTEST: usize = 20;
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) if text.len() >= SHORTEST && !text.contains(' ') && !text.contains("://") => {
                found.push(text.clone());
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            Value::Object(fields) => fields.values().for_each(|field| walk(field, found)),
            Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut found = Vec::new();
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        walk(&value, &mut found);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_of_a_login_file_are_known() {
        let file = br#"{"tokens":{"access":"abcdefghijklmnopqrstuvwxyz","kind":"oauth","url":"https://login.example.com/aa"}}"#;
        assert_eq!(login_values(file), ["abcdefghijklmnopqrstuvwxyz"]);
        assert_eq!(login_values(b"not json"), Vec::<String>::new());
    }
}
