//! The simulation: from every seed everything comes to rest, and no rule is broken.

use testkit::sim::{Size, play};

/// `SEEDS=1000` plays more, `FROM=17 SEEDS=1` one again.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn from_every_seed_everything_comes_to_rest_and_no_rule_is_broken() {
    let (from, seeds) = (number("FROM", 1), number("SEEDS", 200));
    let (mut runs, mut effects, mut repeated, mut crashes) = (0, 0, 0, 0);
    for seed in from..from + seeds {
        let report = play(seed, Size { runs: 2, steps: 50, slots: 3, teams: false });
        assert!(report.wrong.is_empty(), "seed {seed} (again: FROM={seed} SEEDS=1):\n{}", report.wrong.join("\n"));
        (runs, effects) = (runs + report.runs, effects + report.effects);
        (repeated, crashes) = (repeated + report.repeated, crashes + report.crashes);
    }
    println!("{seeds} seeds, {runs} runs, {effects} effects ({repeated} repeated), {crashes} crashes");
    assert!(effects > seeds * 5 && (seeds < 50 || (crashes > 10 && repeated > 10)), "the world was too quiet");
}
