//! What a program says it has used, as it grows. One entry is open at a time: what a program has used since it last
//! named its price. It counts against the limits as soon as it is said, because it is spent already.

use jiff::Timestamp;
use serde::Deserialize;

use super::DirectGrant;
use crate::books::Books;
use crate::calls::{Pricing, Standing, Used};
use crate::money::{Micros, Shortfall};
use crate::prices;
use crate::purses::Shortage;
use crate::refusal::Refusal;
use crate::usage::Usage;

/// No real program comes near; it keeps sums of hostile numbers from overflowing.
const MOST: u64 = 1_000_000_000_000;
const LONGEST_MODEL: usize = 120;

/// What a program has used since its process was started, by its own word.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Report {
    /// Which process of the attempt, from 1: each counts from nothing.
    process: u32,
    /// As the program calls it.
    #[serde(default)]
    model: Option<String>,
    /// All of them, those from the cache too.
    input_tokens: u64,
    output_tokens: u64,
    #[serde(default)]
    cache_read_tokens: u64,
    #[serde(default)]
    cache_write_tokens: u64,
    /// Where the program knows.
    #[serde(default)]
    micro_usd: Option<u64>,
    /// Whether nothing of this will be said otherwise later.
    last: bool,
}

/// A limit that is reached.
#[derive(Debug)]
pub(super) struct Reached {
    pub(super) message: String,
    pub(super) code: &'static str,
    pub(super) shortage: Option<Shortage>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    usage: Usage,
    cost: Micros,
}

/// What came since the last settled word.
struct Entry {
    usage: Usage,
    model: String,
    cost: Option<Micros>,
    pricing: Pricing,
}

#[derive(Debug, Default)]
pub(super) struct Account {
    process: u32,
    /// What of this process is settled.
    settled: Sum,
    /// The newest word about it that is not, and the number it is written down under.
    open: Option<(u32, Report)>,
    spent: bool,
}

impl Account {
    pub(super) fn is_spent(&self) -> bool {
        self.spent
    }

    /// Takes a report in; an error says that nothing more may be used.
    pub(super) fn take(&mut self, report: Report, grant: &DirectGrant, books: &Books) -> Result<(), Reached> {
        if report.process != self.process {
            let told = self.settle_open(grant, books);
            (self.process, self.settled) = (report.process, Sum::default());
            told?;
        }
        let entry = self.entry(&report, grant);
        if self.open.is_none() && entry.usage == Usage::default() && entry.cost.unwrap_or_default() == Micros(0) {
            return self.judge(books.reached(), grant);
        }
        let number = self.open.as_ref().map_or_else(|| books.next_number(), |(number, _)| *number);
        let standing = if report.last { Standing::Settled } else { Standing::Growing };
        self.open = match report.last {
            true => None,
            false => Some((number, report)),
        };
        self.write(number, entry, standing, grant, books)
    }

    /// What was last heard is what it came to.
    pub(super) fn close(&mut self, grant: &DirectGrant, books: &Books) {
        // Nobody is left to be told of a limit.
        let _ = self.settle_open(grant, books);
    }

    fn settle_open(&mut self, grant: &DirectGrant, books: &Books) -> Result<(), Reached> {
        let Some((number, report)) = self.open.take() else { return Ok(()) };
        let entry = self.entry(&report, grant);
        self.write(number, entry, Standing::Settled, grant, books)
    }

    fn write(
        &mut self,
        number: u32,
        entry: Entry,
        standing: Standing,
        grant: &DirectGrant,
        books: &Books,
    ) -> Result<(), Reached> {
        let Entry { usage, model, cost, pricing } = entry;
        if standing == Standing::Settled {
            self.settled.usage = combine(self.settled.usage, usage, u64::saturating_add);
            self.settled.cost.0 = self.settled.cost.0.saturating_add(cost.unwrap_or_default().0);
        }
        let told = books.owe(Used {
            call: number,
            by: grant.program.clone(),
            model,
            input_tokens: usage.input + usage.cache_read + usage.cache_write,
            output_tokens: usage.output,
            micro_usd: cost,
            pricing,
            standing,
            at: Timestamp::now(),
            shortage: None,
        });
        self.judge(told, grant)
    }

    fn judge(&mut self, told: Result<Option<Shortfall>, String>, grant: &DirectGrant) -> Result<(), Reached> {
        let refusal = match told {
            Ok(None) => return Ok(()),
            Ok(Some(why)) => Refusal::Shortfall { model: grant.program.clone(), why },
            // What cannot be counted must not go on.
            Err(cause) => Refusal::Purses(cause),
        };
        self.spent = true;
        let message = match &refusal {
            Refusal::Shortfall { why: Shortfall::Money { limit, spent, reserved, .. }, .. } => {
                let used = Micros(spent.0.saturating_add(reserved.0));
                format!("`{}` has reported {used} of a limit of {limit}", grant.program)
            }
            Refusal::Shortfall { why: Shortfall::Ask { spent, .. }, .. } => {
                format!("`{}` has reported {spent}; more waits for a yes", grant.program)
            }
            other => other.to_string(),
        };
        Err(Reached { message, code: refusal.code(), shortage: refusal.shortage() })
    }

    /// What came since the last settled word, with its price: the program's own, or the table's.
    fn entry(&self, report: &Report, grant: &DirectGrant) -> Entry {
        let usage = combine(usage_of(report), self.settled.usage, u64::saturating_sub);
        let model = model_of(report, grant);
        let bare = model.strip_prefix(&format!("{}/", grant.provider)).unwrap_or(&model);
        let (cost, pricing) = match (report.micro_usd, prices::find(&grant.prices, bare)) {
            (Some(micros), _) => {
                let more = micros.min(MOST).saturating_sub(self.settled.cost.0);
                (Some(Micros(more)), Pricing::Program)
            }
            (None, Some(price)) => (Some(price.cost(&usage)), Pricing::Table),
            (None, None) => (None, Pricing::Unknown),
        };
        Entry { usage, model, cost, pricing }
    }
}

/// `provider/model`; the program itself where nobody knows its model.
fn model_of(report: &Report, grant: &DirectGrant) -> String {
    let plain = |text: &String| text.chars().filter(|c| !c.is_control()).take(LONGEST_MODEL).collect::<String>();
    match report.model.as_ref().map(plain).filter(|model| !model.is_empty()) {
        Some(model) if model.contains('/') => model,
        Some(model) => format!("{}/{model}", grant.provider),
        None => grant.model.clone().unwrap_or_else(|| grant.program.clone()),
    }
}

fn usage_of(report: &Report) -> Usage {
    let cache_read = report.cache_read_tokens.min(MOST);
    let cache_write = report.cache_write_tokens.min(MOST);
    Usage {
        input: report.input_tokens.min(MOST).saturating_sub(cache_read + cache_write),
        output: report.output_tokens.min(MOST),
        cache_read,
        cache_write,
        ..Usage::default()
    }
}

fn combine(a: Usage, b: Usage, with: fn(u64, u64) -> u64) -> Usage {
    Usage {
        input: with(a.input, b.input),
        output: with(a.output, b.output),
        cache_read: with(a.cache_read, b.cache_read),
        cache_write: with(a.cache_write, b.cache_write),
        cache_write_long: 0,
        reasoning: 0,
    }
}
