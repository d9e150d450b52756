//! Measurements for `make bench`. Figures only: no test depends on them.

pub mod crowd;
pub mod decision;
pub mod live;
pub mod memory;
pub mod raw;
pub mod recovery;
pub mod served;
pub mod startup;
pub mod steps;

/// Two points of a distribution, in milliseconds.
pub struct Spread {
    /// Half are faster.
    pub p50: f64,
    /// Ninety-nine of a hundred are faster.
    pub p99: f64,
}

impl Spread {
    /// The spread of some times.
    #[must_use]
    pub fn of(mut millis: Vec<f64>) -> Self {
        millis.sort_by(f64::total_cmp);
        let at = |share: usize| millis.get((millis.len() * share / 100).min(millis.len().saturating_sub(1)));
        Self { p50: at(50).copied().unwrap_or(f64::NAN), p99: at(99).copied().unwrap_or(f64::NAN) }
    }
}
