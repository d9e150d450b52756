//! Micro-dollars and the envelope of one attempt. Pure: the log and the lock are `books`.
//!
//! Invariant: at the moment of a reservation, spent + reserved ≤ limit. What is spent in the
//! end may exceed the limit by what calls in flight cost more than was reserved for them.

use std::collections::HashMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::purses::Purse;

/// An amount of money in millionths of a US dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Micros(pub u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, rest) = (self.0 / 1_000_000, self.0 % 1_000_000);
        if rest.is_multiple_of(10_000) {
            write!(f, "${dollars}.{:02}", rest / 10_000)
        } else {
            write!(f, "${dollars}.{rest:06}")
        }
    }
}

/// Why a call was not allowed to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shortfall {
    Money {
        purse: Purse,
        limit: Micros,
        spent: Micros,
        reserved: Micros,
        needed: Micros,
        resets_at: Option<Timestamp>,
    },
    /// A person shall say first whether more may be spent.
    Ask {
        purse: Purse,
        limit: Option<Micros>,
        spent: Micros,
        resets_at: Option<Timestamp>,
    },
    PriceUnknown {
        limit: Micros,
    },
    Calls {
        max: u32,
    },
}

#[derive(Debug)]
pub(crate) struct Envelope {
    limit: Option<Micros>,
    ask_after: Option<Micros>,
    max_calls: Option<u32>,
    calls: u32,
    spent: Micros,
    reserved: HashMap<u32, Micros>,
}

impl Envelope {
    pub(crate) fn new(limit: Option<Micros>, max_calls: Option<u32>) -> Self {
        Self { limit, ask_after: None, max_calls, calls: 0, spent: Micros(0), reserved: HashMap::new() }
    }

    /// Once so much is spent, a person is asked before the next call.
    pub(crate) fn asking_after(self, ask_after: Option<Micros>) -> Self {
        Self { ask_after, ..self }
    }

    /// Sets money aside for a call. `estimate` is `None` when the model has no price.
    pub(crate) fn reserve(&mut self, call: u32, estimate: Option<Micros>) -> Result<(), Shortfall> {
        if let Some(max) = self.max_calls
            && self.calls >= max
        {
            return Err(Shortfall::Calls { max });
        }
        self.covers(estimate)?;
        // Who could not go on with a yes is not asked for one.
        if self.ask_after.is_some_and(|after| self.spent >= after) {
            let (purse, spent) = (Purse::Run, self.spent);
            return Err(Shortfall::Ask { purse, limit: None, spent, resets_at: None });
        }
        self.calls += 1;
        self.reserved.insert(call, estimate.unwrap_or_default());
        Ok(())
    }

    /// Sets the same money aside once more: a try that was sent may be billed beside the next one.
    pub(crate) fn reserve_again(&mut self, call: u32, estimate: Option<Micros>) -> Result<(), Shortfall> {
        self.covers(estimate)?;
        let reserved = self.reserved.entry(call).or_default();
        reserved.0 = reserved.0.saturating_add(estimate.unwrap_or_default().0);
        Ok(())
    }

    fn covers(&self, estimate: Option<Micros>) -> Result<(), Shortfall> {
        let Some(limit) = self.limit else { return Ok(()) };
        let needed = estimate.ok_or(Shortfall::PriceUnknown { limit })?;
        let reserved = Micros(self.reserved.values().map(|amount| amount.0).fold(0, u64::saturating_add));
        let total = self.spent.0.saturating_add(reserved.0).saturating_add(needed.0);
        if total > limit.0 {
            let (purse, spent, resets_at) = (Purse::Run, self.spent, None);
            return Err(Shortfall::Money { purse, limit, spent, reserved, needed, resets_at });
        }
        Ok(())
    }

    /// Sets aside what was used already, whatever the limit says; replaces what was said of it before.
    pub(crate) fn owe(&mut self, call: u32, used: Micros) {
        self.reserved.insert(call, used);
    }

    /// The limit that leaves nothing more to use.
    pub(crate) fn reached(&self) -> Option<Shortfall> {
        let reserved = Micros(self.reserved.values().map(|amount| amount.0).fold(0, u64::saturating_add));
        let (purse, resets_at, spent) = (Purse::Run, None, self.spent);
        let used = Micros(spent.0.saturating_add(reserved.0));
        if let Some(limit) = self.limit.filter(|limit| used >= *limit) {
            return Some(Shortfall::Money { purse, limit, spent, reserved, needed: Micros(0), resets_at });
        }
        let asks = self.ask_after.is_some_and(|after| used >= after);
        asks.then_some(Shortfall::Ask { purse, limit: None, spent: used, resets_at })
    }

    /// Whether no call is in flight.
    pub(crate) fn is_idle(&self) -> bool {
        self.reserved.is_empty()
    }

    /// Gives the reservation of a call back that was not made after all.
    pub(crate) fn forget(&mut self, call: u32) {
        if self.reserved.remove(&call).is_some() {
            self.calls -= 1;
        }
    }

    /// Gives the reservation back and books what the call really cost.
    pub(crate) fn settle(&mut self, call: u32, cost: Option<Micros>) {
        self.reserved.remove(&call);
        self.spent.0 = self.spent.0.saturating_add(cost.unwrap_or_default().0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_read_like_money() {
        assert_eq!(Micros(1_500_000).to_string(), "$1.50");
        assert_eq!(Micros(1_234).to_string(), "$0.001234");
        assert_eq!(Micros(0).to_string(), "$0.00");
    }

    #[test]
    fn open_reservations_count_against_the_limit() {
        let mut envelope = Envelope::new(Some(Micros(100)), None);
        envelope.reserve(1, Some(Micros(60))).unwrap();
        assert_eq!(
            envelope.reserve(2, Some(Micros(50))),
            Err(Shortfall::Money {
                purse: Purse::Run,
                limit: Micros(100),
                spent: Micros(0),
                reserved: Micros(60),
                needed: Micros(50),
                resets_at: None
            })
        );
        envelope.settle(1, Some(Micros(10)));
        envelope.reserve(3, Some(Micros(50))).unwrap();
    }

    #[test]
    fn a_person_is_asked_once_so_much_is_spent() {
        let mut envelope = Envelope::new(Some(Micros(100)), None).asking_after(Some(Micros(80)));
        envelope.reserve(1, Some(Micros(100))).unwrap();
        envelope.settle(1, Some(Micros(79)));
        envelope.reserve(2, Some(Micros(5))).unwrap();
        envelope.settle(2, Some(Micros(1)));
        let asked = envelope.reserve(3, Some(Micros(1)));
        assert!(matches!(asked, Err(Shortfall::Ask { spent: Micros(80), .. })), "{asked:?}");
        let stopped = envelope.reserve(3, Some(Micros(21)));
        assert!(matches!(stopped, Err(Shortfall::Money { .. })), "a yes would not be enough: {stopped:?}");
    }

    #[test]
    fn exactly_the_limit_may_be_spent() {
        let mut envelope = Envelope::new(Some(Micros(100)), None);
        assert_eq!(envelope.reserve(1, Some(Micros(100))), Ok(()));
    }

    #[test]
    fn a_limit_and_no_price_is_refused() {
        let mut envelope = Envelope::new(Some(Micros(100)), None);
        let limit = Micros(100);
        assert_eq!(envelope.reserve(1, None), Err(Shortfall::PriceUnknown { limit }));
        assert_eq!(Envelope::new(None, None).reserve(1, None), Ok(()));
    }

    #[test]
    fn refused_calls_do_not_use_up_the_call_limit() {
        let mut envelope = Envelope::new(Some(Micros(10)), Some(1));
        assert!(envelope.reserve(1, Some(Micros(11))).is_err());
        assert_eq!(envelope.reserve(2, Some(Micros(1))), Ok(()));
        envelope.settle(2, Some(Micros(1)));
        assert_eq!(envelope.reserve(3, Some(Micros(1))), Err(Shortfall::Calls { max: 1 }));
    }
}
