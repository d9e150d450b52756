//! Every setting with its value and where it came from: the environment, the user's file, or a default.
//! Only tells; what follows from them is read elsewhere.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use domain::SecretScanner;
use runner::TokenPower;
use toml::{Table, Value};
use wire::SettingView;

use super::{SettingsError, environment};

/// What was said, and where.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// Every setting.
    pub settings: Vec<SettingView>,
    /// Where keys come from: names of variables that are set, and providers with a key or a command for one in the
    /// user's file.
    pub keys: Vec<String>,
    /// Paths that sandboxes show besides the system's own.
    pub readable: Vec<PathBuf>,
    /// What is known of the GitHub token's power.
    pub token_power: Option<TokenPower>,
}

/// Only whether they are there is ever told.
const KEYS: [&str; 7] = [
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "XAI_API_KEY",
    "GROQ_API_KEY",
    "GITHUB_TOKEN",
];

impl Told {
    /// From the environment and `config.toml` in the data directory.
    pub fn read(home: &Path, environment: &BTreeMap<String, String>) -> Result<Self, SettingsError> {
        let file = read_file(&home.join("config.toml"))?;
        let variable = |name: &str| environment::get(environment, name).map(str::to_owned);
        let set = KEYS.into_iter().filter(|name| variable(name).is_some()).map(str::to_owned);
        let keys = set.chain(keys_in(&file)).collect();
        let readable = file.get("readable_paths").and_then(Value::as_array).into_iter().flatten();
        let readable = readable.filter_map(Value::as_str).map(PathBuf::from).collect();
        let token_power = TokenPower::read(home, variable("GITHUB_TOKEN").as_deref());
        Ok(Self { settings: all(variable, &file), keys, readable, token_power })
    }
}

/// Providers with a key in the user's file, or a command that prints one. Of the command only its name is shown.
fn keys_in(file: &Table) -> Vec<String> {
    let providers = file.get("providers").and_then(Value::as_table).into_iter().flatten();
    let source = |provider: &Value| match (provider.get("key_command"), provider.get("key")) {
        (Some(argv), _) => {
            let program = argv.get(0)?.as_str()?;
            Some(format!("key_command (`{}`)", program.rsplit('/').next().unwrap_or(program)))
        }
        (None, Some(_)) => Some("config.toml".to_owned()),
        (None, None) => None,
    };
    providers.filter_map(|(name, provider)| Some(format!("{name}: {}", source(provider)?))).collect()
}

/// Variable, key in the user's file, default. Empty means that there is none.
const KNOWN: [(&str, &str, &str); 28] = [
    ("ORCHESTRATOR_PORT", "", "any free port"),
    ("DATABASE_URL", "", "SQLite in the data directory"),
    ("DEFAULT_PLANNER_MODEL", "models.planner", ""),
    ("DEFAULT_IMPLEMENTER_MODEL", "models.implementer", ""),
    ("DEFAULT_VALIDATOR_MODEL", "models.validator", ""),
    ("DEFAULT_MAX_CLARIFICATIONS", "max_clarifications", ""),
    ("DEFAULT_AUTO_MERGE", "auto_merge", "false"),
    ("MAX_CONCURRENT_RUNS_PER_USER", "max_concurrent_runs_per_user", "5"),
    ("HOLDPOINT_MAX_WAITING_REVIEWS", "max_waiting_reviews", "20"),
    ("HOLDPOINT_AGENT_DISK_GIB", "agent_disk_gib", "10"),
    ("HOLDPOINT_AGENT_MEMORY_GIB", "agent_memory_gib", "three quarters of the machine's"),
    ("readable_paths", "readable_paths", "none"),
    ("restricted_projects", "restricted_projects", "none"),
    ("ENABLE_AUTO_RETRY", "", ""),
    ("ENABLE_VALIDATION_DRIFT_DETECTION", "", ""),
    ("ANTHROPIC_BASE_URL", "providers.anthropic.base_url", ""),
    ("OPENAI_BASE_URL", "providers.openai.base_url", ""),
    ("GITHUB_REPO_OWNER", "", ""),
    ("GITHUB_REPO_NAME", "", ""),
    ("GITHUB_DEFAULT_BRANCH", "", ""),
    ("budget", "budget_usd", "no limit"),
    ("budget per day", "budget_day_usd", "no limit"),
    ("budget per project and month", "budget_project_month_usd", "no limit"),
    ("push", "push", ""),
    ("keep_sessions_days", "keep_sessions_days", "30"),
    ("embeddings", "embeddings.model", "off: semantic_search goes by words alone"),
    ("agent.max_clarification_rounds", "agent.max_clarification_rounds", "as the playbook says"),
    ("agent.skip_clarification", "agent.skip_clarification", "false"),
];

/// The user's `config.toml`; a missing one says nothing.
fn read_file(path: &Path) -> Result<Table, SettingsError> {
    let refused = |reason: String| SettingsError::File { path: path.to_owned(), reason };
    match std::fs::read_to_string(path) {
        Ok(text) => text.parse().map_err(|error: toml::de::Error| refused(format!("not TOML: {}", error.message()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Table::new()),
        Err(error) => Err(refused(error.to_string())),
    }
}

/// All settings there are; the environment wins over the file.
fn all(variable: impl Fn(&str) -> Option<String>, file: &Table) -> Vec<SettingView> {
    let known = KNOWN.into_iter().map(|(name, key, default)| {
        let said = |value: String, source: &str| SettingView {
            name: name.to_owned(),
            value: hidden(&value),
            source: source.to_owned(),
        };
        if let Some(value) = variable(name) {
            // A database address may carry a password.
            let value = if name == "DATABASE_URL" { "set".to_owned() } else { value };
            return said(value, "environment");
        }
        match look_up(file, key) {
            Some(value) => said(value, "config.toml"),
            None if default.is_empty() => said("not set".to_owned(), "default"),
            None => said(default.to_owned(), "default"),
        }
    });
    known.collect()
}

/// An address may carry a password.
fn hidden(value: &str) -> String {
    SecretScanner::default().redact(value)
}

fn look_up(file: &Table, key: &str) -> Option<String> {
    let (last, tables) = key.split('.').collect::<Vec<_>>().split_last().map(|(last, rest)| (*last, rest.to_vec()))?;
    let table = tables.iter().try_fold(file, |table, name| table.get(*name)?.as_table())?;
    table.get(last).map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, environment: &[(&str, &str)], file: &str, expected: (&str, &str)) {
        let variable =
            |wanted: &str| environment.iter().find(|(key, _)| *key == wanted).map(|(_, value)| (*value).to_owned());
        let settings = all(variable, &file.parse().unwrap());
        let setting = settings.iter().find(|setting| setting.name == name).unwrap();
        assert_eq!((setting.value.as_str(), setting.source.as_str()), expected);
    }

    #[test]
    fn the_environment_wins_over_the_file_and_the_file_over_the_default() {
        let file = "auto_merge = true\n[models]\nplanner = \"openai/a\"\n";
        check("DEFAULT_AUTO_MERGE", &[], file, ("true", "config.toml"));
        check("DEFAULT_AUTO_MERGE", &[("DEFAULT_AUTO_MERGE", "false")], file, ("false", "environment"));
        check("DEFAULT_AUTO_MERGE", &[], "", ("false", "default"));
        check("DEFAULT_PLANNER_MODEL", &[], file, ("openai/a", "config.toml"));
    }

    #[test]
    fn the_limits_of_the_queue_are_told() {
        let file = "max_waiting_reviews = 3\n";
        check("MAX_CONCURRENT_RUNS_PER_USER", &[], file, ("5", "default"));
        check("HOLDPOINT_MAX_WAITING_REVIEWS", &[], file, ("3", "config.toml"));
        let said = [("HOLDPOINT_MAX_WAITING_REVIEWS", "9")];
        check("HOLDPOINT_MAX_WAITING_REVIEWS", &said, file, ("9", "environment"));
    }

    #[test]
    fn who_gets_chunks_of_the_code_is_told_with_where_that_was_said() {
        check("embeddings", &[], "", ("off: semantic_search goes by words alone", "default"));
        let file = "[embeddings]\nmodel = \"ollama/nomic-embed-text\"\n";
        check("embeddings", &[], file, ("ollama/nomic-embed-text", "config.toml"));
    }

    #[test]
    fn keys_are_told_by_name_only() {
        let home = tempfile::tempdir().unwrap();
        let environment = BTreeMap::from([("OPENAI_API_KEY".to_owned(), "sk-secret".to_owned())]);
        let told = Told::read(home.path(), &environment).unwrap();
        assert_eq!(told.keys, ["OPENAI_API_KEY"]);
        assert!(!format!("{told:?}").contains("sk-secret"));
    }

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        let said = [("OPENAI_BASE_URL", "https://ada:q7Zt1Lw9Xc3V@models.acme.net/v1")];
        let settings =
            all(|wanted| said.iter().find(|(key, _)| *key == wanted).map(|(_, v)| (*v).to_owned()), &Table::new());
        let shown = &settings.iter().find(|setting| setting.name == "OPENAI_BASE_URL").unwrap().value;
        assert!(!shown.contains("q7Zt1Lw9Xc3V") && shown.contains("models.acme.net"), "{shown}");
    }

    #[test]
    fn where_keys_come_from_is_told_without_arguments_and_values() {
        let file = "[providers.a]\nkey = \"k3y-of-mine\"\n[providers.b]\nkey_command = [\"/usr/bin/pass\", \"s3cret-name\"]\n[providers.c]\n";
        assert_eq!(keys_in(&file.parse().unwrap()), ["a: config.toml", "b: key_command (`pass`)"]);
    }

    #[test]
    fn a_database_address_is_never_shown() {
        check("DATABASE_URL", &[("DATABASE_URL", "postgres://u:secret@h/d")], "", ("set", "environment"));
    }
}
