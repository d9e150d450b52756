//! The simulation: from every seed everything comes to rest, and no rule is broken.
#![expect(clippy::print_stdout, reason = "the figures are part of the result")]

use testkit::sim::{Faults, Size, play};

/// `SEEDS=1000` plays more, `FROM=17 SEEDS=1` one again.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn every_seed(faults: Faults) {
    let (from, seeds) = (number("FROM", 1), number("SEEDS", 200));
    let (mut runs, mut effects, mut repeated, mut crashes) = (0, 0, 0, 0);
    for seed in from..from + seeds {
        let report = play(seed, Size { runs: 2, steps: 50, slots: 3, faults });
        assert!(report.wrong.is_empty(), "seed {seed} (again: FROM={seed} SEEDS=1):\n{}", report.wrong.join("\n"));
        (runs, effects) = (runs + report.runs, effects + report.effects);
        (repeated, crashes) = (repeated + report.repeated, crashes + report.crashes);
    }
    println!("{seeds} seeds, {runs} runs, {effects} effects ({repeated} repeated), {crashes} crashes");
    assert!(effects > seeds * 5 && (seeds < 50 || crashes > 10), "the world was too quiet");
}

#[test]
fn through_power_cuts_everything_comes_to_rest_and_no_rule_is_broken() {
    every_seed(Faults::Cuts);
}

#[test]
fn through_lost_leases_clock_jumps_and_second_engines_everything_comes_to_rest() {
    every_seed(Faults::All);
}
