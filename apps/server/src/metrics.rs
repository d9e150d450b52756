//! Figures for monitors, in the text format of Prometheus. Only counts and sums: no names, no texts, no ids.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;

use domain::{DecisionKind, Event, Micros, Status};
use engine::{RunFilter, Store, StoreError};

const BATCH: usize = 1024;
const PAGE: usize = 1000;

/// Counts decisions since the server began, by reading on in the feed whenever it is asked.
pub(crate) struct Tally {
    read: Mutex<(u64, Decisions)>,
}

type Decisions = BTreeMap<&'static str, u64>;

impl Tally {
    /// Counts from a position on.
    pub(crate) fn from(position: u64) -> Self {
        Self { read: Mutex::new((position, Decisions::new())) }
    }

    /// Decisions by their word. Blocks.
    fn decisions(&self, store: &dyn Store) -> Result<Decisions, StoreError> {
        let mut read = self.read.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loop {
            let items = store.feed(read.0, BATCH)?;
            let Some(last) = items.last().map(|item| item.position) else { return Ok(read.1.clone()) };
            for kind in items.iter().filter_map(|item| decided(&item.recorded.event)) {
                *read.1.entry(kind.word()).or_default() += 1;
            }
            read.0 = last;
        }
    }
}

fn decided(event: &Event) -> Option<DecisionKind> {
    match event {
        Event::ApprovalGranted { .. } => Some(DecisionKind::Approve),
        Event::ApprovalRejected { decision, .. }
        | Event::ClarificationAnswered { decision, .. }
        | Event::DecisionMade { decision, .. } => Some(decision.kind()),
        _ => None,
    }
}

/// What only this process knows.
pub(crate) struct Here {
    /// WebSockets that are open.
    pub(crate) live_clients: usize,
    /// Effects being worked on.
    pub(crate) busy: usize,
}

#[derive(Default)]
struct Sums {
    runs: BTreeMap<&'static str, u64>,
    holds: BTreeMap<&'static str, u64>,
    cost: Micros,
    calls: u64,
    input: u64,
    output: u64,
}

/// All figures as text. Blocks.
pub(crate) fn text(store: &dyn Store, tally: &Tally, here: &Here) -> Result<String, StoreError> {
    let (sums, decisions, open) = (sums(store)?, tally.decisions(store)?, store.outbox(None)?.len());
    let queued = sums.runs.get(Status::Queued.word()).copied().unwrap_or_default();
    let mut out = Page(String::new());
    out.one(
        "holdpoint_build_info",
        "gauge",
        "What is running",
        format!("{{version={:?}}} 1", env!("CARGO_PKG_VERSION")),
    );
    out.by("holdpoint_runs", "gauge", "Runs by status", "status", &sums.runs);
    out.by("holdpoint_holds_open", "gauge", "Holds that wait, by kind", "kind", &sums.holds);
    out.by("holdpoint_decisions_total", "counter", "Decisions since the server began", "decision", &decisions);
    // A sum that outlives the server and never falls.
    out.plain("holdpoint_spend_usd_total", "counter", "Known spend of all runs in US dollars", sums.cost.usd());
    out.plain("holdpoint_model_calls_total", "counter", "Model calls of all runs", sums.calls);
    out.plain("holdpoint_model_input_tokens_total", "counter", "Tokens sent by all runs", sums.input);
    out.plain("holdpoint_model_output_tokens_total", "counter", "Tokens received by all runs", sums.output);
    out.plain("holdpoint_queue_length", "gauge", "Runs that wait to be let in", queued);
    out.plain("holdpoint_effects_open", "gauge", "Effects that are asked for and not finished", open);
    out.plain("holdpoint_effects_in_flight", "gauge", "Effects being worked on", here.busy);
    out.plain("holdpoint_live_clients", "gauge", "Open WebSockets", here.live_clients);
    Ok(out.0)
}

fn sums(store: &dyn Store) -> Result<Sums, StoreError> {
    let mut sums = Sums::default();
    let mut filter = RunFilter { limit: PAGE, ..RunFilter::default() };
    loop {
        let rows = store.rows(&filter)?;
        for row in &rows {
            *sums.runs.entry(row.status.word()).or_default() += 1;
            if let Some(kind) = row.hold.as_ref().map(|hold| hold.kind) {
                *sums.holds.entry(kind.word()).or_default() += 1;
            }
            sums.cost = sums.cost.plus(row.cost);
            sums.calls += row.calls;
            sums.input += row.input_tokens;
            sums.output += row.output_tokens;
        }
        if rows.len() < PAGE {
            return Ok(sums);
        }
        filter.before = rows.last().map(|row| row.id.clone());
    }
}

struct Page(String);

impl Page {
    fn one(&mut self, name: &str, kind: &str, help: &str, sample: impl std::fmt::Display) {
        let _infallible = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name}{sample}\n");
    }

    fn plain(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.one(name, kind, help, format!(" {value}"));
    }

    /// The labels are our own words: nothing in them has to be escaped.
    fn by(&mut self, name: &str, kind: &str, help: &str, label: &str, values: &BTreeMap<&'static str, u64>) {
        let _infallible = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        for (word, value) in values {
            let _infallible = writeln!(self.0, "{name}{{{label}=\"{word}\"}} {value}");
        }
    }
}
