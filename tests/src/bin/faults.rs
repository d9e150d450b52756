//! `make faults`: every built-in playbook, with each of its git calls failing once, before and after it has done its
//! work. `faults [PLAYBOOK] [STEP]` plays one playbook, or only every so many-th call.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the program's output is its report")]

use std::process::ExitCode;

use anyhow::Result;
use tests::faults::{Fault, Went, When, play};
use tests::stories::PLAYBOOKS;

#[derive(Default)]
struct Count {
    faults: u32,
    by_itself: u32,
    held: u32,
    paid_again: u32,
    not_recovered: u32,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let only = std::env::args().nth(1).filter(|name| name != "all");
    let step: usize = std::env::args().nth(2).map_or(Ok(1), |step| step.parse())?;
    let mut sum = Count::default();
    for playbook in PLAYBOOKS.into_iter().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        let reference = play(playbook, None).await?;
        println!("{playbook}: {} git calls, {} model calls", reference.git_calls.len(), reference.paid);
        let calls = (1..=reference.git_calls.len() as u64).step_by(step);
        let faults: Vec<Fault> =
            calls.flat_map(|call| [When::Before, When::After].map(|when| Fault { call, when })).collect();
        let mut count = Count::default();
        for pair in faults.chunks(2) {
            let played = pair.iter().map(|fault| play(playbook, Some(*fault)));
            for (fault, went) in pair.iter().zip(futures_util::future::join_all(played).await) {
                judge(&mut count, &reference, playbook, *fault, went);
            }
        }
        report(playbook, &count);
        sum.faults += count.faults;
        sum.by_itself += count.by_itself;
        sum.held += count.held;
        sum.paid_again += count.paid_again;
        sum.not_recovered += count.not_recovered;
    }
    report("all", &sum);
    let good = sum.faults > 0 && sum.paid_again == 0 && sum.not_recovered == 0;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn judge(count: &mut Count, reference: &Went, playbook: &str, fault: Fault, went: Result<Went>) {
    count.faults += 1;
    let call = usize::try_from(fault.call - 1).ok().and_then(|index| reference.git_calls.get(index));
    let place = format!("{playbook}, call {} ({}), {:?}", fault.call, call.map_or("?", String::as_str), fault.when);
    let problem = match went {
        Err(error) => Some(format!("{error:#}")),
        Ok(went) => {
            if went.paid > reference.paid {
                count.paid_again += 1;
                eprintln!("PAID AGAIN {place}: {} model calls instead of {}", went.paid, reference.paid);
            }
            let differs = (went.files != reference.files).then(|| format!("it made {:?}", went.files));
            match (went.held, went.problem.or(differs)) {
                (0, None) => {
                    count.by_itself += 1;
                    None
                }
                (_, None) => {
                    count.held += 1;
                    eprintln!("HELD {place}");
                    None
                }
                (_, Some(problem)) => Some(problem),
            }
        }
    };
    if let Some(problem) = problem {
        count.not_recovered += 1;
        eprintln!("NOT RECOVERED {place}: {problem}");
    }
}

fn report(name: &str, count: &Count) {
    let Count { faults, by_itself, held, paid_again, not_recovered } = count;
    println!(
        "{name}: {faults} faults, {by_itself} recovered by itself, {held} held, {paid_again} paid again, \
         {not_recovered} not recovered"
    );
}
