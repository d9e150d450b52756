//! The second half of `make faults`: every built-in playbook, with system calls on files of the data directory that fail
//! once. `disk-faults [PLAYBOOK] [FAULTS] [FROM] [JOBS]` plays one playbook, so many faults of each, spread over all calls
//! from the `FROM`-th on, or `JOBS` runs at once.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the program's output is its report")]

use std::process::ExitCode;

use anyhow::Result;
use futures_util::StreamExt as _;
use tests::disk_faults::play;
use tests::faults::{Count, argument, mixed};
use tests::stories::STORIES;
use tests::syscalls::Failure;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let only = std::env::args().nth(1).filter(|name| name != "all");
    let (most, from, jobs) = (argument(2, usize::MAX)?, argument(3, 1)?, argument(4, 2)?);
    let mut sum = Count::default();
    for playbook in STORIES.into_iter().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        let reference = play(playbook, None).await?;
        println!("{playbook}: {} system calls, {} model calls", reference.calls.len(), reference.paid);
        let step = reference.calls.len().div_ceil(most).max(1);
        let calls = (from..=reference.calls.len()).step_by(step);
        let faults = calls.map(|number| fault(number, &reference.calls[number - 1]));
        let played =
            futures_util::stream::iter(faults).map(|fault| async move { (fault, play(playbook, Some(fault)).await) });
        let mut played = std::pin::pin!(played.buffer_unordered(jobs));
        let mut count = Count::default();
        while let Some(((number, failure), went)) = played.next().await {
            let met = went.as_ref().ok().and_then(|went| went.calls.get(usize::try_from(number - 1).ok()?).cloned());
            let place = format!("{playbook}, call {number} ({}), {failure:?}", met.unwrap_or_default());
            count.add(&reference, &place, went).iter().for_each(|line| eprintln!("{line}"));
            count.print_progress();
        }
        println!("{playbook}: {count}");
        sum.include(&count);
    }
    println!("all: {sum}");
    Ok(if sum.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Each call meets one of the failures it can have.
fn fault(number: usize, call: &str) -> (u64, Failure) {
    let ways: &[Failure] = if call.starts_with("write") {
        &[Failure::Short, Failure::NoSpace, Failure::Io]
    } else {
        &[Failure::NoSpace, Failure::Io]
    };
    let way = usize::try_from(mixed(number as u64)).unwrap_or_default() % ways.len();
    (number as u64, ways[way])
}
