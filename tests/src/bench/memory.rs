//! Memory of runs that wait for a person.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use domain::{Command, Gate};
use engine::{EffectRunner, Store};
use store::Sqlite;
use testkit::samples;

use super::steps::{Noop, engine};

/// What was measured.
pub struct Memory {
    /// Growth of the process divided by the runs.
    pub kb_per_run: f64,
    /// The whole process.
    pub process_mb: f64,
}

/// Brings so many runs to an approval. The first thousand warm caches and pools and do not count.
pub async fn measure(path: &Path, runs: u64) -> Result<Memory> {
    const WARM: u64 = 1000;
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(path)?);
    let engine = engine(Arc::clone(&store), Arc::new(Noop::default()) as Arc<dyn EffectRunner>)?;
    wait_at_gate(&engine, 1, WARM).await?;
    let before = resident_kb()?;
    wait_at_gate(&engine, WARM + 1, WARM + runs).await?;
    let after = resident_kb()?;
    engine.stop().await;
    Ok(Memory { kb_per_run: (after - before).max(0.0) / runs as f64, process_mb: after / 1024.0 })
}

/// Starts runs in groups and waits until all of them wait.
pub async fn wait_at_gate(engine: &engine::Engine, first: u64, last: u64) -> Result<()> {
    let mut config = samples::config();
    config.trust.planning = Gate::Manual;
    let numbers: Vec<u64> = (first..=last).collect();
    for group in numbers.chunks(256) {
        let starts = group.iter().map(|n| {
            let start = Command::Start(Box::new(samples::start(config.clone())));
            engine.submit(samples::run_id(*n), start, None)
        });
        for started in futures_util::future::join_all(starts).await {
            started?;
        }
        let mut positions = engine.positions();
        while engine.busy() > 0 {
            positions.changed().await?;
        }
    }
    Ok(())
}

fn resident_kb() -> Result<f64> {
    resident_kb_of("self")
}

/// Memory of a process, by its id.
pub(super) fn resident_kb_of(process: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("Linux tells the resident size")?;
    Ok(line.split_whitespace().nth(1).context("the size is a number")?.parse()?)
}
