//! Money in whole millionths of a dollar, so that sums are exact.

use std::fmt;

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
