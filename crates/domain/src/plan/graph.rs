//! What must come before what: leaves, waves of them, and cycles. Total on any plan, meaningful on a checked one.

use std::collections::HashMap;

use super::{Plan, Task};

impl Plan {
    /// The tasks that are worked, in plan order. A task with others below it is a heading and is not among them: who
    /// depends on it depends on every leaf below it, and what it depends on holds for every leaf below it.
    ///
    /// Only for a checked plan; of one that is not, ids nobody has are left out.
    #[must_use]
    pub fn leaves(&self) -> Vec<Task> {
        let graph = Graph::of(self);
        let dependencies = graph.leaf_dependencies();
        let id = |index: &usize| self.tasks[*index].id.clone();
        graph
            .leaves()
            .map(|index| Task { depends_on: dependencies[index].iter().map(id).collect(), ..self.tasks[index].clone() })
            .collect()
    }

    /// Ids of the leaves in waves: the first wave depends on nothing, and each later task depends on one in the wave
    /// before its own. In plan order inside a wave.
    ///
    /// Only for a checked plan; of one that is not, tasks in a cycle are left out.
    #[must_use]
    pub fn groups(&self) -> Vec<Vec<String>> {
        let graph = Graph::of(self);
        let dependencies = graph.leaf_dependencies();
        let mut wave: Vec<Option<usize>> = vec![None; self.tasks.len()];
        let mut waiting: Vec<usize> = graph.leaves().collect();
        let mut groups: Vec<Vec<String>> = Vec::new();
        loop {
            let (ready, rest): (Vec<usize>, Vec<usize>) =
                waiting.into_iter().partition(|&index| dependencies[index].iter().all(|&on| wave[on].is_some()));
            if ready.is_empty() {
                return groups;
            }
            for &index in &ready {
                wave[index] = Some(groups.len());
            }
            groups.push(ready.into_iter().map(|index| self.tasks[index].id.clone()).collect());
            waiting = rest;
        }
    }
}

/// A plan by the places of its tasks. Ids nobody has are left out; of two tasks of one id the first counts.
pub(super) struct Graph {
    dependencies: Vec<Vec<usize>>,
    /// The headings above each task, nearest first. Ends where a circle of headings would begin again.
    above: Vec<Vec<usize>>,
    heading: Vec<bool>,
}

impl Graph {
    pub(super) fn of(plan: &Plan) -> Self {
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (index, task) in plan.tasks.iter().enumerate() {
            places.entry(&task.id).or_insert(index);
        }
        let place = |id: &String| places.get(id.as_str()).copied();
        let parent: Vec<Option<usize>> = plan.tasks.iter().map(|task| task.parent.as_ref().and_then(place)).collect();
        let mut heading = vec![false; plan.tasks.len()];
        for &index in parent.iter().flatten() {
            heading[index] = true;
        }
        let above = (0..plan.tasks.len())
            .map(|index| std::iter::successors(parent[index], |&up| parent[up]).take(plan.tasks.len()).collect())
            .collect();
        let dependencies =
            plan.tasks.iter().map(|task| in_order(task.depends_on.iter().filter_map(place).collect())).collect();
        Self { dependencies, above, heading }
    }

    /// What each task says it depends on.
    pub(super) fn dependencies(&self) -> &[Vec<usize>] {
        &self.dependencies
    }

    /// The heading of each task, in the form [`find_cycle`] reads.
    pub(super) fn parents(&self) -> Vec<Vec<usize>> {
        self.above.iter().map(|above| above.first().copied().into_iter().collect()).collect()
    }

    pub(super) fn stands_below(&self, task: usize, heading: usize) -> bool {
        self.above[task].contains(&heading)
    }

    pub(super) fn leaves(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.heading.len()).filter(|&index| !self.heading[index])
    }

    /// The leaves each leaf depends on; empty for headings.
    pub(super) fn leaf_dependencies(&self) -> Vec<Vec<usize>> {
        let mut expanded = vec![Vec::new(); self.dependencies.len()];
        for leaf in self.leaves() {
            let own = std::iter::once(&leaf).chain(&self.above[leaf]);
            let on = own.flat_map(|&task| &self.dependencies[task]).flat_map(|&on| self.leaves_of(on)).collect();
            expanded[leaf] = in_order(on);
        }
        expanded
    }

    /// For each task the leaves that must come before it, near or far.
    pub(super) fn all_before(&self) -> Vec<Vec<bool>> {
        let direct = self.leaf_dependencies();
        let mut before = vec![vec![false; direct.len()]; direct.len()];
        for (index, reached) in before.iter_mut().enumerate() {
            let mut next = direct[index].clone();
            while let Some(on) = next.pop() {
                if !std::mem::replace(&mut reached[on], true) {
                    next.extend(&direct[on]);
                }
            }
        }
        before
    }

    fn leaves_of(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        self.leaves().filter(move |&leaf| leaf == task || self.stands_below(leaf, task))
    }
}

fn in_order(mut places: Vec<usize>) -> Vec<usize> {
    places.sort_unstable();
    places.dedup();
    places
}

/// One circle in `edges`, if there is any: each of the result leads to the next, and the last to the first.
pub(super) fn find_cycle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut open: Vec<usize> = (0..edges.len()).collect();
    let mut done = vec![false; edges.len()];
    // Takes away whatever only leads to what is already away; what stays leads into a circle.
    loop {
        let before = open.len();
        open.retain(|&index| {
            done[index] = edges[index].iter().all(|&next| done[next]);
            !done[index]
        });
        if open.len() == before {
            break;
        }
    }
    let mut walk = vec![*open.first()?];
    loop {
        let here = *walk.last().expect("the walk starts with one place");
        let next = *edges[here].iter().find(|&&next| !done[next]).expect("an open place leads to an open place");
        if let Some(start) = walk.iter().position(|&place| place == next) {
            return Some(walk.split_off(start));
        }
        walk.push(next);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{below, plan, random_plan, task};
    use super::*;

    #[track_caller]
    fn groups(tasks: impl IntoIterator<Item = Task>, expected: &[&[&str]]) {
        let plan = plan(tasks);
        plan.check().unwrap();
        assert_eq!(plan.groups(), expected);
    }

    #[test]
    fn tasks_that_depend_on_nothing_form_the_first_group_in_plan_order() {
        groups([task("b", &[]), task("c", &["b"]), task("a", &[])], &[&["b", "a"], &["c"]]);
    }

    #[test]
    fn a_task_stands_one_group_after_the_last_it_waits_for() {
        groups(
            [task("d", &["a", "c"]), task("c", &["b"]), task("b", &["a"]), task("a", &[]), task("e", &["a"])],
            &[&["a"], &["b", "e"], &["c"], &["d"]],
        );
    }

    #[test]
    fn a_heading_is_not_worked_and_hands_its_dependencies_down() {
        let plan = plan([
            task("first", &[]),
            task("top", &["first"]),
            below("top", task("mid", &[])),
            below("mid", task("a", &[])),
            below("top", task("b", &["a"])),
            task("last", &["top"]),
        ]);
        plan.check().unwrap();
        let leaves = plan.leaves();
        let seen: Vec<(&str, Vec<&str>)> = leaves
            .iter()
            .map(|leaf| (leaf.id.as_str(), leaf.depends_on.iter().map(String::as_str).collect()))
            .collect();
        assert_eq!(
            seen,
            [("first", vec![]), ("a", vec!["first"]), ("b", vec!["first", "a"]), ("last", vec!["a", "b"])]
        );
        assert_eq!(plan.groups(), [vec!["first"], vec!["a"], vec!["b"], vec!["last"]]);
    }

    #[test]
    fn a_dependency_named_twice_counts_once() {
        let plan = plan([task("a", &[]), task("b", &["a", "a"])]);
        assert_eq!(plan.leaves()[1].depends_on, ["a"]);
    }

    #[test]
    fn every_leaf_is_in_exactly_one_group_and_after_all_it_waits_for() {
        for seed in 0..500 {
            let plan = random_plan(seed);
            let groups = plan.groups();
            let leaves = plan.leaves();
            let mut grouped: Vec<&String> = groups.iter().flatten().collect();
            grouped.sort();
            let mut expected: Vec<&String> = leaves.iter().map(|leaf| &leaf.id).collect();
            expected.sort();
            assert_eq!(grouped, expected, "seed {seed}");
            let wave = |id: &String| groups.iter().position(|group| group.contains(id)).unwrap();
            for leaf in &leaves {
                let last = leaf.depends_on.iter().map(|on| wave(on) + 1).max().unwrap_or(0);
                assert_eq!(wave(&leaf.id), last, "seed {seed}: {}", leaf.id);
            }
        }
    }

    #[test]
    fn what_is_written_about_headings_holds_for_the_leaves_below_them() {
        for seed in 0..500 {
            let plan = random_plan(seed);
            let leaves = plan.leaves();
            let under = |leaf: &Task, id: &String| leaf.id == *id || leaf.parent.as_ref() == Some(id);
            for task in &plan.tasks {
                for on in &task.depends_on {
                    for leaf in leaves.iter().filter(|leaf| under(leaf, &task.id)) {
                        for before in leaves.iter().filter(|before| under(before, on)) {
                            assert!(leaf.depends_on.contains(&before.id), "seed {seed}: {} on {on}", task.id);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_unchecked_plan_with_circles_neither_hangs_nor_panics() {
        let plan =
            plan([task("a", &["b"]), task("b", &["a"]), below("d", task("c", &["x"])), below("c", task("d", &[]))]);
        assert_eq!(plan.groups(), Vec::<Vec<String>>::new());
        assert_eq!(plan.leaves().len(), 2);
    }
}
