//! Entry: which queued run may begin next. The order and the rule are here; a store applies them inside the
//! transaction that leases, so that they hold for all processes on one database.

use domain::Priority;
use jiff::{SignedDuration, Timestamp};

/// When a queued run is let in. A child run is never counted and never waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryRule {
    /// Runs of one user that may be active at once: let in, not ended, and waiting for no person.
    pub per_user: u32,
    /// With more runs than this waiting for a person, no further run of that user begins.
    pub waiting: u32,
}

impl Default for EntryRule {
    fn default() -> Self {
        Self { per_user: 5, waiting: 20 }
    }
}

/// How a queued run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// Queued runs of the same user that go first.
    pub ahead: u64,
    /// Active runs of the user.
    pub active: u64,
    /// Runs of the user that wait for a person, children among them.
    pub waiting: u64,
    /// What keeps it out.
    pub blocked_by: Blocked,
}

/// What keeps a queued run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    /// The user has as many active runs as may be.
    UserLimit {
        /// How many that is.
        limit: u32,
    },
    /// Too much waits for the user's decision.
    Reviews {
        /// How much may wait.
        limit: u32,
    },
    /// Only a free slot of the machine is missing.
    Slots,
}

impl EntryRule {
    /// How many more runs of a user may begin.
    #[must_use]
    pub fn room(&self, active: u64, waiting: u64) -> u64 {
        match self.blocked_by(active, waiting) {
            Blocked::UserLimit { .. } | Blocked::Reviews { .. } => 0,
            Blocked::Slots => u64::from(self.per_user).saturating_sub(active),
        }
    }

    /// What keeps a user's next run out. Of two reasons the one that a person can act on is named.
    #[must_use]
    pub fn blocked_by(&self, active: u64, waiting: u64) -> Blocked {
        if waiting > u64::from(self.waiting) {
            Blocked::Reviews { limit: self.waiting }
        } else if active >= u64::from(self.per_user) {
            Blocked::UserLimit { limit: self.per_user }
        } else {
            Blocked::Slots
        }
    }
}

/// The place of a run in the queue: when it was asked for, moved by its priority. The move is a fixed time, so every
/// queued run is the first one day, whatever comes after it.
#[must_use]
pub fn turn(requested_at: Timestamp, priority: Priority) -> Timestamp {
    const HEAD_START: SignedDuration = SignedDuration::from_mins(10);
    let moved = match priority {
        Priority::Low => requested_at.checked_add(HEAD_START),
        Priority::Normal => return requested_at,
        Priority::High => requested_at.checked_sub(HEAD_START),
    };
    // At either end of time there is nobody left to overtake.
    moved.unwrap_or(requested_at)
}
