//! `make faults`: every built-in playbook, and a run that is pushed, with each of its git calls failing once, before and
//! after it has done its work, and while it holds a reference's lock. `faults [PLAYBOOK|pushed] [STEP] [FROM] [JOBS]` plays one of them, only every `STEP`-th call
//! from `FROM` on, or `JOBS` runs at once.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the program's output is its report")]

use std::process::ExitCode;

use anyhow::Result;
use futures_util::StreamExt as _;
use tests::faults::{Count, Fault, argument, play};
use tests::stories::STORIES;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let only = std::env::args().nth(1).filter(|name| name != "all");
    let (step, from, jobs) = (argument(2, 1)?, argument(3, 1)?, argument(4, 2)?);
    let mut sum = Count::default();
    for playbook in STORIES.into_iter().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        let reference = play(playbook, None).await?;
        println!("{playbook}: {} git calls, {} model calls", reference.calls.len(), reference.paid);
        let numbers = (from..=reference.calls.len()).step_by(step);
        let faults = numbers.flat_map(|number| Fault::of(number as u64, &reference.calls[number - 1]));
        let played =
            futures_util::stream::iter(faults).map(|fault| async move { (fault, play(playbook, Some(fault)).await) });
        let mut played = std::pin::pin!(played.buffer_unordered(jobs));
        let mut count = Count::default();
        while let Some((fault, went)) = played.next().await {
            let call = usize::try_from(fault.call - 1).ok().and_then(|index| reference.calls.get(index));
            let place =
                format!("{playbook}, call {} ({}), {:?}", fault.call, call.map_or("?", String::as_str), fault.when);
            count.add(&reference, &place, went).iter().for_each(|line| eprintln!("{line}"));
            count.print_progress();
        }
        println!("{playbook}: {count}");
        sum.include(&count);
    }
    println!("all: {sum}");
    Ok(if sum.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
