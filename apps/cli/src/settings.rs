//! Every setting with its value and where it came from: the environment, the user's file, or a default.
//! Only tells; the server reads them itself.

use std::path::Path;

use serde::Serialize;
use toml::{Table, Value};

use crate::failure::Failure;

/// A setting and where its value came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) source: &'static str,
}

/// Variable, key in the user's file, default. Empty means that there is none.
const KNOWN: [(&str, &str, &str); 23] = [
    ("ORCHESTRATOR_PORT", "", "any free port"),
    ("DATABASE_URL", "", "SQLite in the data directory"),
    ("DEFAULT_PLANNER_MODEL", "models.planner", ""),
    ("DEFAULT_IMPLEMENTER_MODEL", "models.implementer", ""),
    ("DEFAULT_VALIDATOR_MODEL", "models.validator", ""),
    ("DEFAULT_MAX_CLARIFICATIONS", "max_clarifications", ""),
    ("DEFAULT_AUTO_MERGE", "auto_merge", "false"),
    ("MAX_CONCURRENT_RUNS_PER_USER", "max_concurrent_runs_per_user", "5"),
    ("HOLDPOINT_MAX_WAITING_REVIEWS", "max_waiting_reviews", "20"),
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
    ("embeddings", "embeddings.model", "off: semantic_search goes by words alone"),
    ("agent.max_clarification_rounds", "agent.max_clarification_rounds", "as the playbook says"),
    ("agent.skip_clarification", "agent.skip_clarification", "false"),
];

/// The user's `config.toml`; a missing one says nothing.
pub(crate) fn read_file(path: &Path) -> Result<Table, Failure> {
    match std::fs::read_to_string(path) {
        Ok(text) => text.parse().map_err(|error: toml::de::Error| {
            let message = format!("`{}` is not TOML: {}", path.display(), error.message());
            Failure::unavailable("config", message, "correct the file, or move it away")
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Table::new()),
        Err(error) => Err(Failure::file("read", path, &error)),
    }
}

/// All settings there are; the environment wins over the file.
pub(crate) fn all(variable: impl Fn(&str) -> Option<String>, file: &Table) -> Vec<Setting> {
    let known = KNOWN.into_iter().map(|(name, key, default)| {
        if let Some(value) = variable(name) {
            // A database address may carry a password.
            let value = if name == "DATABASE_URL" { "set".to_owned() } else { value };
            return Setting { name, value, source: "environment" };
        }
        match look_up(file, key) {
            Some(value) => Setting { name, value, source: "config.toml" },
            None if default.is_empty() => Setting { name, value: "not set".to_owned(), source: "default" },
            None => Setting { name, value: default.to_owned(), source: "default" },
        }
    });
    known.collect()
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
        assert_eq!((setting.value.as_str(), setting.source), expected);
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
    fn a_database_address_is_never_shown() {
        check("DATABASE_URL", &[("DATABASE_URL", "postgres://u:secret@h/d")], "", ("set", "environment"));
    }
}
