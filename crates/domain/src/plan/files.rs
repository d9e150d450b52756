//! Where tasks would meet in the same files, before they start, and where one left what it announced, afterwards.
//! Never decides what follows from it.

use serde::{Deserialize, Serialize};

use super::Plan;
use super::graph::Graph;
use super::pattern::Pattern;

/// Two tasks that may run at the same time and expect to touch the same files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Overlap {
    /// The earlier in the plan.
    pub first: String,
    /// The later.
    pub second: String,
    /// The entries of both that can name one path.
    pub files: Vec<String>,
}

impl Plan {
    /// Pairs of leaves of which neither waits for the other and whose expected files can meet, in plan order. A task
    /// that names no files meets nobody: nothing is known of it.
    ///
    /// Only for a checked plan, whose limits bound the work.
    #[must_use]
    pub fn overlaps(&self) -> Vec<Overlap> {
        let graph = Graph::of(self);
        let before = graph.all_before();
        let patterns: Vec<Vec<Pattern>> =
            self.tasks.iter().map(|task| task.files.iter().map(|file| Pattern::new(file)).collect()).collect();
        let leaves: Vec<usize> = graph.leaves().collect();
        let mut overlaps = Vec::new();
        for (position, &first) in leaves.iter().enumerate() {
            for &second in &leaves[position + 1..] {
                if before[first][second] || before[second][first] {
                    continue;
                }
                let mut files: Vec<String> = Vec::new();
                for (a, one) in patterns[first].iter().zip(&self.tasks[first].files) {
                    for (b, two) in patterns[second].iter().zip(&self.tasks[second].files) {
                        if a.overlaps(b) {
                            for entry in [one, two] {
                                if !files.contains(entry) {
                                    files.push(entry.clone());
                                }
                            }
                        }
                    }
                }
                if !files.is_empty() {
                    let (first, second) = (self.tasks[first].id.clone(), self.tasks[second].id.clone());
                    overlaps.push(Overlap { first, second, files });
                }
            }
        }
        overlaps
    }
}

/// Changed paths that a task did not say it would touch, in the order given. No expectation means anything goes, and
/// the record under `.autonomous/` never counts.
#[must_use]
pub fn strayed(expected: &[String], changed: &[String]) -> Vec<String> {
    if expected.is_empty() {
        return Vec::new();
    }
    let patterns: Vec<Pattern> = expected.iter().map(|entry| Pattern::new(entry)).collect();
    let announced = |path: &str| patterns.iter().any(|pattern| pattern.matches(path));
    changed.iter().filter(|path| !path.starts_with(".autonomous/") && !announced(path)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{below, plan, task, touching};
    use super::*;

    #[track_caller]
    fn overlaps(plan: &Plan, expected: &[(&str, &str, &[&str])]) {
        plan.check().unwrap();
        let found = plan.overlaps();
        let found: Vec<(&str, &str, Vec<&str>)> = found
            .iter()
            .map(|pair| (pair.first.as_str(), pair.second.as_str(), pair.files.iter().map(String::as_str).collect()))
            .collect();
        let expected: Vec<(&str, &str, Vec<&str>)> =
            expected.iter().map(|(first, second, files)| (*first, *second, files.to_vec())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn tasks_that_may_run_at_once_and_touch_one_file_are_flagged() {
        let plan = plan([
            touching(&["src/a.rs", "src/shared.rs"], task("a", &[])),
            touching(&["src/shared.rs", "docs/"], task("b", &[])),
            touching(&["docs/*.md"], task("c", &[])),
            task("silent", &[]),
        ]);
        overlaps(&plan, &[("a", "b", &["src/shared.rs"]), ("b", "c", &["docs/", "docs/*.md"])]);
    }

    #[test]
    fn tasks_that_wait_for_each_other_are_not_flagged_however_far_apart() {
        let plan = plan([
            touching(&["x"], task("c", &["b"])),
            task("b", &["a"]),
            touching(&["x"], task("a", &[])),
            touching(&["x"], task("d", &["a"])),
        ]);
        overlaps(&plan, &[("c", "d", &["x"])]);
    }

    #[test]
    fn waiting_through_headings_counts_and_headings_themselves_do_not() {
        let plan = plan([
            touching(&["x"], task("top", &["a"])),
            below("top", touching(&["x"], task("b", &[]))),
            touching(&["x"], task("a", &[])),
            touching(&["x"], task("c", &["top"])),
        ]);
        overlaps(&plan, &[]);
    }

    #[test]
    fn the_largest_plan_of_globs_is_compared_within_its_limits() {
        let files: Vec<String> = (0..10).map(|number| format!("*{}b*{number}", "a".repeat(140))).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let literals: Vec<String> = (0..10).map(|number| format!("{}{number}", "a".repeat(290))).collect();
        let literals: Vec<&str> = literals.iter().map(String::as_str).collect();
        let tasks = (0..100).map(|number| {
            let files = if number % 2 == 0 { &files } else { &literals };
            touching(files, task(&format!("t{number}"), &[]))
        });
        let plan = plan(tasks);
        plan.check().unwrap();
        // Globs meet globs and literals themselves, but no literal has the `b` that every glob asks for.
        assert_eq!(plan.overlaps().len(), 2 * (50 * 49 / 2));
    }

    #[test]
    fn what_a_task_changed_without_saying_so_is_named() {
        let list = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<Vec<String>>();
        let changed = list(&["src/a.rs", "src/net/b.rs", "Cargo.toml", ".autonomous/runs/x.md", ".autonomous2/x"]);
        assert_eq!(strayed(&list(&["src/*.rs"]), &changed), ["src/net/b.rs", "Cargo.toml", ".autonomous2/x"]);
        assert_eq!(strayed(&list(&["src/", "Cargo.toml"]), &changed), [".autonomous2/x"]);
        assert_eq!(strayed(&[], &changed), Vec::<String>::new());
        assert_eq!(strayed(&list(&["."]), &changed), Vec::<String>::new());
    }
}
