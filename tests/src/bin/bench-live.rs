//! `make bench-live`: many clients on `/api/live`, and one that never reads. `bench-live [CLIENTS RATE SECONDS]`.
#![expect(clippy::print_stdout, reason = "the program's output is its report")]

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tests::bench::live::{Load, host, measure};
use tests::bench::steps;

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [role, folder, load @ ..] = words.as_slice()
        && role == "host"
    {
        return host(Path::new(folder), read(load)?).await;
    }
    let load = read(&words)?;
    let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(steps::place()?)?;
    let cores = std::thread::available_parallelism()?;
    println!("machine: {cores} cores, which the clients share; load average {}", load_average()?);
    println!(
        "{} clients on /api/live, {} events/s for {} s, and one client that never reads",
        load.clients, load.rate, load.seconds
    );
    let found = measure(folder.path(), load).await?;
    let [alone, watched, after] = found.memory;
    let each = (watched - alone) * 1024.0 / load.clients as f64;
    println!(
        "  delivery     p50 {:.1} ms  p99 {:.1} ms  slowest {:.1} ms (aim p99 250)",
        found.delivery.p50, found.delivery.p99, found.slowest
    );
    println!(
        "  messages     {} of {} ({} events); told to be behind: {}",
        found.delivered, found.expected, found.events, found.behind
    );
    println!(
        "  memory       {alone:.1} MB alone, {watched:.1} MB watched ({each:.1} KB a client), {after:.1} MB after the load"
    );
    println!("  processor    {:.1} s of the server in {} s", found.processor, load.seconds);
    println!("  never reads  let go after {:.0} s", found.stalled_seconds);
    if found.delivered != found.expected {
        bail!("messages are missing");
    }
    Ok(())
}

fn read(words: &[String]) -> Result<Load> {
    let number = |at: usize, usual: u64| words.get(at).map_or(Ok(usual), |word| word.parse().context("a number"));
    Ok(Load { clients: usize::try_from(number(0, 1000)?)?, rate: number(1, 20)?, seconds: number(2, 60)? })
}

fn load_average() -> Result<String> {
    let text = std::fs::read_to_string("/proc/loadavg")?;
    Ok(text.split(' ').next().unwrap_or_default().to_owned())
}
