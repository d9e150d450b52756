//! When a queued run is let in, and how much one attempt may use: from the environment, then the user's `config.toml`, then the default.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

use engine::EntryRule;
use runner::sandbox::Limits;

use super::SettingsError;
use super::environment::{get, refuse};
use super::user::UserFile;

/// With none at all nothing would ever begin.
const PER_USER: RangeInclusive<u32> = 1..=10_000;
const WAITING: RangeInclusive<u32> = 0..=10_000;

pub(super) fn entry(
    environment: &BTreeMap<String, String>,
    user: &UserFile,
    path: &Path,
) -> Result<EntryRule, SettingsError> {
    let said = said(environment, "MAX_CONCURRENT_RUNS_PER_USER", PER_USER)?;
    let own = own(user.max_concurrent_runs_per_user, "max_concurrent_runs_per_user", PER_USER, path)?;
    let mut rule = EntryRule::default();
    rule.per_user = said.or(own).unwrap_or(rule.per_user);
    let said = self::said(environment, "HOLDPOINT_MAX_WAITING_REVIEWS", WAITING)?;
    let own = self::own(user.max_waiting_reviews, "max_waiting_reviews", WAITING, path)?;
    rule.waiting = said.or(own).unwrap_or(rule.waiting);
    Ok(rule)
}

/// GiB.
const SIZE: RangeInclusive<u32> = 1..=65_536;

pub(super) fn attempt(
    environment: &BTreeMap<String, String>,
    user: &UserFile,
    path: &Path,
) -> Result<Limits, SettingsError> {
    let bytes = |variable: &str, value: Option<u32>, key: &str| -> Result<Option<u64>, SettingsError> {
        let own = own(value, key, SIZE, path)?;
        Ok(said(environment, variable, SIZE)?.or(own).map(|gib| u64::from(gib) << 30))
    };
    let mut limits = Limits::default();
    let disk = bytes("HOLDPOINT_AGENT_DISK_GIB", user.agent_disk_gib, "agent_disk_gib")?;
    let memory = bytes("HOLDPOINT_AGENT_MEMORY_GIB", user.agent_memory_gib, "agent_memory_gib")?;
    limits.disk_bytes = disk.unwrap_or(limits.disk_bytes);
    limits.memory_bytes = memory.or(limits.memory_bytes);
    Ok(limits)
}

fn said(
    environment: &BTreeMap<String, String>,
    name: &str,
    range: RangeInclusive<u32>,
) -> Result<Option<u32>, SettingsError> {
    let Some(value) = get(environment, name) else { return Ok(None) };
    let number = value.parse().ok().filter(|number| range.contains(number));
    number.map(Some).ok_or_else(|| refuse(name, value, &wanted(&range)))
}

fn own(value: Option<u32>, key: &str, range: RangeInclusive<u32>, path: &Path) -> Result<Option<u32>, SettingsError> {
    match value {
        Some(number) if !range.contains(&number) => {
            let reason = format!("{key} is {number}: {}", wanted(&range));
            Err(SettingsError::File { path: path.to_owned(), reason })
        }
        other => Ok(other),
    }
}

fn wanted(range: &RangeInclusive<u32>) -> String {
    format!("use a number from {} to {}", range.start(), range.end())
}
