//! One-time codes for logging in: few, short-lived, in memory only. Guessing is slowed down for the address it comes from.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Holder, Mark, hex};

/// How long a code is good.
pub(crate) const CODE_LIFE: Duration = Duration::from_secs(60);

/// More codes at once are not kept; the oldest stop working.
const MOST_CODES: usize = 8;

/// So many wrong codes from one address within [`MISS_TIME`], and no more of it are looked at for a while.
const MOST_MISSES: usize = 10;
const MISS_TIME: Duration = Duration::from_secs(60);

/// With misses of more addresses than this at once, new ones share one count: memory is bounded, and 128 bits are not
/// guessed meanwhile.
const MOST_ADDRESSES: usize = 1024;

/// Codes that were given out and not used yet.
#[derive(Default)]
pub(crate) struct Codes(Mutex<Open>);

#[derive(Default)]
struct Open {
    codes: VecDeque<Code>,
    misses: HashMap<IpAddr, VecDeque<Instant>>,
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
    pub(crate) fn take(&self, secret: &str, from: IpAddr, now: Instant) -> Result<Holder, Miss> {
        let mut open = self.open();
        open.misses.retain(|_, missed| {
            missed.retain(|at| now.saturating_duration_since(*at) < MISS_TIME);
            !missed.is_empty()
        });
        let from = open.counted(from);
        if open.misses.get(&from).is_some_and(|missed| missed.len() >= MOST_MISSES) {
            return Err(Miss::TooMany);
        }
        open.codes.retain(|code| code.until > now);
        let mark = Mark::of(secret.as_bytes());
        let found = open.codes.iter().position(|code| code.mark.fits(&mark)).and_then(|at| open.codes.remove(at));
        if found.is_none() {
            open.misses.entry(from).or_default().push_back(now);
        }
        found.map(|code| code.holder).ok_or(Miss::Unknown)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// The address that misses are counted under. Who has one IPv6 address has all of its network.
    fn counted(&self, from: IpAddr) -> IpAddr {
        let network = match from.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            short @ IpAddr::V4(_) => short,
        };
        let known = self.misses.contains_key(&network) || self.misses.len() < MOST_ADDRESSES;
        if known { network } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn ada() -> Holder {
        Holder::User("ada".to_owned())
    }

    #[test]
    fn a_code_lets_in_once_and_for_a_minute() {
        let (codes, now) = (Codes::default(), Instant::now());
        let code = codes.give(ada(), now);
        assert_eq!(code.len(), 32);
        assert_eq!(codes.take(&code, HERE, now), Ok(ada()));
        assert_eq!(codes.take(&code, HERE, now), Err(Miss::Unknown));
        let late = codes.give(ada(), now);
        assert_eq!(codes.take(&late, HERE, now + CODE_LIFE), Err(Miss::Unknown));
    }

    #[test]
    fn only_the_newest_codes_are_kept() {
        let (codes, now) = (Codes::default(), Instant::now());
        let given: Vec<String> = (0..=MOST_CODES).map(|_| codes.give(ada(), now)).collect();
        assert_eq!(codes.take(&given[0], HERE, now), Err(Miss::Unknown));
        assert!(given[1..].iter().all(|code| codes.take(code, HERE, now).is_ok()));
    }

    #[test]
    fn guessing_is_stopped_and_forgiven_after_a_minute() {
        let (codes, now) = (Codes::default(), Instant::now());
        let code = codes.give(ada(), now + MISS_TIME);
        for _ in 0..MOST_MISSES {
            assert_eq!(codes.take("wrong", HERE, now), Err(Miss::Unknown));
        }
        assert_eq!(codes.take(&code, HERE, now), Err(Miss::TooMany));
        assert_eq!(codes.take(&code, HERE, now + MISS_TIME), Ok(ada()));
    }

    #[test]
    fn guessing_from_one_address_keeps_nobody_else_out() {
        let (codes, now) = (Codes::default(), Instant::now());
        let guesser = |last: u16| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last));
        for guess in 0..u16::try_from(MOST_MISSES).unwrap() {
            assert_eq!(codes.take("wrong", guesser(guess), now), Err(Miss::Unknown));
        }
        let code = codes.give(ada(), now);
        assert_eq!(codes.take(&code, guesser(99), now), Err(Miss::TooMany), "one network is one guesser");
        assert_eq!(codes.take(&code, HERE, now), Ok(ada()));
    }
}
