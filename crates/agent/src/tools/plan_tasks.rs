//! `plan_tasks`: the tasks on the way to a goal, as a tree.

use domain::{GoalTask, check_goal_tasks};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Definition, ToolError, parse};
use crate::pursuit;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    tasks: Vec<GoalTask>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "plan_tasks",
        description: "Lay out the tasks that lead to the goal, as a tree: parts name their whole as `parent`, and what \
                      must come first as `dependencies`. Give the whole tree each time: tasks you leave out are dropped. \
                      Amend it whenever what you see asks for another plan.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["tasks"],
            "properties": {"tasks": {"type": "array", "minItems": 1, "items": {
                "type": "object",
                "additionalProperties": false,
                "required": ["id", "description"],
                "properties": {
                    "id": {"type": "string", "description": "Short and unique, e.g. 1 or 2.1."},
                    "description": {"type": "string", "description": "What is to be done, and how one sees that it is."},
                    "parent": {"type": "string", "description": "Id of the task it is a part of."},
                    "dependencies": {"type": "array", "items": {"type": "string"}, "description": "Ids of tasks that come first."},
                    "status": {"type": "string", "enum": ["pending", "running", "completed", "failed"]},
                    "result": {"type": "string", "description": "What came of it, if it is done."},
                    "error": {"type": "string", "description": "Why it failed, if it did."}
                }
            }}}
        }),
    }
}

/// The tasks of a call, if they can be used.
pub(crate) fn tasks(input: &Value) -> Result<Vec<GoalTask>, ToolError> {
    let Input { tasks } = parse("plan_tasks", input)?;
    check_goal_tasks(&tasks).map_err(|error| ToolError::Refused(error.to_string()))?;
    Ok(tasks)
}

pub(crate) fn run(input: &Value) -> Result<String, ToolError> {
    let tasks = tasks(input)?;
    Ok(format!("the plan stands:\n{}", pursuit::tree(&tasks).join("\n")))
}
