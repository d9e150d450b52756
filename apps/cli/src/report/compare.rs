//! Runs side by side, or one below the other where there is no room. Pure.

use wire::{CompareView, ComparedRun};

use super::{
    clean_line,
    run::short,
    style::{BOLD, DIM},
    words::{count, fit, money, pad, seconds, tokens},
};

/// Columns of the names on the left.
const NAMES: usize = 10;
/// A column narrower than this cannot be read.
const NARROWEST: usize = 18;

/// Draws the comparison: never wider than `width`.
pub(crate) fn draw(compared: &CompareView, width: usize) -> String {
    let column = width.saturating_sub(NAMES) / compared.runs.len().max(1);
    let mut lines = if column >= NARROWEST { beside(compared, column) } else { below(compared, width) };
    lines.push(String::new());
    lines.extend(together(compared, width));
    lines.join("\n")
}

fn beside(compared: &CompareView, column: usize) -> Vec<String> {
    let cells: Vec<Vec<(&'static str, String)>> =
        compared.runs.iter().map(|run| facts(run, has_forks(compared))).collect();
    let heads: String = compared.runs.iter().map(|run| pad(&fit(&head(run), column - 2), column)).collect();
    let mut lines = vec![format!("{}{BOLD}{}{BOLD:#}", " ".repeat(NAMES), heads.trim_end())];
    let names: Vec<&str> = cells.first().map(|facts| facts.iter().map(|(name, _)| *name).collect()).unwrap_or_default();
    for (row, name) in names.into_iter().enumerate() {
        let values = cells.iter().map(|facts| pad(&fit(&facts[row].1, column - 2), column));
        lines.push(format!("{DIM}{name:<NAMES$}{DIM:#}{}", values.collect::<String>().trim_end()));
    }
    lines
}

fn below(compared: &CompareView, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for run in &compared.runs {
        lines.push(format!("{BOLD}{}{BOLD:#}", head(run)));
        let row = |(name, value): (&str, String)| {
            format!("  {DIM}{name:<NAMES$}{DIM:#}{}", fit(&value, width.saturating_sub(NAMES + 2)))
        };
        lines.extend(facts(run, has_forks(compared)).into_iter().map(row));
    }
    lines
}

fn has_forks(compared: &CompareView) -> bool {
    compared.runs.iter().any(|run| run.forked_from.is_some())
}

fn head(run: &ComparedRun) -> String {
    match run.index {
        Some(index) => format!("{index}. {}", short(&run.id)),
        None => short(&run.id),
    }
}

fn from(from: &wire::ForkedFromView) -> String {
    format!("from {} at event {}", short(&from.run), from.at)
}

/// `forks`: whether one of those that are compared is a fork.
fn facts(run: &ComparedRun, forks: bool) -> Vec<(&'static str, String)> {
    let files = count(run.files.len() as u64, "file", "files");
    let checks = match (run.checks_passed, run.checks_failed) {
        (0, 0) => "none ran".to_owned(),
        (passed, 0) => format!("{passed} passed"),
        (passed, failed) => format!("{passed} passed, {failed} failed"),
    };
    let mut facts = vec![
        ("status", clean_line(&run.status.replace('_', " "))),
        ("plan", run.plan.as_deref().map_or("none yet".to_owned(), clean_line)),
        ("tasks", if run.tasks == 0 { "one".to_owned() } else { run.tasks.to_string() }),
        ("diff", format!("+{} −{}, {files}", run.added, run.deleted)),
        ("checks", checks),
        ("verdict", run.verdict.as_deref().map_or("none yet".to_owned(), clean_line)),
        ("review", run.review.as_deref().map(clean_line).unwrap_or_default()),
        ("cost", cost(run)),
        ("tokens", format!("{} in, {} out", tokens(run.input_tokens), tokens(run.output_tokens))),
        ("time", seconds(run.seconds)),
        ("waits for", run.hold.as_ref().map_or("nobody".to_owned(), |hold| clean_line(&hold.kind))),
    ];
    if forks {
        facts.insert(1, ("forked", run.forked_from.as_ref().map_or("no".to_owned(), from)));
    }
    facts
}

/// What it spent itself, and what a run it was forked from had spent before.
fn cost(run: &ComparedRun) -> String {
    match run.inherited_usd {
        Some(inherited) => format!("{} + {} inherited", money(run.usd), money(inherited)),
        None => money(run.usd),
    }
}

/// What they change together.
fn together(compared: &CompareView, width: usize) -> Vec<String> {
    let listed = |files: &[String], room: usize| fit(&clean_line(&files.join(", ")), room);
    let mut lines = vec![match compared.common.as_slice() {
        [] => "no file is changed by all".to_owned(),
        common => format!("changed by all: {}", listed(common, width.saturating_sub(17))),
    }];
    // Of two runs, what the pair changes is what all change.
    let pairs = compared.pairs.iter().filter(|_| compared.runs.len() > 2);
    lines.extend(pairs.map(|pair| {
        let names = format!("{} and {}", short(&pair.first), short(&pair.second));
        let room = width.saturating_sub(names.len() + 4);
        format!("{DIM}{names}:{DIM:#} {}", listed(&pair.files, room))
    }));
    lines
}

#[cfg(test)]
pub(crate) mod sample {
    use super::*;

    pub(crate) fn run(id: &str, index: u32) -> ComparedRun {
        ComparedRun {
            id: id.to_owned(),
            request: "Search".to_owned(),
            index: Some(index),
            status: "awaiting_approval".to_owned(),
            plan: Some("Search by a word".to_owned()),
            tasks: 0,
            files: vec!["src/app.js".to_owned()],
            added: 12,
            deleted: 3,
            checks_passed: 2,
            checks_failed: u32::from(index == 2),
            verdict: Some("pass".to_owned()),
            review: Some("All is there.".to_owned()),
            usd: 0.0512,
            forked_from: None,
            inherited_usd: None,
            input_tokens: 12_300,
            output_tokens: 900,
            seconds: 75,
            hold: None,
        }
    }

    pub(crate) fn three() -> CompareView {
        CompareView {
            runs: vec![run("aaaaaa-000000", 1), run("bbbbbb-000000", 2), run("cccccc-000000", 3)],
            common: vec!["src/app.js".to_owned()],
            pairs: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plain;

    #[test]
    fn three_runs_stand_side_by_side_in_80_columns() {
        let text = plain(&draw(&sample::three(), 80));
        let expected = "          1. aaaaaa              2. bbbbbb              3. cccccc
status    awaiting approval      awaiting approval      awaiting approval
plan      Search by a word       Search by a word       Search by a word
tasks     one                    one                    one
diff      +12 −3, 1 file         +12 −3, 1 file         +12 −3, 1 file
checks    2 passed               2 passed, 1 failed     2 passed
verdict   pass                   pass                   pass
review    All is there.          All is there.          All is there.
cost      $0.0512                $0.0512                $0.0512
tokens    12.3k in, 900 out      12.3k in, 900 out      12.3k in, 900 out
time      1 min 15 s             1 min 15 s             1 min 15 s
waits for nobody                 nobody                 nobody

changed by all: src/app.js";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_fork_says_where_it_comes_from_and_what_it_did_not_pay_again() {
        let mut compared = sample::three();
        compared.runs.truncate(2);
        let from = wire::ForkedFromView { run: "aaaaaa-000000".to_owned(), at: 17 };
        (compared.runs[1].forked_from, compared.runs[1].inherited_usd) = (Some(from), Some(0.04));
        let text = plain(&draw(&compared, 80));
        assert!(text.contains("forked    no                                 from aaaaaa at event 17"), "{text}");
        assert!(text.contains("cost      $0.0512                            $0.0512 + $0.0400 inherited"), "{text}");
    }

    #[test]
    fn where_there_is_no_room_they_stand_one_below_the_other() {
        let text = plain(&draw(&sample::three(), 50));
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
        let heads: Vec<&str> = text.lines().filter(|line| line.contains(". ") && !line.starts_with(' ')).collect();
        assert_eq!(heads, ["1. aaaaaa", "2. bbbbbb", "3. cccccc"]);
        assert!(text.contains("  checks    2 passed, 1 failed"), "{text}");
    }
}
