//! `make bench`: speed and memory of the engine, each beside the limit of the raw database, in one run.
#![expect(clippy::print_stdout, reason = "the program's output is its report")]

use anyhow::Result;
use tests::bench::{decision, memory, raw, recovery, startup, steps};

#[tokio::main]
async fn main() -> Result<()> {
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(steps::place()?)?;
    println!("machine: {} cores; data on {}", std::thread::available_parallelism()?, folder.path().display());
    println!("\nraw SQLite (WAL, synchronous=FULL, one 300-byte row a step)");
    let single = raw::commits_per_second(&folder.path().join("raw-1.db"), 1)?;
    println!("  batch   1: {single:>9.0} durable steps/s");
    let sixteen = raw::commits_per_second(&folder.path().join("raw-16.db"), 16)?;
    println!("  batch  16: {sixteen:>9.0} durable steps/s");
    let grouped = raw::commits_per_second(&folder.path().join("raw-128.db"), 128)?;
    println!("  batch 128: {grouped:>9.0} durable steps/s");

    println!("\nengine, no-op effects (11 effects a run)");
    for (runs, limit, batch, aim) in [(1, single, 1, 45.0), (16, sixteen, 16, 30.0), (256, grouped, 128, 25.0)] {
        let found = steps::measure(&folder.path().join(format!("steps-{runs}.db")), runs).await?;
        let share = found.steps_per_second / limit * 100.0;
        let rows = found.events_per_second / limit * 100.0;
        println!(
            "  {runs:>3} at once: {:>7.1} runs/s  {:>7.0} steps/s = {share:.1} % of raw batch {batch} (aim {aim} %)  {:>7.0} events/s = {rows:.1} %",
            found.runs_per_second, found.steps_per_second, found.events_per_second
        );
    }

    println!("\ndecision to next effect, 1,000 runs waiting");
    let latency = decision::measure(&folder.path().join("decision")).await?;
    println!("  engine     p50 {:.3} ms  p99 {:.3} ms", latency.engine.p50, latency.engine.p99);
    println!("  over HTTP  p50 {:.3} ms  p99 {:.3} ms  (aim 1 / 3.5)", latency.http.p50, latency.http.p99);
    let commit = 1000.0 / single;
    println!("  one raw commit takes {commit:.3} ms: p50 over HTTP is {:.1} of them", latency.http.p50 / commit);

    println!("\nmemory per waiting run");
    for runs in [10_000, 100_000] {
        let found = memory::measure(&folder.path().join(format!("memory-{runs}.db")), runs).await?;
        println!("  at {runs:>6}: {:.3} KB (aim 0.1 at 100,000); process {:.0} MB", found.kb_per_run, found.process_mb);
    }

    println!("\nafter a kill with 1,000 open runs");
    let found = recovery::measure(&folder.path().join("recovery.db"), 1000).await?;
    println!(
        "  first effect after {:.1} ms, all {} moving after {:.0} ms (aim 1000), doubled {}",
        found.first_ms, found.moved, found.all_ms, found.doubled
    );

    println!("\nstart-up of the server");
    let found = startup::measure(folder.path(), 20).await?;
    println!("  p50 {:.1} ms  p99 {:.1} ms (aim 20)", found.p50, found.p99);
    Ok(())
}
