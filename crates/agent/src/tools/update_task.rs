//! `update_task`: how one task on the way to a goal stands.

use domain::{GoalTask, GoalTaskStatus, update_goal_task};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Definition, ToolError, parse};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    id: String,
    status: GoalTaskStatus,
    #[serde(default)]
    result: Option<String>,
    #[serde(default)]
    error: Option<String>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "update_task",
        description: "Say how a task of your plan stands: running when you begin it, completed when you have seen that it \
                      is done, failed with an `error` when it cannot be done as planned.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["id", "status"],
            "properties": {
                "id": {"type": "string", "description": "The task."},
                "status": {"type": "string", "enum": ["pending", "running", "completed", "failed"]},
                "result": {"type": "string", "description": "What came of it, in a sentence."},
                "error": {"type": "string", "description": "Why it failed; needed for failed."}
            }
        }),
    }
}

/// The task as a call wants it to stand.
pub(crate) fn task(tasks: &[GoalTask], input: &Value) -> Result<GoalTask, ToolError> {
    let Input { id, status, result, error } = parse("update_task", input)?;
    if tasks.is_empty() {
        return Err(ToolError::Refused("there is no plan yet: call plan_tasks first".to_owned()));
    }
    if status == GoalTaskStatus::Failed && error.is_none() {
        return Err(ToolError::Refused(format!("say in `error` why task `{id}` failed")));
    }
    update_goal_task(tasks, &id, status, result, error).map_err(|error| ToolError::Refused(error.to_string()))
}

pub(crate) fn run(tasks: &[GoalTask], input: &Value) -> Result<String, ToolError> {
    let task = task(tasks, input)?;
    let others = tasks.iter().filter(|other| other.id != task.id);
    let done = others.filter(|other| other.status == GoalTaskStatus::Completed).count();
    let done = done + usize::from(task.status == GoalTaskStatus::Completed);
    Ok(format!("task {} is {}; {done} of {} tasks are completed", task.id, task.status.word(), tasks.len()))
}
