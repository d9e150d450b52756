//! Limits that all attempts of this machine keep together: what a project spends in a month, what everybody spends on
//! a day. The shims are processes of their own, so the sums are kept in files under one lock; what a killed shim had
//! set aside stays set aside until the period ends. Days and months are UTC's. Never fails open: a sum that cannot be
//! read or written refuses the call.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};
use serde::{Deserialize, Serialize};

use crate::money::{Micros, Shortfall};

/// Whose limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purse {
    /// The run's own.
    #[default]
    Run,
    /// All runs of a project, in a month.
    Project,
    /// All runs, on a day.
    Day,
}

/// Which mark of a limit was reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// 80 %: a person is asked.
    Ask,
    /// All of it.
    #[default]
    Limit,
}

/// Which limit kept a call from being made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortage {
    pub purse: Purse,
    pub mark: Mark,
    /// When it begins anew by itself.
    pub resets_at: Option<Timestamp>,
}

/// One shared limit, as it holds for one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedPurse {
    pub purse: Purse,
    /// What tells it from others of its kind: the project's name. Letters, digits, dashes.
    pub name: String,
    pub limit: Micros,
    /// Where a person is asked; `None`: they were.
    pub ask_at: Option<Micros>,
    /// What this run may spend over the limit.
    #[serde(default)]
    pub beyond: Micros,
}

/// What is set aside in one file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    file: PathBuf,
    key: String,
}

/// Why money could not be set aside.
#[derive(Debug)]
pub(crate) enum Refused {
    Short(Shortfall),
    Disk(String),
}

#[derive(Debug)]
pub(crate) struct Purses {
    folder: PathBuf,
    purses: Vec<SharedPurse>,
    attempt: String,
}

/// The sums of one period.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Ledger {
    spent: Micros,
    /// What calls in flight may cost, by attempt and call.
    open: BTreeMap<String, Micros>,
}

struct Period {
    name: String,
    ends: Timestamp,
}

impl Purses {
    /// `None` when there is nothing to keep.
    pub(crate) fn new(folder: Option<&Path>, purses: Vec<SharedPurse>, attempt: &str) -> Option<Self> {
        let folder = folder?.to_owned();
        (!purses.is_empty()).then(|| Self { folder, purses, attempt: attempt.to_owned() })
    }

    /// Sets money aside in all of them, or in none.
    pub(crate) fn reserve(
        &self,
        slot: impl fmt::Display,
        needed: Option<Micros>,
        now: Timestamp,
    ) -> Result<Vec<Kept>, Refused> {
        let disk = |error: io::Error| Refused::Disk(format!("`{}`: {error}", self.folder.display()));
        std::fs::create_dir_all(&self.folder).map_err(disk)?;
        let _lock = self.lock().map_err(disk)?;
        let key = format!("{}/{slot}", self.attempt);
        let mut kept = Vec::new();
        let mut writes = Vec::new();
        for shared in &self.purses {
            let period = shared.period(now).map_err(Refused::Disk)?;
            let file = self.folder.join(format!("{}.json", period.name));
            let mut ledger = Ledger::read(&file).map_err(disk)?;
            let needed = ledger.check(shared, needed, period.ends).map_err(Refused::Short)?;
            ledger.open.insert(key.clone(), needed);
            writes.push((file.clone(), ledger));
            kept.push(Kept { file, key: key.clone() });
        }
        for (file, ledger) in writes {
            ledger.write(&file).map_err(disk)?;
        }
        Ok(kept)
    }

    /// Sets aside in all of them what was used already, and says which limit leaves nothing more to use.
    pub(crate) fn owe(
        &self,
        call: u32,
        used: Micros,
        now: Timestamp,
    ) -> Result<(Vec<Kept>, Option<Shortfall>), String> {
        let disk = |error: io::Error| format!("`{}`: {error}", self.folder.display());
        std::fs::create_dir_all(&self.folder).map_err(disk)?;
        let _lock = self.lock().map_err(disk)?;
        let key = format!("{}/{call}", self.attempt);
        let (mut kept, mut reached) = (Vec::new(), None);
        for shared in &self.purses {
            let period = shared.period(now)?;
            let file = self.folder.join(format!("{}.json", period.name));
            let mut ledger = Ledger::read(&file).map_err(disk)?;
            ledger.open.insert(key.clone(), used);
            ledger.write(&file).map_err(disk)?;
            // There is nothing left when the smallest sum does not fit.
            reached = reached.or(ledger.check(shared, Some(Micros(1)), period.ends).err());
            kept.push(Kept { file, key: key.clone() });
        }
        Ok((kept, reached))
    }

    /// The limit that leaves nothing more to use.
    pub(crate) fn reached(&self, now: Timestamp) -> Result<Option<Shortfall>, String> {
        for shared in &self.purses {
            let period = shared.period(now)?;
            let file = self.folder.join(format!("{}.json", period.name));
            let ledger = Ledger::read(&file).map_err(|error| format!("`{}`: {error}", file.display()))?;
            if let Err(reached) = ledger.check(shared, Some(Micros(1)), period.ends) {
                return Ok(Some(reached));
            }
        }
        Ok(None)
    }

    /// Books what the call cost. What cannot be written stays set aside.
    pub(crate) fn settle(&self, kept: &[Kept], cost: Option<Micros>) -> io::Result<()> {
        if kept.is_empty() {
            return Ok(());
        }
        let _lock = self.lock()?;
        let mut files: BTreeMap<&Path, Vec<&str>> = BTreeMap::new();
        for Kept { file, key } in kept {
            files.entry(file).or_default().push(key);
        }
        for (file, keys) in files {
            let mut ledger = Ledger::read(file)?;
            ledger.open.retain(|key, _| !keys.contains(&key.as_str()));
            ledger.spent.0 = ledger.spent.0.saturating_add(cost.unwrap_or_default().0);
            ledger.write(file)?;
        }
        Ok(())
    }

    /// Held for a few reads and writes of small files.
    fn lock(&self) -> io::Result<File> {
        let options = OpenOptions::new().create(true).append(true).open(self.folder.join("lock"))?;
        options.lock()?;
        Ok(options)
    }
}

/// What was spent of a shared limit in the period that holds `now`, and when the period ends.
///
/// # Errors
/// When the sums cannot be read.
pub fn spent(folder: &Path, shared: &SharedPurse, now: Timestamp) -> io::Result<(Micros, Timestamp)> {
    let period = shared.period(now).map_err(io::Error::other)?;
    let ledger = Ledger::read(&folder.join(format!("{}.json", period.name)))?;
    Ok((ledger.spent, period.ends))
}

impl SharedPurse {
    fn period(&self, now: Timestamp) -> Result<Period, String> {
        let day = now.to_zoned(TimeZone::UTC).date();
        let (name, next) = match self.purse {
            Purse::Run | Purse::Day => (format!("day-{day}"), day.tomorrow()),
            Purse::Project => {
                let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
                let project: String = self.name.chars().map(plain).collect();
                let name = format!("project-{project}-{:04}-{:02}", day.year(), day.month());
                (name, day.first_of_month().checked_add(1.month()))
            }
        };
        let ends = next.and_then(|day| day.to_zoned(TimeZone::UTC)).map_err(|error| error.to_string())?;
        Ok(Period { name, ends: ends.timestamp() })
    }
}

impl Ledger {
    fn read(file: &Path) -> io::Result<Self> {
        match std::fs::read(file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// A kill and a power cut leave the old file or the new one; the new one counts once it is on the disk.
    fn write(&self, file: &Path) -> io::Result<()> {
        let new = file.with_extension("new");
        let mut written = File::create(&new)?;
        written.write_all(&serde_json::to_vec(self)?)?;
        written.sync_all()?;
        std::fs::rename(&new, file)?;
        file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }

    fn check(&self, shared: &SharedPurse, needed: Option<Micros>, ends: Timestamp) -> Result<Micros, Shortfall> {
        let SharedPurse { purse, limit, beyond, ask_at, .. } = shared;
        let (purse, resets_at) = (*purse, Some(ends));
        let limit = Micros(limit.0.saturating_add(beyond.0));
        let needed = needed.ok_or(Shortfall::PriceUnknown { limit })?;
        let reserved = Micros(self.open.values().map(|amount| amount.0).fold(0, u64::saturating_add));
        let total = self.spent.0.saturating_add(reserved.0).saturating_add(needed.0);
        if total > limit.0 {
            return Err(Shortfall::Money { purse, limit, spent: self.spent, reserved, needed, resets_at });
        }
        if ask_at.is_some_and(|at| self.spent >= at) {
            return Err(Shortfall::Ask { purse, limit: Some(limit), spent: self.spent, resets_at });
        }
        Ok(needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: &str = "2026-02-28T12:00:00Z";

    fn day(limit: u64) -> SharedPurse {
        let ask_at = None;
        SharedPurse { purse: Purse::Day, name: String::new(), limit: Micros(limit), ask_at, beyond: Micros(0) }
    }

    fn project(limit: u64) -> SharedPurse {
        SharedPurse { purse: Purse::Project, name: "../shop".to_owned(), ..day(limit) }
    }

    fn purses(folder: &Path, attempt: &str, purses: Vec<SharedPurse>) -> Purses {
        Purses::new(Some(folder), purses, attempt).unwrap()
    }

    fn short(refused: Refused) -> Shortfall {
        match refused {
            Refused::Short(short) => short,
            Refused::Disk(cause) => panic!("{cause}"),
        }
    }

    #[test]
    fn attempts_together_stay_below_the_days_limit() {
        let folder = tempfile::tempdir().unwrap();
        let now = NOON.parse().unwrap();
        let (one, two) = (purses(folder.path(), "a", vec![day(100)]), purses(folder.path(), "b", vec![day(100)]));
        let kept = one.reserve(1, Some(Micros(60)), now).unwrap();
        let refused = short(two.reserve(1, Some(Micros(50)), now).unwrap_err());
        let (reserved, needed) = (Micros(60), Micros(50));
        let resets_at = Some("2026-03-01T00:00:00Z".parse().unwrap());
        let (purse, limit, spent) = (Purse::Day, Micros(100), Micros(0));
        assert_eq!(refused, Shortfall::Money { purse, limit, spent, reserved, needed, resets_at });
        one.settle(&kept, Some(Micros(10))).unwrap();
        two.reserve(1, Some(Micros(50)), now).unwrap();
        let tomorrow = "2026-03-01T00:00:01Z".parse().unwrap();
        two.reserve(2, Some(Micros(100)), tomorrow).unwrap();
        assert_eq!(super::spent(folder.path(), &day(1), now).unwrap().0, Micros(10));
    }

    #[test]
    fn what_one_limit_refuses_is_set_aside_in_none() {
        let folder = tempfile::tempdir().unwrap();
        let now = NOON.parse().unwrap();
        let both = purses(folder.path(), "a", vec![day(100), project(50)]);
        assert!(matches!(
            short(both.reserve(1, Some(Micros(60)), now).unwrap_err()),
            Shortfall::Money { purse: Purse::Project, .. }
        ));
        both.reserve(2, Some(Micros(50)), now).unwrap();
        purses(folder.path(), "b", vec![day(100)]).reserve(1, Some(Micros(50)), now).unwrap();
        let names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.contains(&"project-___shop-2026-02.json".into()), "{names:?}");
    }

    #[test]
    fn a_person_is_asked_once_and_may_let_one_run_go_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let now = NOON.parse().unwrap();
        let asking = SharedPurse { ask_at: Some(Micros(80)), ..day(100) };
        let one = purses(folder.path(), "a", vec![asking]);
        let kept = one.reserve(1, Some(Micros(90)), now).unwrap();
        one.settle(&kept, Some(Micros(80))).unwrap();
        assert!(matches!(
            short(one.reserve(2, Some(Micros(1)), now).unwrap_err()),
            Shortfall::Ask { purse: Purse::Day, .. }
        ));
        purses(folder.path(), "b", vec![day(100)]).reserve(1, Some(Micros(20)), now).unwrap();
        let further = SharedPurse { beyond: Micros(30), ..day(100) };
        purses(folder.path(), "c", vec![further]).reserve(1, Some(Micros(30)), now).unwrap();
    }

    #[test]
    fn a_sum_that_cannot_be_read_refuses() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("day-2026-02-28.json"), "half a li").unwrap();
        let refused = purses(folder.path(), "a", vec![day(100)]).reserve(1, Some(Micros(1)), NOON.parse().unwrap());
        assert!(matches!(refused, Err(Refused::Disk(_))));
        let refused = purses(folder.path(), "a", vec![project(9)]).reserve(1, None, NOON.parse().unwrap());
        assert_eq!(short(refused.unwrap_err()), Shortfall::PriceUnknown { limit: Micros(9) });
    }
}
