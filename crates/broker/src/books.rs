//! The envelope and the log of one attempt, kept in step: money is reserved and the line is
//! written before a call is made, and every opened call is settled, even one that is dropped.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::calls::{self, CallRecord, Outcome, Read, ReadSource, Reserved, Settled, Standing, Tried, Used};
use crate::money::{Envelope, Micros, Shortfall};
use crate::prices::{CacheEntries, Price};
use crate::protocol::Protocol;
use crate::purses::{Kept, Purses, Refused, Shortage};
use crate::refusal::Refusal;
use crate::syncing::Syncer;
use crate::usage::{Reported, Usage};

/// What the log says when the agent was gone before it got an answer.
const CLIENT_CLOSED: u16 = 499;

pub(crate) struct Books {
    pages: Mutex<Pages>,
    purses: Option<Purses>,
    notify: Arc<dyn Fn() + Send + Sync>,
}

struct Pages {
    envelope: Envelope,
    log: File,
    syncer: Syncer,
    last_call: u32,
    /// Text of strangers that was brought in.
    read: BTreeSet<ReadSource>,
    /// Once a line could not be written no further call is made: it could not be accounted for.
    broken: Option<String>,
}

/// What is known about a call before it is made.
#[derive(Debug, Clone)]
pub(crate) struct CallHead {
    pub(crate) model: String,
    pub(crate) protocol: Protocol,
    pub(crate) price: Option<Price>,
    pub(crate) input_estimate: u64,
    pub(crate) output_estimate: u64,
    pub(crate) cache_entries: CacheEntries,
}

impl CallHead {
    fn estimate(&self) -> Option<Micros> {
        self.price.as_ref().map(|price| price.cost(&self.reserved()))
    }

    /// The most that a try is expected to be billed for.
    fn reserved(&self) -> Usage {
        let (input, output) = (self.input_estimate, self.output_estimate);
        match &self.price {
            Some(price) => price.dearest(input, output, self.cache_entries),
            None => Usage { input, output, ..Usage::default() },
        }
    }
}

/// Tokens, and whether the upstream reported them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Counted {
    Reported(Usage),
    FromBytes(Usage),
}

/// Whether all of an answer came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Whole,
    Broken,
}

impl Counted {
    pub(crate) const NOTHING: Self =
        Self::Reported(Usage { input: 0, output: 0, cache_read: 0, cache_write: 0, cache_write_long: 0, reasoning: 0 });
}

impl Books {
    pub(crate) fn new(
        envelope: Envelope,
        purses: Option<Purses>,
        log: File,
        notify: Arc<dyn Fn() + Send + Sync>,
    ) -> io::Result<Self> {
        let syncer = Syncer::start(&log)?;
        let pages = Mutex::new(Pages { envelope, log, syncer, last_call: 0, read: BTreeSet::new(), broken: None });
        Ok(Self { pages, purses, notify })
    }

    /// Ready once every call that was settled so far is on disk; nobody is told of an end before.
    pub(crate) async fn on_disk(&self) {
        let caught_up = self.pages().syncer.caught_up();
        caught_up.await;
    }

    /// Reserves and records, or records the refusal.
    pub(crate) fn open(self: &Arc<Self>, head: CallHead) -> Result<OpenCall, Refusal> {
        let estimate = head.estimate();
        let mut pages = self.pages();
        let number = pages.last_call + 1;
        if let Err(why) = pages.envelope.reserve(number, estimate) {
            drop(pages);
            let refusal = Refusal::Shortfall { model: head.model.clone(), why };
            self.refuse(head, &refusal);
            return Err(refusal);
        }
        let kept = match self.set_aside(number, estimate) {
            Ok(kept) => kept,
            Err(refused) => {
                pages.envelope.forget(number);
                drop(pages);
                let refusal = match refused {
                    Refused::Short(why) => Refusal::Shortfall { model: head.model.clone(), why },
                    Refused::Disk(cause) => Refusal::Purses(cause),
                };
                self.refuse(head, &refusal);
                return Err(refusal);
            }
        };
        let mut call = OpenCall::new(self.clone(), number, head);
        call.kept = kept;
        let line = CallRecord::Reserved(Reserved {
            call: number,
            model: call.head.model.clone(),
            protocol: call.head.protocol,
            micro_usd: estimate,
            started_at: call.started_at,
        });
        pages.last_call = number;
        let written = pages.write(&line);
        drop(pages);
        match written {
            Ok(()) => {
                (self.notify)();
                Ok(call)
            }
            Err(cause) => {
                call.forget();
                Err(Refusal::LogFailed(cause))
            }
        }
    }

    fn set_aside(&self, slot: impl fmt::Display, estimate: Option<Micros>) -> Result<Vec<Kept>, Refused> {
        let Some(purses) = &self.purses else { return Ok(Vec::new()) };
        purses.reserve(slot, estimate, Timestamp::now())
    }

    /// Reserves the cost of a call once more, for another try beside one that may be billed.
    fn reserve_again(&self, call: &mut OpenCall) -> Result<(), Refusal> {
        let (number, estimate) = (call.number, call.head.estimate());
        let short = |why| Refusal::Shortfall { model: call.head.model.clone(), why };
        self.pages().envelope.reserve_again(number, estimate).map_err(short)?;
        let kept =
            self.set_aside(format_args!("{number}.{}", call.tries), estimate).map_err(|refused| match refused {
                Refused::Short(why) => short(why),
                Refused::Disk(cause) => Refusal::Purses(cause),
            })?;
        call.kept.extend(kept);
        Ok(())
    }

    /// Records a call that was not made.
    pub(crate) fn refuse(self: &Arc<Self>, head: CallHead, refusal: &Refusal) {
        let mut pages = self.pages();
        pages.last_call += 1;
        let number = pages.last_call;
        drop(pages);
        let mut call = OpenCall::new(self.clone(), number, head);
        call.resets_at = refusal.resets_at();
        call.shortage = refusal.shortage();
        call.settle(refusal.status().as_u16(), refusal.outcome(), Counted::NOTHING);
    }

    fn settle(&self, settled: Settled, kept: &[Kept]) {
        let mut pages = self.pages();
        pages.envelope.settle(settled.call, settled.micro_usd);
        drop(pages);
        if let Some(Err(error)) = self.purses.as_ref().map(|purses| purses.settle(kept, settled.micro_usd)) {
            tracing::error!(%error, "what a call cost could not be booked; what was set aside for it stays so");
        }
        self.note(&CallRecord::Settled(settled));
    }

    /// Records, before anything is asked, that text of strangers is brought in; what cannot be recorded is not asked.
    pub(crate) fn reads(&self, source: ReadSource) -> Result<(), String> {
        let mut pages = self.pages();
        if pages.read.contains(&source) {
            return Ok(());
        }
        pages.write(&CallRecord::Read(Read { source: source.clone(), at: Timestamp::now() }))?;
        pages.read.insert(source);
        drop(pages);
        (self.notify)();
        Ok(())
    }

    fn note(&self, record: &CallRecord) {
        if let Err(cause) = self.record(record) {
            tracing::error!(cause, "a model call could not be recorded");
        }
    }

    /// Writes a line that is no call.
    pub(crate) fn record(&self, record: &CallRecord) -> Result<(), String> {
        self.pages().write(record)?;
        (self.notify)();
        Ok(())
    }

    /// A number for something that is used without being asked for here.
    pub(crate) fn next_number(&self) -> u32 {
        let mut pages = self.pages();
        pages.last_call += 1;
        pages.last_call
    }

    /// The limit that leaves nothing more to use.
    pub(crate) fn reached(&self) -> Result<Option<Shortfall>, String> {
        let own = self.pages().envelope.reached();
        match (own, &self.purses) {
            (None, Some(purses)) => purses.reached(Timestamp::now()),
            (own, _) => Ok(own),
        }
    }

    /// Books what was used already, and says which limit leaves nothing more to use.
    pub(crate) fn owe(&self, mut used: Used) -> Result<Option<Shortfall>, String> {
        let cost = used.micro_usd.unwrap_or_default();
        let (kept, shared) = match &self.purses {
            Some(purses) => purses.owe(used.call, cost, Timestamp::now())?,
            None => (Vec::new(), None),
        };
        let mut pages = self.pages();
        pages.envelope.owe(used.call, cost);
        let reached = pages.envelope.reached().or(shared);
        if used.standing == Standing::Settled {
            pages.envelope.settle(used.call, used.micro_usd);
        }
        drop(pages);
        if used.standing == Standing::Settled
            && let Some(Err(error)) = self.purses.as_ref().map(|purses| purses.settle(&kept, used.micro_usd))
        {
            tracing::error!(%error, "what was used could not be booked; what was set aside for it stays so");
        }
        used.shortage = reached.as_ref().and_then(Shortfall::shortage);
        self.record(&CallRecord::Used(used))?;
        Ok(reached)
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        // A panic while the lock was held leaves numbers that are still true.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    fn append(&mut self, record: &CallRecord) -> Result<(), String> {
        let before = self.log.metadata().map(|log| log.len());
        calls::append(&mut self.log, record).map_err(|error| {
            let cause = error.to_string();
            // Of a call that is not made yet nothing is to be accounted for: once there is space again, the next may be made.
            let made = !matches!(record, CallRecord::Reserved(_));
            if made || before.and_then(|before| self.log.set_len(before)).is_err() {
                self.broken = Some(cause.clone());
            }
            cause
        })
    }

    // Blocks for one small write: a drop cannot await.
    fn write(&mut self, record: &CallRecord) -> Result<(), String> {
        if self.broken.is_none() {
            self.broken = self.syncer.failure();
        }
        if let Some(cause) = &self.broken {
            return Err(cause.clone());
        }
        self.append(record)?;
        match record {
            CallRecord::Reserved(_)
            | CallRecord::Tried(_)
            | CallRecord::Read(_)
            | CallRecord::Connection(_)
            | CallRecord::Disconnection(_) => {}
            CallRecord::Used(_) => self.syncer.ask(),
            // Nobody else is kept waiting, and another thread would only cost two changes of it.
            CallRecord::Settled(_) if self.envelope.is_idle() => self.log.sync_data().map_err(|error| {
                let cause = error.to_string();
                self.broken = Some(cause.clone());
                cause
            })?,
            CallRecord::Settled(_) => self.syncer.ask(),
        }
        Ok(())
    }
}

/// A call that has money set aside. Settled exactly once; dropped unsettled, it is abandoned.
pub(crate) struct OpenCall {
    books: Arc<Books>,
    number: u32,
    head: CallHead,
    started_at: Timestamp,
    clock: Instant,
    waited: Duration,
    tries: u32,
    /// Tries that led to no answer and may be billed all the same, beside the last one.
    lost: u32,
    pub(crate) resets_at: Option<Timestamp>,
    shortage: Option<Shortage>,
    kept: Vec<Kept>,
    settled: bool,
}

/// A try after which another one is made.
pub(crate) struct FailedTry {
    pub(crate) outcome: Outcome,
    pub(crate) status: Option<u16>,
    pub(crate) cause: String,
    pub(crate) wait: Duration,
}

impl OpenCall {
    fn new(books: Arc<Books>, number: u32, head: CallHead) -> Self {
        Self {
            books,
            number,
            head,
            started_at: Timestamp::now(),
            clock: Instant::now(),
            waited: Duration::ZERO,
            tries: 0,
            lost: 0,
            resets_at: None,
            shortage: None,
            kept: Vec::new(),
            settled: false,
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn begin_try(&mut self) -> u32 {
        self.tries += 1;
        self.tries
    }

    pub(crate) fn tries(&self) -> u32 {
        self.tries
    }

    /// Time that passed without anything being asked of the upstream.
    pub(crate) fn waited(&mut self, time: Duration) {
        self.waited += time;
    }

    /// Records a try that is followed by another.
    pub(crate) fn tried(&self, failed: FailedTry) {
        let FailedTry { outcome, status, cause, wait } = failed;
        self.books.note(&CallRecord::Tried(Tried {
            call: self.number,
            attempt: self.tries,
            outcome,
            status,
            cause,
            wait_millis: millis(wait),
            at: Timestamp::now(),
        }));
    }

    /// Sets money aside for another try beside one that may be billed.
    pub(crate) fn reserve_again(&mut self) -> Result<(), Refusal> {
        // Also where the next one is refused.
        self.lost += 1;
        Arc::clone(&self.books).reserve_again(self)
    }

    /// Tokens of a call whose end is unknown: all that was reserved for it.
    pub(crate) fn count_unknown(&self) -> Counted {
        Counted::FromBytes(self.head.reserved())
    }

    /// What was reported; what was not is filled in from the bytes, and then it is said so. The provider may go on with
    /// a broken answer and bill it whole, so it counts no less than was reserved for it.
    pub(crate) fn count(&self, reported: Option<Reported>, text_bytes: u64, ending: Ending) -> Counted {
        let Reported { mut usage, input, output } = reported.unwrap_or_default();
        match ending {
            _ if input => {}
            Ending::Whole => usage.input = self.head.input_estimate,
            Ending::Broken => {
                usage = Usage { output: usage.output, reasoning: usage.reasoning, ..self.head.reserved() }
            }
        }
        if !output || ending == Ending::Broken {
            usage.output = usage.output.max(text_bytes.div_ceil(4));
        }
        if ending == Ending::Broken {
            usage.output = usage.output.max(self.head.output_estimate);
        }
        let known = input && output && ending == Ending::Whole;
        if known { Counted::Reported(usage) } else { Counted::FromBytes(usage) }
    }

    /// Ready once the end of a settled call is on disk.
    pub(crate) async fn on_disk(&self) {
        self.books.on_disk().await;
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Gives back what is set aside for a call that was neither recorded nor made.
    fn forget(mut self) {
        self.settled = true;
        self.books.pages().envelope.forget(self.number);
        let given_back = self.books.purses.as_ref().map(|purses| purses.settle(&self.kept, Some(Micros(0))));
        if let Some(Err(error)) = given_back {
            tracing::error!(%error, "what was set aside for a call could not be given back; it stays so");
        }
    }

    pub(crate) fn settle(&mut self, status: u16, outcome: Outcome, counted: Counted) {
        if std::mem::replace(&mut self.settled, true) {
            return;
        }
        let (mut usage, mut usage_known) = match counted {
            Counted::Reported(usage) => (usage, true),
            Counted::FromBytes(usage) => (usage, false),
        };
        if self.lost > 0 {
            let (lost, each) = (u64::from(self.lost), self.head.reserved());
            usage = usage.plus(&each.times(lost));
            usage_known = false;
        }
        let price = self.head.price.as_ref();
        let cost: Option<Micros> = price.map(|price| price.cost(&usage));
        let kept = std::mem::take(&mut self.kept);
        let settled = Settled {
            call: self.number,
            model: self.head.model.clone(),
            protocol: self.head.protocol,
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            reasoning_tokens: usage.reasoning,
            usage_known,
            micro_usd: cost,
            price_known: cost.is_some(),
            status,
            outcome,
            tries: self.tries,
            started_at: self.started_at,
            millis: millis(self.clock.elapsed().saturating_sub(self.waited)),
            waited_millis: millis(self.waited),
            resets_at: self.resets_at,
            shortage: self.shortage,
        };
        self.books.settle(settled, &kept);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        if !self.settled {
            // A request that was sent may be billed although nobody reads its answer.
            let counted = if self.tries == 0 { Counted::NOTHING } else { self.count_unknown() };
            self.settle(CLIENT_CLOSED, Outcome::Abandoned, counted);
        }
    }
}
