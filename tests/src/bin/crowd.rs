//! `crowd HOME [RUNS HOLDS]`: a data directory with very many runs, for `make bench-web`.
#![expect(clippy::print_stdout, reason = "the program's output is its report")]

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use tests::bench::crowd;

#[tokio::main]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let home = words.first().context("name the data directory")?;
    let number = |at: usize, usual: u64| words.get(at).map_or(Ok(usual), |word| word.parse().context("a number"));
    let (runs, holds, begun) = (number(1, 10_000)?, number(2, 500)?, Instant::now());
    let events = crowd::make(Path::new(home), runs, holds).await?;
    println!("{runs} runs, {holds} of which wait, {events} events in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}
