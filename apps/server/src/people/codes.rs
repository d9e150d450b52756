//! One-time codes for logging in: few, short-lived, in memory only. Guessing is slowed down for everybody.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Holder, Mark, hex};

/// How long a code is good.
pub(crate) const CODE_LIFE: Duration = Duration::from_secs(60);

/// More codes at once are not kept; the oldest stop working.
const MOST_CODES: usize = 8;

/// So many wrong codes within [`MISS_TIME`], and no more are looked at for a while.
const MOST_MISSES: usize = 10;
const MISS_TIME: Duration = Duration::from_secs(60);

/// Codes that were given out and not used yet.
#[derive(Default)]
pub(crate) struct Codes(Mutex<Open>);

#[derive(Default)]
struct Open {
    codes: VecDeque<Code>,
    misses: VecDeque<Instant>,
}

struct Code {
    mark: Mark,
    holder: Holder,
    until: Instant,
}

/// Why a code does not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Miss {
    /// It never was one, was used, or is too old.
    Unknown,
    /// Too many wrong ones came.
    TooMany,
}

impl Codes {
    /// A new code of 128 bits.
    pub(crate) fn give(&self, holder: Holder, now: Instant) -> String {
        let secret = hex(&rand::random::<[u8; 16]>());
        let mut open = self.open();
        open.codes.retain(|code| code.until > now);
        if open.codes.len() >= MOST_CODES {
            open.codes.pop_front();
        }
        open.codes.push_back(Code { mark: Mark::of(secret.as_bytes()), holder, until: now + CODE_LIFE });
        secret
    }

    /// Uses a code up.
    pub(crate) fn take(&self, secret: &str, now: Instant) -> Result<Holder, Miss> {
        let mut open = self.open();
        open.misses.retain(|missed| now.saturating_duration_since(*missed) < MISS_TIME);
        if open.misses.len() >= MOST_MISSES {
            return Err(Miss::TooMany);
        }
        open.codes.retain(|code| code.until > now);
        let mark = Mark::of(secret.as_bytes());
        let found = open.codes.iter().position(|code| code.mark.fits(&mark)).and_then(|at| open.codes.remove(at));
        if found.is_none() {
            open.misses.push_back(now);
        }
        found.map(|code| code.holder).ok_or(Miss::Unknown)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> Holder {
        Holder::User("ada".to_owned())
    }

    #[test]
    fn a_code_lets_in_once_and_for_a_minute() {
        let (codes, now) = (Codes::default(), Instant::now());
        let code = codes.give(ada(), now);
        assert_eq!(code.len(), 32);
        assert_eq!(codes.take(&code, now), Ok(ada()));
        assert_eq!(codes.take(&code, now), Err(Miss::Unknown));
        let late = codes.give(ada(), now);
        assert_eq!(codes.take(&late, now + CODE_LIFE), Err(Miss::Unknown));
    }

    #[test]
    fn only_the_newest_codes_are_kept() {
        let (codes, now) = (Codes::default(), Instant::now());
        let given: Vec<String> = (0..=MOST_CODES).map(|_| codes.give(ada(), now)).collect();
        assert_eq!(codes.take(&given[0], now), Err(Miss::Unknown));
        assert!(given[1..].iter().all(|code| codes.take(code, now).is_ok()));
    }

    #[test]
    fn guessing_is_stopped_and_forgiven_after_a_minute() {
        let (codes, now) = (Codes::default(), Instant::now());
        let code = codes.give(ada(), now + MISS_TIME);
        for _ in 0..MOST_MISSES {
            assert_eq!(codes.take("wrong", now), Err(Miss::Unknown));
        }
        assert_eq!(codes.take(&code, now), Err(Miss::TooMany));
        assert_eq!(codes.take(&code, now + MISS_TIME), Ok(ada()));
    }
}
