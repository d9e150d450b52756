//! Keys that commands printed: kept in memory alone, for a while, and known to the secret scanner from then on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use broker::Secret;

use crate::key_command::{KeyCommand, PATIENCE};
use crate::server_secrets::ServerSecrets;

/// How long a key is used before its command is asked again.
const FRESH: Duration = Duration::from_secs(10 * 60);

/// The commands of all providers that have one, with the keys they gave. A clone is the same.
#[derive(Clone, Default)]
pub struct KeyCommands(Arc<Inner>);

#[derive(Default)]
struct Inner {
    entries: BTreeMap<String, Entry>,
    /// Where every key is reported that was ever given.
    secrets: Mutex<ServerSecrets>,
}

struct Entry {
    command: KeyCommand,
    /// One call at a time: a store asks its user once.
    turn: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    key: Option<(Secret, Instant)>,
    /// Why the last call gave none: message and hint.
    problem: Option<(String, String)>,
}

impl fmt::Debug for KeyCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.entries.keys()).finish()
    }
}

impl KeyCommands {
    /// One for each of these providers.
    #[must_use]
    pub fn new(commands: BTreeMap<String, KeyCommand>) -> Self {
        let entry = |command| Entry { command, turn: tokio::sync::Mutex::default(), state: Mutex::default() };
        let entries = commands.into_iter().map(|(provider, command)| (provider, entry(command))).collect();
        Self(Arc::new(Inner { entries, secrets: Mutex::default() }))
    }

    /// From now on every key that a command gives is known to this list.
    pub fn report_to(&self, secrets: &ServerSecrets) {
        *self.0.secrets.lock().unwrap_or_else(PoisonError::into_inner) = secrets.clone();
        for (provider, entry) in &self.0.entries {
            if let Some((key, _)) = &entry.state().key {
                secrets.add(&format!("the key of `{provider}`"), &key.hand_over());
            }
        }
    }

    /// Asks every command once. One that gives no key is logged, and asked again when the key is needed.
    pub async fn fetch_all(&self) {
        let calls = self.0.entries.keys().cloned().map(|provider| {
            let all = self.clone();
            tokio::spawn(async move {
                all.fetch(&provider).await;
                if let Some(Err((problem, hint))) = all.key(&provider) {
                    tracing::warn!(provider, problem, hint, "a key_command gave no key");
                }
            })
        });
        for call in calls.collect::<Vec<_>>() {
            // A call that panicked gave no key; its first use reports that.
            let _ = call.await;
        }
    }

    /// Asks the command of a provider, unless it has none or was asked a short while ago.
    pub(crate) async fn fetch(&self, provider: &str) {
        let Some(entry) = self.0.entries.get(provider) else { return };
        let _turn = entry.turn.lock().await;
        if entry.state().key.as_ref().is_some_and(|(_, at)| at.elapsed() < FRESH) {
            return;
        }
        match entry.command.key(PATIENCE).await {
            Ok(key) => {
                let secrets = self.0.secrets.lock().unwrap_or_else(PoisonError::into_inner).clone();
                secrets.add(&format!("the key of `{provider}`"), &key.hand_over());
                *entry.state() = State { key: Some((key, Instant::now())), problem: None };
            }
            Err(error) => {
                let mut state = entry.state();
                if state.key.is_some() {
                    // A store that is locked by now: the key may still be good.
                    tracing::warn!(provider, %error, "a key_command gave no key; the one it gave before is used");
                }
                state.problem = Some((error.to_string(), error.hint().to_owned()));
            }
        }
    }

    /// The next attempt asks the command anew: the provider took the key for wrong.
    pub(crate) fn forget(&self, provider: &str) {
        if let Some(entry) = self.0.entries.get(provider) {
            *entry.state() = State::default();
        }
    }

    /// The key of a provider that has a command, or why there is none.
    pub(crate) fn key(&self, provider: &str) -> Option<Result<Secret, (String, String)>> {
        let state = self.0.entries.get(provider)?.state();
        let unasked = || ("its key_command was not asked yet".to_owned(), "retry".to_owned());
        let key = state.key.as_ref().map(|(key, _)| key.clone());
        Some(key.ok_or_else(|| state.problem.clone().unwrap_or_else(unasked)))
    }
}

impl Entry {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_is_kept_until_it_is_forgotten_and_every_key_is_known_to_the_scanner() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "first-key-of-mine\n").unwrap();
        let command = KeyCommand::new(&["/bin/cat".to_owned(), file.display().to_string()]).unwrap();
        let keys = KeyCommands::new(BTreeMap::from([("acme".to_owned(), command)]));
        let secrets = ServerSecrets::default();
        keys.report_to(&secrets);
        let now = || keys.key("acme").unwrap().map(|key| key.hand_over()).map_err(|(problem, _)| problem);
        assert!(now().is_err() && keys.key("other").is_none());
        keys.fetch("acme").await;
        std::fs::write(&file, "second-key-of-mine\n").unwrap();
        keys.fetch("acme").await;
        assert_eq!(now().unwrap(), "first-key-of-mine");
        keys.forget("acme");
        keys.fetch("acme").await;
        assert_eq!(now().unwrap(), "second-key-of-mine");
        let text = secrets.redact("first-key-of-mine second-key-of-mine");
        assert_eq!(text, "[redacted: the key of `acme`] [redacted: the key of `acme`]");
        assert!(!format!("{keys:?} {secrets:?}").contains("key-of-mine"));
    }
}
