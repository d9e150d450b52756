//! What makes a plan unusable, and how that is said. Never repairs a plan: whoever wrote it does.

use std::collections::{HashMap, HashSet};

use super::error::{acts, listed, shown};
use super::graph::{Graph, find_cycle};
use super::{Plan, PlanError, Task};

impl Plan {
    /// Whether the plan can be worked.
    ///
    /// # Errors
    /// The first thing that makes it unusable.
    pub fn check(&self) -> Result<(), PlanError> {
        // Counts come first: everything after them is bounded by them.
        match self.tasks.len() {
            0 => return Err(PlanError::Empty),
            count if count > Self::MAX_TASKS => return Err(PlanError::TooManyTasks { count }),
            _ => {}
        }
        let files = self.tasks.iter().map(|task| task.files.len()).sum();
        if files > Self::MAX_FILES {
            return Err(PlanError::TooManyFiles { count: files });
        }
        self.check_ids()?;
        for (index, task) in self.tasks.iter().enumerate() {
            check_texts(task)?;
            check_checks(task, index)?;
            task.files.iter().try_for_each(|file| check_file(&task.id, file))?;
        }
        printable("the summary", &self.summary, Lines::Many)?;
        let bytes = serde_json::to_vec(self).expect("a plan has only text and lists of text").len();
        if bytes > Self::MAX_BYTES {
            return Err(PlanError::TooLarge { bytes });
        }
        self.check_order()
    }

    fn check_ids(&self) -> Result<(), PlanError> {
        let place = |index: usize| format!("tasks[{index}].id");
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (index, task) in self.tasks.iter().enumerate() {
            let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
            if !(1..=Self::MAX_ID).contains(&task.id.len()) || !task.id.bytes().all(allowed) {
                return Err(PlanError::BadId { path: place(index), id: shown(&task.id) });
            }
            if let Some(first) = seen.insert(&task.id, index) {
                return Err(PlanError::DuplicateId { id: task.id.clone(), first: place(first), second: place(index) });
            }
        }
        Ok(())
    }

    fn check_order(&self) -> Result<(), PlanError> {
        let known: HashSet<&str> = self.tasks.iter().map(|task| task.id.as_str()).collect();
        let known_list = || listed(self.tasks.iter().map(|task| task.id.as_str()));
        for task in &self.tasks {
            let id = task.id.clone();
            if let Some(missing) = task.parent.as_ref().filter(|parent| !known.contains(parent.as_str())) {
                return Err(PlanError::UnknownParent { task: id, missing: shown(missing), known: known_list() });
            }
            if let Some(missing) = task.depends_on.iter().find(|dependency| !known.contains(dependency.as_str())) {
                return Err(PlanError::UnknownDependency { task: id, missing: shown(missing), known: known_list() });
            }
        }
        let graph = Graph::of(self);
        if let Some(cycle) = find_cycle(&graph.parents()) {
            return Err(PlanError::ParentCycle { cycle: self.written_out(&cycle) });
        }
        self.check_kinship(&graph)?;
        if let Some(cycle) = find_cycle(graph.dependencies()) {
            return Err(PlanError::DependencyCycle { cycle: self.written_out(&cycle) });
        }
        if let Some(cycle) = find_cycle(&graph.leaf_dependencies()) {
            return Err(PlanError::HeadingCycle { cycle: self.written_out(&cycle) });
        }
        Ok(())
    }

    fn check_kinship(&self, graph: &Graph) -> Result<(), PlanError> {
        for (index, dependencies) in graph.dependencies().iter().enumerate() {
            let task = self.tasks[index].id.clone();
            for &dependency in dependencies {
                let other = self.tasks[dependency].id.clone();
                if dependency == index {
                    return Err(PlanError::SelfDependency { task });
                }
                if graph.stands_below(index, dependency) {
                    return Err(PlanError::DependsOnHeading { task, heading: other });
                }
                if graph.stands_below(dependency, index) {
                    return Err(PlanError::DependsOnTaskBelow { task, below: other });
                }
            }
        }
        Ok(())
    }

    fn written_out(&self, cycle: &[usize]) -> String {
        let ids: Vec<&str> = cycle.iter().chain(cycle.first()).map(|&index| self.tasks[index].id.as_str()).collect();
        ids.join(" -> ")
    }
}

fn check_texts(task: &Task) -> Result<(), PlanError> {
    let id = || task.id.clone();
    if task.title.trim().is_empty() {
        return Err(PlanError::EmptyTitle { task: id() });
    }
    printable(&format!("the title of task `{}`", task.id), &task.title, Lines::One)?;
    let chars = task.title.chars().count();
    if chars > Plan::MAX_TITLE {
        return Err(PlanError::LongTitle { task: id(), chars });
    }
    if task.description.len() > Plan::MAX_DESCRIPTION {
        return Err(PlanError::LongDescription { task: id(), bytes: task.description.len() });
    }
    printable(&format!("the description of task `{}`", task.id), &task.description, Lines::Many)
}

fn check_checks(task: &Task, index: usize) -> Result<(), PlanError> {
    if task.checks.len() > Plan::MAX_CHECKS {
        return Err(PlanError::TooManyChecks { task: task.id.clone(), count: task.checks.len() });
    }
    for (number, check) in task.checks.iter().enumerate() {
        for (field, text, lines) in [("name", &check.name, Lines::One), ("command", &check.command, Lines::Many)] {
            let path = format!("tasks[{index}].checks[{number}].{field}");
            if text.trim().is_empty() {
                return Err(PlanError::EmptyCheck { path });
            }
            printable(&format!("`{path}`"), text, lines)?;
        }
    }
    Ok(())
}

fn check_file(task: &str, file: &str) -> Result<(), PlanError> {
    let (task, entry) = (task.to_owned(), shown(file));
    if file.trim().is_empty() {
        return Err(PlanError::EmptyPath { task });
    }
    if file.len() > Plan::MAX_PATH {
        return Err(PlanError::LongPath { task, bytes: file.len() });
    }
    printable(&format!("an entry in `files` of task `{task}`"), file, Lines::One)?;
    let drive = matches!(file.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    if drive || file.starts_with(['/', '~']) {
        return Err(PlanError::AbsolutePath { task, file: entry });
    }
    if file.contains('\\') {
        return Err(PlanError::BackslashPath { task, file: entry });
    }
    if file.split('/').any(|segment| segment == "..") {
        return Err(PlanError::ClimbingPath { task, file: entry });
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Lines {
    One,
    Many,
}

/// Refuses characters that a terminal obeys or that make a line read in another order than it is.
fn printable(place: &str, text: &str, lines: Lines) -> Result<(), PlanError> {
    let breaks = |character: char| match lines {
        Lines::One => false,
        Lines::Many => matches!(character, '\n' | '\r' | '\t'),
    };
    match text.chars().find(|&character| acts(character) && !breaks(character)) {
        Some(character) => Err(PlanError::ControlCharacter { place: place.to_owned(), character }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Dice, below, plan, random_plan, task, touching};
    use super::*;
    use crate::Check;

    #[track_caller]
    fn refused(tasks: impl IntoIterator<Item = Task>, message: &str) {
        assert_eq!(plan(tasks).check().unwrap_err().to_string(), message);
    }

    #[test]
    fn a_plan_without_tasks_is_refused() {
        refused([], "the plan has no tasks; add at least one to `tasks`");
    }

    #[test]
    fn five_hundred_tasks_are_refused_and_a_hundred_are_not() {
        let many = |count: usize| (0..count).map(|number| task(&format!("t{number}"), &[]));
        refused(
            many(500),
            "the plan has 500 tasks; at most 100 fit in one plan, so join some or leave the rest to a later run",
        );
        assert_eq!(plan(many(100)).check(), Ok(()));
    }

    #[test]
    fn ids_are_short_lower_case_and_unique() {
        for bad in ["", "A", "a b", "a/b", "ä", "a\u{1b}[2J", &"a".repeat(41)] {
            let error = plan([task("ok", &[]), task(bad, &[])]).check().unwrap_err();
            assert!(matches!(&error, PlanError::BadId { path, .. } if path == "tasks[1].id"), "{bad:?}: {error}");
            assert!(!error.to_string().contains('\u{1b}'));
        }
        assert_eq!(plan([task(&"a".repeat(40), &[]), task("a-1_b", &[])]).check(), Ok(()));
        refused(
            [task("a", &[]), task("b", &[]), task("a", &[])],
            "`tasks[0].id` and `tasks[2].id` both have the id `a`; give each task its own",
        );
    }

    #[test]
    fn an_unknown_dependency_is_named() {
        refused(
            [task("a", &[]), task("b", &["a", "c"])],
            "task `b` depends on `c`, which is not in the plan; there are `a`, `b`",
        );
    }

    #[test]
    fn an_unknown_heading_is_named() {
        refused([below("top", task("a", &[]))], "task `a` stands below `top`, which is not in the plan; there are `a`");
    }

    #[test]
    fn a_cycle_is_written_out() {
        refused(
            [task("d", &["a"]), task("a", &["b"]), task("b", &["c"]), task("c", &["a"])],
            "the dependencies go in a circle: a -> b -> c -> a; remove one of them",
        );
        refused(
            [below("b", task("a", &[])), below("a", task("b", &[]))],
            "the headings go in a circle: a -> b -> a; remove one `parent`",
        );
    }

    #[test]
    fn a_cycle_that_only_closes_through_headings_is_found() {
        let tasks =
            [task("one", &["two"]), below("one", task("a", &[])), task("two", &[]), below("two", task("b", &["a"]))];
        refused(
            tasks,
            "with what their headings depend on, tasks wait for each other: a -> b -> a; remove one of the \
             dependencies, of these tasks or of the headings above them",
        );
    }

    #[test]
    fn a_task_waits_neither_for_itself_nor_for_its_heading_nor_for_its_parts() {
        refused([task("a", &["a"])], "task `a` depends on itself; remove `a` from its `dependsOn`");
        refused(
            [task("top", &[]), below("top", task("mid", &[])), below("mid", task("a", &["top"]))],
            "task `a` depends on `top`, which it stands below, so it would wait for itself; remove the dependency",
        );
        refused(
            [task("top", &["a"]), below("top", task("mid", &[])), below("mid", task("a", &[]))],
            "task `top` depends on `a`, which stands below it and is part of it; remove the dependency",
        );
        refused([below("a", task("a", &[]))], "the headings go in a circle: a -> a; remove one `parent`");
    }

    #[test]
    fn titles_are_one_short_printable_line() {
        let titled = |title: &str| Task { title: title.to_owned(), ..task("a", &[]) };
        refused([titled(" \u{a0}")], "task `a` has no title; say in one line what it does");
        refused([titled("x\ny")], "the title of task `a` has the control character U+000A; remove it");
        refused([titled("x\u{1b}[2J")], "the title of task `a` has the control character U+001B; remove it");
        refused([titled("x\u{202e}y")], "the title of task `a` has the control character U+202E; remove it");
        assert!(matches!(plan([titled(&"é".repeat(201))]).check(), Err(PlanError::LongTitle { chars: 201, .. })));
        assert_eq!(plan([titled(&"é".repeat(200))]).check(), Ok(()));
    }

    #[test]
    fn descriptions_may_have_lines_but_are_bounded() {
        let described = |description: String| plan([Task { description, ..task("a", &[]) }]);
        assert_eq!(described("one\n\ttwo\r\n".to_owned()).check(), Ok(()));
        assert_eq!(described("x".repeat(Plan::MAX_DESCRIPTION)).check(), Ok(()));
        assert!(matches!(described("x".repeat(1 << 20)).check(), Err(PlanError::LongDescription { .. })));
        assert!(matches!(described("\u{0}".to_owned()).check(), Err(PlanError::ControlCharacter { .. })));
    }

    #[test]
    fn the_whole_plan_is_bounded_too() {
        let heavy = |id: &str| Task { description: "x".repeat(60_000), ..task(id, &[]) };
        let tasks = (0..9).map(|number| heavy(&format!("t{number}")));
        assert!(matches!(plan(tasks).check(), Err(PlanError::TooLarge { .. })));
    }

    #[test]
    fn a_check_has_a_name_and_a_command() {
        let checked = |name: &str, command: &str| Task {
            checks: vec![Check { name: name.to_owned(), command: command.to_owned() }],
            ..task("a", &[])
        };
        assert_eq!(plan([checked("unit", "make a\nmake b")]).check(), Ok(()));
        for (task, field) in [(checked("unit", "  "), "command"), (checked("", "make"), "name")] {
            let path = format!("tasks[0].checks[0].{field}");
            assert_eq!(plan([task]).check(), Err(PlanError::EmptyCheck { path }));
        }
        let many = Task { checks: vec![checked("unit", "make").checks[0].clone(); 21], ..task("a", &[]) };
        assert!(matches!(plan([many]).check(), Err(PlanError::TooManyChecks { count: 21, .. })));
    }

    #[test]
    fn expected_files_stay_inside_the_repository() {
        let with = |file: &str| plan([touching(&[file], task("a", &[]))]).check();
        for good in ["a.rs", "src/", ".", "./a", "src/**/*.rs", "a..b/c", "..a", "docs/ä ö.md", "app/[id]/page.tsx"] {
            assert_eq!(with(good), Ok(()), "{good}");
        }
        for bad in ["/etc/passwd", "~/.ssh/id", "C:/x", "c:x"] {
            assert!(matches!(with(bad), Err(PlanError::AbsolutePath { .. })), "{bad}");
        }
        for bad in ["..", "../x", "a/../b", "a/.."] {
            assert!(matches!(with(bad), Err(PlanError::ClimbingPath { .. })), "{bad}");
        }
        assert!(matches!(with("a\\..\\b"), Err(PlanError::BackslashPath { .. })));
        assert!(matches!(with(" "), Err(PlanError::EmptyPath { .. })));
        assert!(matches!(with("a\nb"), Err(PlanError::ControlCharacter { .. })));
        assert!(matches!(with(&"x".repeat(301)), Err(PlanError::LongPath { bytes: 301, .. })));
        let many = plan([touching(&["a"; 501], task("a", &[])), touching(&["b"; 500], task("b", &[]))]);
        assert_eq!(many.check(), Err(PlanError::TooManyFiles { count: 1001 }));
    }

    #[test]
    fn any_plan_without_cycles_is_accepted_and_any_edge_back_refused() {
        let mut refused = 0;
        for seed in 0..500 {
            let good = random_plan(seed);
            assert_eq!(good.check(), Ok(()), "seed {seed}");
            let leaves = good.leaves();
            let waiting: Vec<&Task> = leaves.iter().filter(|leaf| !leaf.depends_on.is_empty()).collect();
            let mut dice = Dice(seed);
            if waiting.is_empty() {
                continue;
            }
            let waiting = waiting[dice.below(waiting.len())];
            let before = &waiting.depends_on[dice.below(waiting.depends_on.len())];
            let mut bad = good.clone();
            let target = bad.tasks.iter_mut().find(|task| task.id == *before).unwrap();
            target.depends_on.push(waiting.id.clone());
            let error = bad.check().unwrap_err();
            assert!(
                matches!(error, PlanError::DependencyCycle { .. } | PlanError::HeadingCycle { .. }),
                "seed {seed}: {error}"
            );
            refused += 1;
        }
        assert!(refused > 300, "only {refused} plans had a dependency to turn around");
    }

    #[test]
    fn the_worst_plan_that_fits_is_judged_at_once() {
        let everyone: Vec<String> = (0..100).map(|number| format!("t{number}")).collect();
        let mut tasks: Vec<Task> = everyone.iter().map(|id| task(id, &[])).collect();
        for (index, task) in tasks.iter_mut().enumerate() {
            task.depends_on = everyone[..index].to_vec();
        }
        assert_eq!(plan(tasks.clone()).check(), Ok(()));
        tasks[0].depends_on.push("t99".to_owned());
        assert!(matches!(plan(tasks).check(), Err(PlanError::DependencyCycle { .. })));
    }
}
