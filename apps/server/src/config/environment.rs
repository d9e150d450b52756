//! Defaults from environment variables.

use std::collections::BTreeMap;

use domain::SecretScanner;

use super::{Defaults, SettingsError, model_list};

pub(super) fn defaults(environment: &BTreeMap<String, String>) -> Result<Defaults, SettingsError> {
    let mut defaults = Defaults::default();
    let roles = [
        ("planner", "DEFAULT_PLANNER_MODEL"),
        ("implementer", "DEFAULT_IMPLEMENTER_MODEL"),
        ("validator", "DEFAULT_VALIDATOR_MODEL"),
    ];
    for (role, name) in roles {
        if let Some(value) = get(environment, name) {
            let models = model_list(value).map_err(|error| refuse(name, value, &error.to_string()))?;
            defaults.models.insert(role.to_owned(), models);
        }
    }
    if let Some(value) = get(environment, "DEFAULT_MAX_CLARIFICATIONS") {
        let number = value.parse().ok().filter(|number| *number <= 100);
        let number = number.ok_or_else(|| refuse("DEFAULT_MAX_CLARIFICATIONS", value, "use a number from 0 to 100"))?;
        defaults.max_clarifications = Some(number);
    }
    if let Some(value) = get(environment, "DEFAULT_AUTO_MERGE") {
        defaults.auto_merge = match value.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" => Some(true),
            "false" | "0" | "no" => Some(false),
            _ => return Err(refuse("DEFAULT_AUTO_MERGE", value, "use `true` or `false`")),
        };
    }
    Ok(defaults)
}

/// A variable that is set to something.
pub(super) fn get<'a>(environment: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    environment.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

pub(super) fn refuse(name: &str, value: &str, reason: &str) -> SettingsError {
    // A key in the wrong variable; redacted before it is cut.
    let value = SecretScanner::default().redact(value);
    let value = value.chars().filter(|c| !c.is_control()).take(60).collect();
    SettingsError::Environment { name: name.to_owned(), value, reason: reason.to_owned() }
}
