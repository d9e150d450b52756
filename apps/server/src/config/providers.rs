//! Providers of models: where each is, which variable holds its key, and which are set up.

use std::collections::BTreeMap;
use std::path::Path;

use broker::{HostedFeatures, Limits, Secret, UpstreamKind};
use domain::{ConfigError, ModelName};
use runner::{KeyCommand, KeyCommandError, Models, UpstreamSettings};
use wire::Problem;

use super::SettingsError;
use super::environment::{get, refuse};
use super::user::ProviderFile;

struct Provider {
    name: &'static str,
    /// The protocol it speaks.
    kind: &'static str,
    base_url: &'static str,
    /// Begins the names of its two variables, `…_API_KEY` and `…_BASE_URL`.
    prefix: &'static str,
    /// How its models are called when nobody names the provider.
    models: &'static [&'static str],
    /// What it is asked for when nobody names a model.
    default_model: Option<&'static str>,
}

const PROVIDERS: &[Provider] = &[
    Provider {
        name: "anthropic",
        kind: "anthropic",
        base_url: "https://api.anthropic.com",
        prefix: "ANTHROPIC",
        models: &["claude-"],
        default_model: Some("claude-sonnet-4-5"),
    },
    Provider {
        name: "openai",
        kind: "openai",
        base_url: "https://api.openai.com/v1",
        prefix: "OPENAI",
        models: &["gpt-", "chatgpt-", "o1", "o3", "o4"],
        default_model: Some("gpt-4o"),
    },
    Provider {
        name: "deepseek",
        kind: "openai",
        base_url: "https://api.deepseek.com/v1",
        prefix: "DEEPSEEK",
        models: &["deepseek-"],
        default_model: Some("deepseek-reasoner"),
    },
    Provider {
        name: "gemini",
        kind: "gemini",
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        prefix: "GEMINI",
        models: &["gemini-"],
        default_model: Some("gemini-2.5-pro"),
    },
    Provider {
        name: "xai",
        kind: "openai",
        base_url: "https://api.x.ai/v1",
        prefix: "XAI",
        models: &["grok-"],
        default_model: None,
    },
    Provider {
        name: "ollama",
        kind: "openai",
        base_url: "http://127.0.0.1:11434/v1",
        prefix: "OLLAMA",
        models: &[],
        default_model: None,
    },
];

/// A model's full name; a bare name gets the provider it is known to belong to.
pub(crate) fn with_provider(text: &str) -> Result<ModelName, ConfigError> {
    let belongs = |provider: &&Provider| provider.models.iter().any(|start| text.starts_with(start));
    match PROVIDERS.iter().find(belongs) {
        Some(provider) if !text.contains('/') => format!("{}/{text}", provider.name).parse(),
        Some(_) | None => text.parse(),
    }
}

/// Models in the order they are tried, apart by commas; at least one.
pub(crate) fn model_list(text: &str) -> Result<Vec<ModelName>, ConfigError> {
    text.split(',').map(|name| with_provider(name.trim())).collect()
}

/// Whether a model can be reached; what to do if not.
pub(crate) fn check_model(models: &Models, name: &ModelName) -> Result<(), Problem> {
    let refuse = |code: &str, message: String, hint: String| {
        Err(Problem { code: code.to_owned(), message, hint, field: Some("models".to_owned()) })
    };
    if name.provider() == "scripted" {
        if models.scripts.contains_key(name.model()) {
            return Ok(());
        }
        let known: Vec<_> = models.scripts.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "there are none".to_owned() } else { known.join(", ") };
        let hint = format!("scripts are files in `scripts` of the data directory: {known}");
        return refuse("unknown_model", format!("there is no script `{}`", name.model()), hint);
    }
    if models.upstreams.contains_key(name.provider()) {
        return Ok(());
    }
    match PROVIDERS.iter().find(|provider| provider.name == name.provider()) {
        Some(provider) => {
            let message = format!("`{name}` cannot be reached: the provider `{}` is not set up", provider.name);
            let hint = format!(
                "set {0}_API_KEY (or {0}_BASE_URL for a server of your own) where the server is started, or `key_command` in \
                 config.toml, and start it again",
                provider.prefix
            );
            refuse("provider_not_configured", message, hint)
        }
        None => {
            let known: Vec<_> = PROVIDERS.iter().map(|provider| provider.name).collect();
            let message = format!("`{}` is not a known provider", name.provider());
            let hint = format!(
                "there are {}, scripted; any OpenAI-compatible server works as `openai/<model>` with OPENAI_BASE_URL",
                known.join(", ")
            );
            refuse("unknown_model", message, hint)
        }
    }
}

/// The model for a role nobody chose one for: of the first provider that is set up.
pub(crate) fn default_model(models: &Models) -> Option<ModelName> {
    let usable = PROVIDERS.iter().filter(|provider| models.upstreams.contains_key(provider.name));
    usable.filter_map(|provider| format!("{}/{}", provider.name, provider.default_model?).parse().ok()).next()
}

/// A provider that is built in, whether it is set up or not.
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) protocol: &'static str,
    pub(crate) base_url: &'static str,
    pub(crate) key_variable: String,
}

/// The providers that are built in.
pub(crate) fn known() -> impl Iterator<Item = Known> {
    PROVIDERS.iter().map(|provider| Known {
        name: provider.name,
        protocol: provider.kind,
        base_url: provider.base_url,
        key_variable: format!("{}_API_KEY", provider.prefix),
    })
}

/// The commands that print keys. A variable of the environment goes before one.
pub(super) fn key_commands(
    environment: &BTreeMap<String, String>,
    files: &BTreeMap<String, ProviderFile>,
    path: &Path,
) -> Result<BTreeMap<String, KeyCommand>, SettingsError> {
    let mut commands = BTreeMap::new();
    for (name, file) in files {
        let Some(argv) = &file.key_command else { continue };
        if file.key.is_some() {
            return Err(refuse_provider(name, path, "set `key` or `key_command`, not both"));
        }
        let refuse = |error: KeyCommandError| refuse_provider(name, path, &format!("{error}; {}", error.hint()));
        let command = KeyCommand::new(argv).map_err(refuse)?;
        if !has_variable(environment, name) {
            commands.insert(name.clone(), command);
        }
    }
    Ok(commands)
}

fn has_variable(environment: &BTreeMap<String, String>, name: &str) -> bool {
    known().any(|provider| provider.name == name && get(environment, &provider.key_variable).is_some())
}

/// Where each provider's key is from.
pub(super) fn keys(
    environment: &BTreeMap<String, String>,
    files: &BTreeMap<String, ProviderFile>,
) -> BTreeMap<String, String> {
    let in_file = |file: &ProviderFile| match &file.key_command {
        Some(argv) => KeyCommand::new(argv).ok().map(|command| format!("key_command (`{}`)", command.name())),
        None => file.key.as_ref().filter(|key| !key.is_empty()).map(|_| "config.toml".to_owned()),
    };
    let in_files = files.iter().filter_map(|(name, file)| Some((name.clone(), in_file(file)?)));
    let mut keys: BTreeMap<_, _> = in_files.collect();
    let said = known().filter(|provider| get(environment, &provider.key_variable).is_some());
    keys.extend(said.map(|provider| (provider.name.to_owned(), provider.key_variable)));
    keys
}

/// The providers that are set up: with a key, or with a base URL of their own.
pub(super) fn upstreams(
    environment: &BTreeMap<String, String>,
    files: &BTreeMap<String, ProviderFile>,
    path: &Path,
) -> Result<BTreeMap<String, UpstreamSettings>, SettingsError> {
    let mut upstreams = BTreeMap::new();
    for provider in PROVIDERS {
        let (key_name, url_name) = (format!("{}_API_KEY", provider.prefix), format!("{}_BASE_URL", provider.prefix));
        let file = files.get(provider.name);
        let key = get(environment, &key_name).or_else(|| file?.key.as_deref());
        let said = get(environment, &url_name);
        if let Some(url) = said.filter(|url| !is_url(url)) {
            return Err(refuse(&url_name, url, "use an address that begins with http:// or https://"));
        }
        let base_url = said.or_else(|| file?.base_url.as_deref());
        let command = file.and_then(|file| file.key_command.as_ref());
        if key.is_none() && base_url.is_none() && command.is_none() {
            continue;
        }
        let word = file.and_then(|file| file.kind.as_deref()).unwrap_or(provider.kind);
        let kind = kind_of(word).ok_or_else(|| no_kind(provider.name, word, path))?;
        let upstream = UpstreamSettings {
            kind,
            base_url: base_url.unwrap_or(provider.base_url).trim_end_matches('/').to_owned(),
            key: Secret::new(key.unwrap_or_default()),
            limits: file.map(|file| limits(provider.name, file, path)).transpose()?.unwrap_or_default(),
            hosted: file.map(|file| hosted(provider.name, file, path)).transpose()?.unwrap_or_default(),
        };
        upstreams.insert(provider.name.to_owned(), upstream);
    }
    let known = |name: &String| PROVIDERS.iter().any(|provider| provider.name == name.as_str());
    for (name, file) in files.iter().filter(|(name, _)| !known(name)) {
        upstreams.insert(name.clone(), own_provider(name, file, path)?);
    }
    Ok(upstreams)
}

/// A provider only the user knows.
fn own_provider(name: &str, file: &ProviderFile, path: &Path) -> Result<UpstreamSettings, SettingsError> {
    let word = file.kind.as_deref().unwrap_or("openai");
    let kind = kind_of(word).ok_or_else(|| no_kind(name, word, path))?;
    let Some(url) = file.base_url.as_deref().filter(|url| is_url(url)) else {
        return Err(refuse_provider(name, path, "set `base_url` to its address, with http:// or https://"));
    };
    Ok(UpstreamSettings {
        kind,
        base_url: url.trim_end_matches('/').to_owned(),
        key: Secret::new(file.key.clone().unwrap_or_default()),
        limits: limits(name, file, path)?,
        hosted: hosted(name, file, path)?,
    })
}

/// What the provider may do for agents outside this machine: nothing, unless it is named here.
fn hosted(name: &str, file: &ProviderFile, path: &Path) -> Result<HostedFeatures, SettingsError> {
    let hosted = HostedFeatures { tools: file.hosted_tools.clone(), beta_headers: file.beta_headers.clone() };
    for (key, values) in [("hosted_tools", &hosted.tools), ("beta_headers", &hosted.beta_headers)] {
        let plain = |value: &String| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
            !value.is_empty() && value.bytes().all(allowed)
        };
        if let Some(odd) = values.iter().find(|value| !plain(value)) {
            let reason = format!("{key}: `{odd}` is not a name; use names such as `web_search`");
            return Err(refuse_provider(name, path, &reason));
        }
    }
    Ok(hosted)
}

/// How many calls at once and per minute, from all runs of this machine together.
fn limits(name: &str, file: &ProviderFile, path: &Path) -> Result<Limits, SettingsError> {
    let limits = Limits { concurrent: file.max_concurrent_calls, per_minute: file.max_calls_per_minute };
    for (key, value) in [("max_concurrent_calls", limits.concurrent), ("max_calls_per_minute", limits.per_minute)] {
        if value.is_some_and(|number| !(1..=100_000).contains(&number)) {
            return Err(refuse_provider(name, path, &format!("{key}: use a number from 1 to 100000")));
        }
    }
    Ok(limits)
}

fn no_kind(name: &str, word: &str, path: &Path) -> SettingsError {
    refuse_provider(name, path, &format!("`{word}` is not a kind; use `openai`, `anthropic` or `gemini`"))
}

fn refuse_provider(name: &str, path: &Path, reason: &str) -> SettingsError {
    SettingsError::File { path: path.to_owned(), reason: format!("[providers.{name}]: {reason}") }
}

fn kind_of(word: &str) -> Option<UpstreamKind> {
    match word {
        "anthropic" => Some(UpstreamKind::Anthropic),
        "openai" => Some(UpstreamKind::OpenAi),
        "gemini" => Some(UpstreamKind::Gemini),
        _ => None,
    }
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic()))
}
