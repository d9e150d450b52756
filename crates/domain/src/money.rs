//! Money in whole millionths of a dollar, so that sums are exact.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Micro-dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl Micros {
    /// As dollars, for people and for JSON views.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "exact far beyond any sum a run can spend")]
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1_000_000.0
    }

    /// From dollars as a person types them; `None` for what is not a sum of money.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be finite, not negative and below a billion"
    )]
    pub fn from_usd(usd: f64) -> Option<Self> {
        (usd.is_finite() && (0.0..1e9).contains(&usd)).then(|| Self((usd * 1_000_000.0).round() as u64))
    }

    /// Sum that stops at the largest value.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Where a person is asked about a limit.
    #[must_use]
    pub fn ask_mark(self) -> Self {
        Self(self.0 / 100 * ASK_AT + self.0 % 100 * ASK_AT / 100)
    }

    /// What is left of `self` after `other`.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}", self.usd())
    }
}

/// Part of a run's limit at which a person is asked, in percent.
const ASK_AT: u64 = 80;

/// What a run was thought to cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// Probably.
    pub likely: Micros,
    /// At most, as far as is known.
    pub high: Micros,
    /// How many earlier runs it is said from; 0 is a guess.
    pub runs: u32,
}

/// Whose limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
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

impl Purse {
    /// The word used in views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Project => "project",
            Self::Day => "day",
        }
    }
}

/// Which mark of a limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// 80 %: a person is asked.
    Ask,
    /// All of it: nothing goes on.
    #[default]
    Limit,
}

/// Why no money was given for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortage {
    /// Whose limit it was.
    pub purse: Purse,
    /// Which mark of it.
    pub mark: Mark,
    /// When it begins anew by itself.
    #[serde(default)]
    pub resets_at: Option<Timestamp>,
}

/// What people said about limits on the way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waived {
    /// Limits whose 80 % were allowed to be passed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub asked: BTreeSet<Purse>,
    /// What this run may spend beyond limits that it shares with others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beyond: BTreeMap<Purse, Micros>,
}

impl Waived {
    /// Whether nobody said anything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.beyond.is_empty()
    }
}
