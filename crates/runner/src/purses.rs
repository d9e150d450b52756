//! Limits that runs share, as the broker keeps them for one attempt.

use std::path::Path;

use broker::purses::{Mark, Purse, SharedPurse, Shortage};
use domain::{Micros, Waived};

/// What runs may spend together; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SharedLimits {
    /// Everybody, on a day.
    pub day: Option<Micros>,
    /// All runs of one project, in a month.
    pub project_month: Option<Micros>,
}

impl SharedLimits {
    /// Whether there is any.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// As they hold for one run of a project; `None`: nobody asks on its way.
    #[must_use]
    pub fn purses(&self, project: &str, waived: Option<&Waived>) -> Vec<SharedPurse> {
        let purse = |purse: Purse, name: &str, limit: Micros| {
            let of = domain_purse(purse);
            let asks = waived.is_some_and(|waived| !waived.asked.contains(&of));
            let beyond = waived.and_then(|waived| waived.beyond.get(&of)).copied().unwrap_or_default();
            SharedPurse {
                purse,
                name: name.to_owned(),
                limit: broker::Micros(limit.0),
                ask_at: asks.then(|| broker::Micros(limit.ask_mark().0)),
                beyond: broker::Micros(beyond.0),
            }
        };
        let day = self.day.map(|limit| purse(Purse::Day, "", limit));
        let project = self.project_month.map(|limit| purse(Purse::Project, &name(project), limit));
        day.into_iter().chain(project).collect()
    }
}

/// A project as part of a file's name.
fn name(project: &str) -> String {
    let last = Path::new(project).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let short: String = last.chars().take(32).collect();
    format!("{short}-{}", &domain::Digest::of([project]).as_str()[..12])
}

fn domain_purse(purse: Purse) -> domain::Purse {
    match purse {
        Purse::Run => domain::Purse::Run,
        Purse::Project => domain::Purse::Project,
        Purse::Day => domain::Purse::Day,
    }
}

/// The broker's word for a limit, as the run's.
pub(crate) fn shortage(said: Shortage) -> domain::Shortage {
    let mark = match said.mark {
        Mark::Ask => domain::Mark::Ask,
        Mark::Limit => domain::Mark::Limit,
    };
    domain::Shortage { purse: domain_purse(said.purse), mark, resets_at: said.resets_at }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_allowed_is_no_longer_asked_and_may_be_passed() {
        let limits = SharedLimits { day: Some(Micros(1_000)), project_month: Some(Micros(50)) };
        let waived =
            Waived { asked: [domain::Purse::Project].into(), beyond: [(domain::Purse::Project, Micros(7))].into() };
        let found = limits.purses("/home/u/shop", Some(&waived));
        let seen: Vec<_> = found.iter().map(|purse| (purse.purse, purse.ask_at, purse.beyond.0)).collect();
        let day = (Purse::Day, Some(broker::Micros(800)), 0);
        assert_eq!(seen, [day, (Purse::Project, None, 7)]);
        assert!(found[1].name.starts_with("shop-"), "{}", found[1].name);
        assert!(limits.purses("/home/u/shop", None).iter().all(|purse| purse.ask_at.is_none()));
        assert_ne!(name("/a/shop"), name("/b/shop"));
    }
}
