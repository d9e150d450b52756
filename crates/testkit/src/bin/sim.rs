//! `make sim`: many seeds of the simulation, or one again.
#![expect(clippy::print_stdout, reason = "the program's output is its report")]

use std::process::ExitCode;
use std::time::Instant;

use testkit::sim::{Faults, Report, Size, play};

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().collect();
    let number = |name: &str, otherwise: u64| {
        let at = given.iter().position(|word| word == name);
        at.and_then(|at| given.get(at + 1)).and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (from, seeds) = (number("--from", 1), number("--seeds", 200));
    let faults = if given.iter().any(|word| word == "--all-faults") { Faults::All } else { Faults::Cuts };
    let began = Instant::now();
    let mut failed = 0;
    let (mut runs, mut events, mut effects, mut repeated, mut crashes) = (0, 0, 0, 0, 0);
    for seed in from..from + seeds {
        let one = Instant::now();
        let report: Report = play(seed, Size { runs: 3, steps: 120, slots: 3, faults });
        if one.elapsed().as_secs() >= 10 {
            println!("seed {seed} took {:.0} s", one.elapsed().as_secs_f64());
        }
        (runs, events, effects) = (runs + report.runs, events + report.events, effects + report.effects);
        (repeated, crashes) = (repeated + report.repeated, crashes + report.crashes);
        if !report.wrong.is_empty() {
            failed += 1;
            println!("seed {seed} fails (again: --from {seed} --seeds 1):\n  {}", report.wrong.join("\n  "));
        }
    }
    println!(
        "{seeds} seeds, {runs} runs, {events} events, {effects} effects ({repeated} repeated), {crashes} crashes, \
         {failed} failed, {:.1} s",
        began.elapsed().as_secs_f64()
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
