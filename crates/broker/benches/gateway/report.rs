//! The figures as a table, and the bars they are held to.

use std::fmt;

use super::load::Kind;

/// What was measured of one target, one kind of call and one number of connections. Times in milliseconds.
#[derive(Clone, Copy)]
pub(super) struct Figures {
    pub(super) p50: f64,
    pub(super) p99: f64,
    pub(super) first_byte_p50: f64,
    pub(super) first_byte_p99: f64,
    pub(super) per_second: f64,
}

pub(super) struct Cell {
    pub(super) target: &'static str,
    pub(super) kind: Kind,
    pub(super) connections: usize,
    pub(super) figures: Figures,
}

#[derive(Default)]
pub(super) struct Report {
    pub(super) cells: Vec<Cell>,
    pub(super) broker_mb: f64,
    pub(super) proxy_mb: Option<f64>,
    pub(super) proxy_version: Option<String>,
    pub(super) fsync_ms: f64,
    /// Calls in the broker's log, with usage.
    pub(super) calls: usize,
}

impl Report {
    fn find(&self, target: &str, kind: Kind, connections: usize) -> Option<Figures> {
        let same = |cell: &&Cell| cell.target == target && cell.kind == kind && cell.connections == connections;
        self.cells.iter().find(same).map(|cell| cell.figures)
    }

    /// What the broker adds on one connection: the worst of the kinds.
    fn added(&self, streams: bool, figure: fn(Figures) -> f64) -> f64 {
        let kinds = Kind::ALL.into_iter().filter(|kind| kind.streams() == streams);
        let added = kinds
            .filter_map(|kind| Some(figure(self.find("broker", kind, 1)?) - figure(self.find("direct", kind, 1)?)));
        added.fold(f64::NEG_INFINITY, f64::max)
    }

    /// How many times the proxy's calls a second at 32 connections: the worst of the kinds.
    fn times(&self) -> Option<f64> {
        let times = Kind::ALL
            .into_iter()
            .map(|kind| Some(self.find("broker", kind, 32)?.per_second / self.find("litellm", kind, 32)?.per_second));
        times.collect::<Option<Vec<f64>>>().map(|all| all.into_iter().fold(f64::INFINITY, f64::min))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let load = load.split_whitespace().next().unwrap_or("?");
        writeln!(f, "machine: {cores} cores, load {load}; one append and sync takes {:.3} ms here", self.fsync_ms)?;
        writeln!(f, "broker: {} calls reserved, recorded and synced to disk", self.calls)?;
        if let Some(version) = &self.proxy_version {
            writeln!(f, "litellm {version}, one worker, its default")?;
        }
        writeln!(
            f,
            "\n{:<18} {:>5}  {:<8} {:>9} {:>9} {:>10} {:>10} {:>9}",
            "call", "conns", "through", "p50 ms", "p99 ms", "1st p50", "1st p99", "calls/s"
        )?;
        for cell in &self.cells {
            let Figures { p50, p99, first_byte_p50, first_byte_p99, per_second } = cell.figures;
            writeln!(
                f,
                "{:<18} {:>5}  {:<8} {p50:>9.3} {p99:>9.3} {first_byte_p50:>10.3} {first_byte_p99:>10.3} {per_second:>9.0}",
                cell.kind.word(),
                cell.connections,
                cell.target
            )?;
        }
        writeln!(f, "\n{:<44} {:>12} {:>10}", "bar", "seen", "")?;
        let mut line = |what: &str, seen: String, met: Option<bool>| {
            let verdict = met.map_or("not measured", |met| if met { "met" } else { "MISSED" });
            writeln!(f, "{what:<44} {seen:>12} {verdict:>13}")
        };
        let call = self.added(false, |figures| figures.p50);
        line("added to a plain call, p50, at most 0.5 ms", format!("{call:.3} ms"), Some(call <= 0.5))?;
        line("  the same, p99", format!("{:.3} ms", self.added(false, |figures| figures.p99)), None)?;
        let first = self.added(true, |figures| figures.first_byte_p50);
        line("added to a stream's first byte, at most 1 ms", format!("{first:.3} ms"), Some(first <= 1.0))?;
        let times = self.times();
        let seen = times.map_or("—".to_owned(), |times| format!("{times:.0}×"));
        line("calls/s at 32, at least 50× LiteLLM", seen, times.map(|times| times >= 50.0))?;
        let share = self.proxy_mb.map(|proxy| self.broker_mb / proxy);
        let seen = match self.proxy_mb {
            Some(proxy) => format!("{:.0}/{proxy:.0} MB", self.broker_mb),
            None => format!("{:.0} MB", self.broker_mb),
        };
        line("memory, at most a tenth of LiteLLM's", seen, share.map(|share| share <= 0.1))
    }
}
