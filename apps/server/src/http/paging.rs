//! How much of a list is shown at once.

use crate::problem::Failure;

/// Most that one answer lists, unless a route says less.
pub(super) const MOST: usize = 1000;

/// The wished length of a list, or the usual one.
pub(super) fn limit(said: Option<usize>, usual: usize, most: usize) -> Result<usize, Failure> {
    let limit = said.unwrap_or(usual);
    if (1..=most).contains(&limit) {
        return Ok(limit);
    }
    Err(Failure::user("limit", "bad_limit", format!("{limit} cannot be listed at once"), format!("use 1 to {most}")))
}
