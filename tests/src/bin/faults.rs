//! `make faults`: every built-in playbook, with each of its git calls failing once, before and after it has done its
//! work. `faults [PLAYBOOK] [STEP]` plays one playbook, or only every so many-th call.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the program's output is its report")]

use std::process::ExitCode;

use anyhow::Result;
use tests::faults::{Count, Fault, When, play};
use tests::stories::PLAYBOOKS;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let only = std::env::args().nth(1).filter(|name| name != "all");
    let step: usize = std::env::args().nth(2).map_or(Ok(1), |step| step.parse())?;
    let mut sum = Count::default();
    for playbook in PLAYBOOKS.into_iter().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        let reference = play(playbook, None).await?;
        println!("{playbook}: {} git calls, {} model calls", reference.calls.len(), reference.paid);
        let calls = (1..=reference.calls.len() as u64).step_by(step);
        let faults: Vec<Fault> =
            calls.flat_map(|call| [When::Before, When::After].map(|when| Fault { call, when })).collect();
        let mut count = Count::default();
        for pair in faults.chunks(2) {
            let played = pair.iter().map(|fault| play(playbook, Some(*fault)));
            for (fault, went) in pair.iter().zip(futures_util::future::join_all(played).await) {
                let call = usize::try_from(fault.call - 1).ok().and_then(|index| reference.calls.get(index));
                let call = call.map_or("?", String::as_str);
                let place = format!("{playbook}, call {} ({call}), {:?}", fault.call, fault.when);
                count.add(&reference, &place, went).iter().for_each(|line| eprintln!("{line}"));
            }
        }
        println!("{playbook}: {count}");
        sum.include(&count);
    }
    println!("all: {sum}");
    Ok(if sum.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
