//! `make search`: the exhaustive search of every built-in playbook, with its figures.
#![expect(clippy::print_stdout, reason = "the program's output is its report")]

use std::process::ExitCode;

use testkit::search::{search, searches};

/// More than in the tests: enough for all of every playbook but `team`.
const MOST: usize = 100_000;

fn main() -> ExitCode {
    let mut wrong = 0;
    let only = std::env::args().nth(1);
    let most = std::env::args().nth(2).and_then(|text| text.parse().ok()).unwrap_or(MOST);
    for name in domain::Playbook::built_in_names() {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        for (trust, start) in searches(name) {
            let found = search(start, most);
            let time = found.time.as_secs_f64();
            let all = if found.whole { "all of it" } else { "the first of them" };
            println!("{name}, {trust}: {} states ({all}), {} transitions, {time:.1} s", found.states, found.taken);
            found.wrong.iter().for_each(|one| println!("  {one}"));
            wrong += found.wrong.len();
        }
    }
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
