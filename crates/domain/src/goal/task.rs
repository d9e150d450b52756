//! The tree of tasks of a goal: what makes it usable, and how one task of it changes. Says no in words that an agent or
//! a person can act on.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// One task on the way to a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GoalTask {
    /// Letters, digits, `.`, `-` and `_`; unique.
    pub id: String,
    /// What is to be done.
    pub description: String,
    /// The task it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Tasks that come before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// How it stands.
    #[serde(default)]
    pub status: GoalTaskStatus,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoalTaskStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on.
    Running,
    /// Done.
    Completed,
    /// It did not work.
    Failed,
}

impl GoalTaskStatus {
    /// The word used in views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

/// Tasks of one goal.
const MOST_TASKS: usize = 60;
/// Bytes of an id.
const LONGEST_ID: usize = 40;
/// Bytes of any other text.
const LONGEST: usize = 2000;

/// Why tasks cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GoalPlanError {
    /// It is no list of tasks.
    #[error("it is no list of tasks: {0}; give `{{\"tasks\": [{{\"id\": \"1\", \"description\": \"…\"}}]}}`")]
    Unreadable(String),
    /// Nothing is to be done.
    #[error("there is no task; name at least one")]
    Empty,
    /// Too many.
    #[error("there are {0} tasks, and at most {MOST_TASKS} are taken; put small ones together")]
    TooMany(usize),
    /// A bad id.
    #[error("`{0}` cannot be the id of a task; use 1 to {LONGEST_ID} letters, digits, `.`, `-` or `_`")]
    BadId(String),
    /// An id that is there twice.
    #[error("two tasks have the id `{0}`; give each its own")]
    Twice(String),
    /// A text that is missing or too long.
    #[error("the {field} of task `{id}` has {bytes} bytes; give 1 to {LONGEST}")]
    BadText {
        /// Whose.
        id: String,
        /// Which.
        field: &'static str,
        /// How long it is.
        bytes: usize,
    },
    /// A task names one that is not there.
    #[error("task `{id}` names `{other}` as its {relation}, and there is no such task")]
    Unknown {
        /// Who names it.
        id: String,
        /// `parent` or `dependency`.
        relation: &'static str,
        /// What is named.
        other: String,
    },
    /// Tasks that wait for each other.
    #[error("these tasks wait for each other: {0}; take one of the dependencies or parents away")]
    Circle(String),
    /// There is no task of that id.
    #[error("there is no task `{id}`; the tasks are: {known}")]
    NoSuchTask {
        /// What was asked for.
        id: String,
        /// What there is.
        known: String,
    },
    /// It comes too early.
    #[error("task `{id}` cannot be {status} before these are completed: {open}")]
    TooEarly {
        /// Which.
        id: String,
        /// As what.
        status: &'static str,
        /// What is open.
        open: String,
    },
}

/// Reads tasks as people write them: a list, or an object with `tasks`.
pub fn parse_goal_tasks(text: &str) -> Result<Vec<GoalTask>, GoalPlanError> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Plain(Vec<GoalTask>),
        Named { tasks: Vec<GoalTask> },
    }
    let unreadable = |error: serde_json::Error| GoalPlanError::Unreadable(error.to_string());
    let (Written::Plain(tasks) | Written::Named { tasks }) = serde_json::from_str(text).map_err(unreadable)?;
    check_goal_tasks(&tasks)?;
    Ok(tasks)
}

/// Whether tasks can be used.
pub fn check_goal_tasks(tasks: &[GoalTask]) -> Result<(), GoalPlanError> {
    if tasks.is_empty() {
        return Err(GoalPlanError::Empty);
    }
    if tasks.len() > MOST_TASKS {
        return Err(GoalPlanError::TooMany(tasks.len()));
    }
    let mut ids = BTreeSet::new();
    for task in tasks {
        check_words(task)?;
        if !ids.insert(task.id.as_str()) {
            return Err(GoalPlanError::Twice(task.id.clone()));
        }
    }
    for task in tasks {
        let parents = task.parent.iter().map(|other| ("parent", other));
        for (relation, other) in parents.chain(task.dependencies.iter().map(|other| ("dependency", other))) {
            if !ids.contains(other.as_str()) {
                return Err(GoalPlanError::Unknown { id: task.id.clone(), relation, other: other.clone() });
            }
        }
    }
    check_order(tasks)
}

fn check_words(task: &GoalTask) -> Result<(), GoalPlanError> {
    let sound = |id: &str| {
        let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(known)
    };
    if !sound(&task.id) {
        return Err(GoalPlanError::BadId(task.id.chars().take(LONGEST_ID).collect()));
    }
    let texts =
        [("description", Some(&task.description)), ("result", task.result.as_ref()), ("error", task.error.as_ref())];
    for (field, text) in texts {
        let bytes = text.map_or(1, |text| text.trim().len());
        if !(1..=LONGEST).contains(&bytes) {
            return Err(GoalPlanError::BadText { id: task.id.clone(), field, bytes });
        }
    }
    Ok(())
}

/// Takes away what waits for nothing that is left, until nothing is left: a task waits for what it depends on, and a
/// whole for its parts.
fn check_order(tasks: &[GoalTask]) -> Result<(), GoalPlanError> {
    let mut left: Vec<&GoalTask> = tasks.iter().collect();
    while !left.is_empty() {
        let waits = |task: &GoalTask| {
            left.iter()
                .any(|other| task.dependencies.contains(&other.id) || other.parent.as_deref() == Some(task.id.as_str()))
        };
        let still: Vec<&GoalTask> = left.iter().copied().filter(|task| waits(task)).collect();
        if still.len() == left.len() {
            let names: Vec<&str> = left.iter().map(|task| task.id.as_str()).collect();
            return Err(GoalPlanError::Circle(names.join(", ")));
        }
        left = still;
    }
    Ok(())
}

/// The task as it would stand; refused while something that comes before it is open.
pub fn update_goal_task(
    tasks: &[GoalTask],
    id: &str,
    status: GoalTaskStatus,
    result: Option<String>,
    error: Option<String>,
) -> Result<GoalTask, GoalPlanError> {
    let names = || tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>().join(", ");
    let known = tasks.iter().find(|task| task.id == id);
    let known = known.ok_or_else(|| GoalPlanError::NoSuchTask { id: id.to_owned(), known: names() })?;
    let part = |other: &GoalTask| other.parent.as_deref() == Some(id) && status == GoalTaskStatus::Completed;
    let before = |other: &&GoalTask| known.dependencies.contains(&other.id) || part(other);
    let open = tasks.iter().filter(before).filter(|other| other.status != GoalTaskStatus::Completed);
    let open: Vec<&str> = open.map(|other| other.id.as_str()).collect();
    let begins = matches!(status, GoalTaskStatus::Running | GoalTaskStatus::Completed);
    if begins && !open.is_empty() {
        let open = open.join(", ");
        return Err(GoalPlanError::TooEarly { id: id.to_owned(), status: status.word(), open });
    }
    let task = GoalTask { status, result: result.or_else(|| known.result.clone()), error, ..known.clone() };
    check_words(&task)?;
    Ok(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, parent: Option<&str>, dependencies: &[&str]) -> GoalTask {
        GoalTask {
            id: id.to_owned(),
            description: format!("do {id}"),
            parent: parent.map(str::to_owned),
            dependencies: dependencies.iter().map(|id| (*id).to_owned()).collect(),
            status: GoalTaskStatus::Pending,
            result: None,
            error: None,
        }
    }

    #[track_caller]
    fn refused(tasks: &[GoalTask], words: &str) {
        let error = check_goal_tasks(tasks).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn a_tree_is_taken_and_what_cannot_be_worked_is_refused_with_its_reason() {
        let tree = [task("1", None, &[]), task("1.1", Some("1"), &[]), task("1.2", Some("1"), &["1.1"])];
        assert_eq!(check_goal_tasks(&tree), Ok(()));
        refused(&[], "no task");
        refused(&[task("a", None, &[]), task("a", None, &[])], "the id `a`");
        refused(&[task("a", Some("b"), &[])], "`b` as its parent");
        refused(&[task("a", None, &["b"])], "`b` as its dependency");
        refused(&[task("a", None, &["a"])], "wait for each other: a");
        refused(&[task("a", Some("b"), &[]), task("b", Some("a"), &[])], "wait for each other: a, b");
        refused(&[task("a", None, &["b"]), task("b", Some("a"), &["a"])], "wait for each other");
        refused(&[task("a b", None, &[])], "cannot be the id");
        refused(&[GoalTask { description: " ".to_owned(), ..task("a", None, &[]) }], "description of task `a`");
        refused(&vec![task("a", None, &[]); 61], "61 tasks");
    }

    #[test]
    fn a_task_is_not_done_before_what_it_waits_for() {
        let mut tree = vec![task("1", None, &[]), task("1.1", Some("1"), &[]), task("2", None, &["1"])];
        let update = |tree: &[GoalTask], id: &str, status| update_goal_task(tree, id, status, None, None);
        let early = |tree: &[GoalTask], id: &str| update(tree, id, GoalTaskStatus::Completed).unwrap_err().to_string();
        assert!(early(&tree, "1").contains("completed before these are completed: 1.1"));
        assert!(update(&tree, "1", GoalTaskStatus::Running).is_ok(), "a whole is at work while its parts are");
        assert!(early(&tree, "2").contains(": 1"));
        assert!(early(&tree, "3").contains("the tasks are: 1, 1.1, 2"));
        tree[1] = update(&tree, "1.1", GoalTaskStatus::Completed).unwrap();
        assert_eq!(update(&tree, "1", GoalTaskStatus::Completed).unwrap().status, GoalTaskStatus::Completed);
        let failed = update_goal_task(&tree, "2", GoalTaskStatus::Failed, None, Some("no way".to_owned())).unwrap();
        assert_eq!(failed.error.as_deref(), Some("no way"));
    }

    #[test]
    fn people_write_a_list_or_an_object() {
        let one = r#"[{"id": "a", "description": "first"}]"#;
        assert_eq!(parse_goal_tasks(one).unwrap(), parse_goal_tasks(&format!("{{\"tasks\": {one}}}")).unwrap());
        assert!(parse_goal_tasks("think again").unwrap_err().to_string().contains("no list of tasks"));
    }
}
