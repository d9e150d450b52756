//! `make crash`: every scenario, killed at every boundary; the results must equal the run that was not killed.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the program's output is its report")]

use std::process::ExitCode;

use anyhow::Result;
use tests::scenario::{Scenario, Told, tell};

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let only = std::env::args().nth(1);
    let mut total = 0;
    let mut mismatches = 0;
    let mut scenarios = 0;
    for scenario in Scenario::ALL {
        if only.as_deref().is_some_and(|only| only != scenario.name()) {
            continue;
        }
        scenarios += 1;
        let reference = tell(scenario, None).await?;
        let boundaries = reference.boundaries.len() as u64;
        println!("{}: {boundaries} boundaries", scenario.name());
        for chunk in (1..=boundaries).collect::<Vec<_>>().chunks(2) {
            let tellings = chunk.iter().map(|kill_at| tell(scenario, Some(*kill_at)));
            let results = futures_util::future::join_all(tellings).await;
            for (kill_at, result) in chunk.iter().zip(results) {
                total += 1;
                if let Some(difference) = difference(&reference, result) {
                    mismatches += 1;
                    let name = &reference.boundaries[usize::try_from(*kill_at - 1)?];
                    eprintln!("MISMATCH {} killed at {name}:\n{difference}", scenario.name());
                }
            }
        }
    }
    if scenarios == 0 {
        let names: Vec<&str> = Scenario::ALL.iter().map(|scenario| scenario.name()).collect();
        eprintln!("there is no such scenario; there are: {}", names.join(", "));
        return Ok(ExitCode::FAILURE);
    }
    println!("scenarios {scenarios}, boundaries {total}, mismatches {mismatches}");
    Ok(if mismatches == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn difference(reference: &Told, result: Result<Told>) -> Option<String> {
    let told = match result {
        Ok(told) => told,
        Err(error) => return Some(format!("{error:?}")),
    };
    let (expected, found) = (format!("{:#?}", reference.picture), format!("{:#?}", told.picture));
    if expected == found {
        return None;
    }
    let lines = expected.lines().zip(found.lines()).filter(|(a, b)| a != b).take(8);
    Some(lines.map(|(a, b)| format!("- {a}\n+ {b}")).collect::<Vec<_>>().join("\n"))
}
