//! The user's own `config.toml` in the data directory, and the scripts beside it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use broker::{SearchGrant, Secret};
use domain::{Micros, ModelName};
use runner::SharedLimits;
use serde::Deserialize;
use toml::Spanned;

use super::direct::DirectFile;
use super::mcp::McpFile;
use super::notify::NotifyFile;
use super::{AgentsToken, Defaults, SettingsError, model_list};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct UserFile {
    trust: BTreeMap<String, String>,
    models: BTreeMap<String, ModelsFile>,
    agents: AgentsFile,
    max_clarifications: Option<u32>,
    auto_merge: Option<bool>,
    push: Option<bool>,
    budget_usd: Option<f64>,
    budget_day_usd: Option<f64>,
    budget_project_month_usd: Option<f64>,
    pub(super) max_concurrent_runs_per_user: Option<u32>,
    pub(super) max_waiting_reviews: Option<u32>,
    agent: AgentFile,
    pub(super) providers: BTreeMap<String, ProviderFile>,
    pub(super) scripts: BTreeMap<String, PathBuf>,
    pub(super) search: Option<SearchFile>,
    pub(super) embeddings: Option<EmbeddingsFile>,
    pub(super) mcp: BTreeMap<String, McpFile>,
    pub(super) notify: NotifyFile,
    /// `search`, `mcp:NAME`, an address and what lies beneath it, or `*`.
    trusted_sources: Vec<String>,
    /// Repositories whose agents may run in the `restricted` tier where the full sandbox does not work.
    pub(super) restricted_projects: Vec<PathBuf>,
    /// Files and folders that sandboxes show besides the system's own.
    pub(super) readable_paths: Vec<PathBuf>,
    /// GiB that one attempt may add to its workspace and keep in its session folder.
    pub(super) agent_disk_gib: Option<u32>,
    /// GiB of memory of all processes of one attempt, where a cgroup can be made.
    pub(super) agent_memory_gib: Option<u32>,
    agents_token: AgentsTokenFile,
    /// Days after a run's end for which its session folders are kept; 0 for ever.
    pub(super) keep_sessions_days: Option<u32>,
    /// The file itself, to name lines of it.
    #[serde(skip)]
    pub(super) text: String,
}

/// `[agents]`: the program of each role, and which of them use their own login.
#[derive(Default, Deserialize)]
#[serde(default)]
struct AgentsFile {
    direct: BTreeMap<String, Spanned<DirectFile>>,
    #[serde(flatten)]
    roles: BTreeMap<String, String>,
}

/// `[agents_token]`: what a run that an agent starts may name besides the defaults.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AgentsTokenFile {
    playbooks: Vec<String>,
    programs: Vec<String>,
    models: Vec<String>,
    budget_usd: Option<f64>,
}

/// `[search]`: where agents may look words up on the web.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchFile {
    /// With `{query}` in it.
    endpoint: String,
    /// Header that carries the key; `Authorization` if left out.
    header: Option<String>,
    /// Environment variable that holds the key.
    key_env: Option<String>,
}

impl SearchFile {
    pub(super) fn grant(
        self,
        environment: &BTreeMap<String, String>,
        path: &Path,
    ) -> Result<SearchGrant, SettingsError> {
        let refuse =
            |reason: String| SettingsError::File { path: path.to_owned(), reason: format!("[search]: {reason}") };
        let key = match &self.key_env {
            None => Secret::default(),
            Some(name) => match environment.get(name).map(|key| key.trim()).filter(|key| !key.is_empty()) {
                Some(key) => Secret::new(key),
                None => return Err(refuse(format!("key_env names {name}, which is not set where the server runs"))),
            },
        };
        let grant = SearchGrant { endpoint: self.endpoint, header: self.header, key };
        grant.check().map_err(|error| refuse(error.to_string()))?;
        Ok(grant)
    }
}

/// `[embeddings]`: the model that makes vectors for the search by meaning.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EmbeddingsFile {
    /// `provider/model`.
    model: String,
}

impl EmbeddingsFile {
    pub(super) fn model(&self, path: &Path) -> Result<ModelName, SettingsError> {
        self.model.parse().map_err(|error| refuse_embeddings(path, &error))
    }
}

pub(super) fn refuse_embeddings(path: &Path, reason: &dyn std::fmt::Display) -> SettingsError {
    SettingsError::File { path: path.to_owned(), reason: format!("[embeddings]: {reason}") }
}

/// One model, or several in the order they are tried.
#[derive(Deserialize)]
#[serde(untagged)]
enum ModelsFile {
    One(String),
    List(Vec<String>),
}

/// `[agent]`: the clarifying conversation.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AgentFile {
    max_clarification_rounds: Option<u32>,
    skip_clarification: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProviderFile {
    /// `anthropic`, `openai` or `gemini`: the protocol it speaks.
    pub(super) kind: Option<String>,
    pub(super) base_url: Option<String>,
    pub(super) key: Option<String>,
    /// A command that prints the key, such as `["pass", "show", "x"]`.
    pub(super) key_command: Option<Vec<String>>,
    pub(super) max_concurrent_calls: Option<u32>,
    pub(super) max_calls_per_minute: Option<u32>,
    /// Tools that the provider runs, such as `web_search`; what they bring in is untrusted input.
    #[serde(default)]
    pub(super) hosted_tools: Vec<String>,
    /// Values of `anthropic-beta` that agents may send.
    #[serde(default)]
    pub(super) beta_headers: Vec<String>,
}

/// Reads the file; a missing one says nothing.
pub(super) fn read(path: &Path) -> Result<UserFile, SettingsError> {
    let refuse = |reason: String| SettingsError::File { path: path.to_owned(), reason };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(UserFile::default()),
        Err(error) => return Err(refuse(error.to_string())),
    };
    let file: UserFile = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        refuse(format!("line {line}: {}", error.message().replace('\n', " ")))
    })?;
    Ok(UserFile { text, ..file })
}

impl UserFile {
    pub(super) fn defaults(&self, path: &Path) -> Result<Defaults, SettingsError> {
        let refuse = |reason: String| SettingsError::File { path: path.to_owned(), reason };
        let mut defaults = Defaults {
            max_clarifications: self.max_clarifications,
            auto_merge: self.auto_merge,
            push: self.push,
            max_clarification_rounds: self.agent.max_clarification_rounds,
            skip_clarification: self.agent.skip_clarification,
            trusted_sources: self.trusted_sources.clone(),
            ..Defaults::default()
        };
        if let Some(rounds) = self.agent.max_clarification_rounds.filter(|rounds| !(1..=100).contains(rounds)) {
            return Err(refuse(format!("[agent] max_clarification_rounds is {rounds}: use a number from 1 to 100")));
        }
        for (key, value) in &self.trust {
            let key = key.parse().map_err(|error| refuse(format!("[trust]: {error}")))?;
            let gate = value.parse().map_err(|error| refuse(format!("[trust]: {error}")))?;
            defaults.trust.push((key, gate));
        }
        for (role, models) in &self.models {
            let text = match models {
                ModelsFile::One(model) => model.clone(),
                ModelsFile::List(models) => models.join(","),
            };
            let models = model_list(&text).map_err(|error| refuse(format!("[models] {role}: {error}")))?;
            defaults.models.insert(role.clone(), models);
        }
        for (role, program) in &self.agents.roles {
            let program = program.parse().map_err(|error| refuse(format!("[agents] {role}: {error}")))?;
            defaults.programs.insert(role.clone(), program);
        }
        if let Some(source) = self.trusted_sources.iter().find(|source| !is_source(source)) {
            let hint = "use `search`, `mcp:NAME`, an address, or `*` for all";
            return Err(refuse(format!("trusted_sources: `{source}` is no source; {hint}")));
        }
        defaults.agents_token = self.agents_token().map_err(|error| refuse(format!("[agents_token] {error}")))?;
        defaults.budget = money("budget_usd", self.budget_usd).map_err(refuse)?;
        Ok(defaults)
    }

    fn agents_token(&self) -> Result<AgentsToken, String> {
        let AgentsTokenFile { playbooks, programs, models, budget_usd } = &self.agents_token;
        let programs = programs.iter().map(|text| text.parse().map_err(|error| format!("programs: {error}")));
        let models = models.iter().map(|text| text.parse().map_err(|error| format!("models: {error}")));
        Ok(AgentsToken {
            playbooks: playbooks.clone(),
            programs: programs.collect::<Result<_, _>>()?,
            models: models.collect::<Result<_, _>>()?,
            budget: money("budget_usd", *budget_usd)?,
        })
    }

    /// Programs that use their own login.
    pub(super) fn direct(&self) -> &BTreeMap<String, Spanned<DirectFile>> {
        &self.agents.direct
    }

    /// What runs may spend together.
    pub(super) fn shared(&self, path: &Path) -> Result<SharedLimits, SettingsError> {
        let refuse = |reason: String| SettingsError::File { path: path.to_owned(), reason };
        Ok(SharedLimits {
            day: money("budget_day_usd", self.budget_day_usd).map_err(refuse)?,
            project_month: money("budget_project_month_usd", self.budget_project_month_usd).map_err(refuse)?,
        })
    }
}

fn is_source(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let named = text.strip_prefix("mcp:").or(host).is_some_and(|rest| !rest.trim_matches('/').is_empty());
    matches!(text, "search" | "*") || named
}

fn money(key: &str, said: Option<f64>) -> Result<Option<Micros>, String> {
    said.map(|usd| Micros::from_usd(usd).ok_or_else(|| format!("{key}: {usd} is not a sum of money"))).transpose()
}

/// Scripts for `scripted/<name>`: every file of the folder, under its name without the ending.
pub(super) fn scripts_in(folder: &Path) -> BTreeMap<String, PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
    let files = entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file());
    files.filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path))).collect()
}
