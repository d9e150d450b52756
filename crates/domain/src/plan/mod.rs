//! Plans: tasks with dependencies, which of them may run at once, and where they would meet in the same files.
//! Never says who works a task or when: it only knows what must come before what.

mod check;
mod error;
mod files;
mod graph;
mod markdown;
mod parse;
pub(crate) mod pattern;

use serde::{Deserialize, Serialize};

use crate::Check;

pub use error::PlanError;
pub use files::{Overlap, strayed};

/// Tasks with dependencies, as a planner hands them in or a person corrects them.
// Stored in events, so a reader is lenient: fields this version does not know are skipped. `Plan::parse`, which reads
// what people and models write, is strict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// What the plan does, in a few sentences.
    pub summary: String,
    /// In the order they are shown, started and merged when nothing else decides.
    pub tasks: Vec<Task>,
}

/// One node of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Lower-case letters, digits, `-` and `_`; unique in the plan.
    pub id: String,
    /// One line for people.
    pub title: String,
    /// What the agent is told.
    pub description: String,
    /// Ids of tasks that must be merged before this one starts.
    #[serde(default)]
    pub depends_on: Vec<String>,
    /// The task it stands below; a task with others below it is a heading and is not worked itself.
    #[serde(default)]
    pub parent: Option<String>,
    /// Paths, folders (`src/`) or globs it expects to touch; empty when it cannot say.
    #[serde(default)]
    pub files: Vec<String>,
    /// Commands that prove this task, besides the project's own.
    #[serde(default)]
    pub checks: Vec<Check>,
}

impl Plan {
    /// Tasks in one plan, headings included.
    pub const MAX_TASKS: usize = 100;
    /// Bytes of one task's description.
    pub const MAX_DESCRIPTION: usize = 64 * 1024;
    /// Bytes of the whole plan as JSON.
    pub const MAX_BYTES: usize = 512 * 1024;
    /// Characters of a task's title.
    pub const MAX_TITLE: usize = 200;
    /// Characters of a task's id.
    pub const MAX_ID: usize = 40;
    /// Expected files over all tasks: every pair of tasks is compared entry by entry.
    pub const MAX_FILES: usize = 1000;
    /// Bytes of one entry of `files`.
    pub const MAX_PATH: usize = 300;
    /// Checks of one task.
    pub const MAX_CHECKS: usize = 20;
}

#[cfg(test)]
mod testing {
    use super::{Plan, Task};

    /// A task with nothing but an id and what it depends on.
    pub(super) fn task(id: &str, depends_on: &[&str]) -> Task {
        Task {
            id: id.to_owned(),
            title: format!("Do {id}"),
            description: format!("All of {id}."),
            depends_on: depends_on.iter().map(|id| (*id).to_owned()).collect(),
            parent: None,
            files: Vec::new(),
            checks: Vec::new(),
        }
    }

    pub(super) fn below(parent: &str, task: Task) -> Task {
        Task { parent: Some(parent.to_owned()), ..task }
    }

    pub(super) fn touching(files: &[&str], task: Task) -> Task {
        Task { files: files.iter().map(|file| (*file).to_owned()).collect(), ..task }
    }

    pub(super) fn plan(tasks: impl IntoIterator<Item = Task>) -> Plan {
        Plan { summary: "A plan.".to_owned(), tasks: tasks.into_iter().collect() }
    }

    /// Numbers that look random and are the same on every machine, so a failure names the seed it came from.
    pub(super) struct Dice(pub u64);

    impl Dice {
        pub(super) fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % limit
        }
    }

    /// A plan without cycles: a task only depends on what was drawn before it. Runs of neighbours may stand below a
    /// heading, which depends on something before all of them; at the end all are shuffled, so that plan order says
    /// nothing.
    pub(super) fn random_plan(seed: u64) -> Plan {
        let mut dice = Dice(seed);
        let mut tasks: Vec<Task> = Vec::new();
        let mut drawn: Vec<String> = Vec::new();
        for block in 0..1 + dice.below(6) {
            let heading = format!("h{block}");
            let before = drawn.clone();
            let headed = dice.below(2) == 0;
            for number in 0..1 + dice.below(5) {
                let mut next = task(&format!("t{block}-{number}"), &[]);
                next.depends_on = drawn.iter().filter(|_| dice.below(4) == 0).cloned().collect();
                next.parent = headed.then(|| heading.clone());
                drawn.push(next.id.clone());
                tasks.push(next);
            }
            if headed {
                let mut next = task(&heading, &[]);
                next.depends_on = before.into_iter().filter(|_| dice.below(4) == 0).collect();
                tasks.push(next);
                drawn.push(heading);
            }
        }
        for at in (1..tasks.len()).rev() {
            tasks.swap(at, dice.below(at + 1));
        }
        plan(tasks)
    }
}
