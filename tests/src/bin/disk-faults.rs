//! The second half of `make faults`: every built-in playbook, with system calls on files of the data directory that fail
//! once. `disk-faults [PLAYBOOK] [FAULTS]` plays one playbook, or so many faults of each, spread over all calls.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the program's output is its report")]

use std::process::ExitCode;

use anyhow::Result;
use tests::disk_faults::play;
use tests::faults::Count;
use tests::stories::PLAYBOOKS;
use tests::syscalls::Failure;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let only = std::env::args().nth(1).filter(|name| name != "all");
    let most: usize = std::env::args().nth(2).map_or(Ok(usize::MAX), |most| most.parse())?;
    let mut sum = Count::default();
    for playbook in PLAYBOOKS.into_iter().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        let reference = play(playbook, None).await?;
        println!("{playbook}: {} system calls, {} model calls", reference.calls.len(), reference.paid);
        let step = reference.calls.len().div_ceil(most).max(1);
        let faults: Vec<(u64, Failure)> = (1..=reference.calls.len())
            .step_by(step)
            .map(|number| fault(number, &reference.calls[number - 1]))
            .collect();
        let mut count = Count::default();
        for pair in faults.chunks(2) {
            let played = pair.iter().map(|fault| play(playbook, Some(*fault)));
            for ((number, failure), went) in pair.iter().zip(futures_util::future::join_all(played).await) {
                let met =
                    went.as_ref().ok().and_then(|went| went.calls.get(usize::try_from(*number - 1).ok()?).cloned());
                let place = format!("{playbook}, call {number} ({}), {failure:?}", met.unwrap_or_default());
                count.add(&reference, &place, went).iter().for_each(|line| eprintln!("{line}"));
            }
        }
        println!("{playbook}: {count}");
        sum.include(&count);
    }
    println!("all: {sum}");
    Ok(if sum.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Of the ways a call can fail each number meets one.
fn fault(number: usize, call: &str) -> (u64, Failure) {
    let ways: &[Failure] = if call.starts_with("write") {
        &[Failure::Short, Failure::NoSpace, Failure::Io]
    } else {
        &[Failure::NoSpace, Failure::Io]
    };
    (number as u64, ways[number % ways.len()])
}
