//! `submit_plan` of jobs that want tasks: hands in tasks with dependencies. Checked here as Holdpoint will check it.

use domain::{DecisionNote, Plan};
use drivers::{HandIn, TasksHandIn};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::submit_plan::decisions_schema;
use super::{Definition, ToolError};

#[derive(Debug, Deserialize)]
pub(super) struct Input {
    #[serde(default)]
    decisions: Vec<DecisionNote>,
    /// Summary and tasks, read by the plan's own rules.
    #[serde(flatten)]
    plan: Map<String, Value>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "submit_plan",
        description: "Hand in the plan and end your work. Every task is worked by an agent that sees nothing but its \
                      description and the repository, in a branch of its own; tasks that do not depend on each other \
                      run at the same time and are merged afterwards. Call it alone, once the plan is complete.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["summary", "tasks"],
            "properties": {
                "summary": {"type": "string", "description": "What the plan does, in a few sentences."},
                "tasks": {
                    "type": "array", "minItems": 1, "maxItems": Plan::MAX_TASKS,
                    "items": {
                        "type": "object",
                        "additionalProperties": false,
                        "required": ["id", "title", "description"],
                        "properties": {
                            "id": {"type": "string", "description": "Lower-case letters, digits, `-` and `_`; unique."},
                            "title": {"type": "string", "description": "One line."},
                            "description": {"type": "string", "description": "All the agent needs to know, with how it is seen that the task is done."},
                            "dependsOn": {"type": "array", "items": {"type": "string"}, "description": "Ids of tasks that must be merged first."},
                            "parent": {"type": "string", "description": "Id of the heading it stands below; a task with others below it is not worked itself."},
                            "files": {"type": "array", "items": {"type": "string"}, "description": "Paths, folders (`src/`) or globs it will touch."},
                            "checks": {
                                "type": "array",
                                "description": "Commands that prove this task, besides the project's own.",
                                "items": {
                                    "type": "object",
                                    "additionalProperties": false,
                                    "required": ["name", "command"],
                                    "properties": {"name": {"type": "string"}, "command": {"type": "string"}}
                                }
                            }
                        }
                    }
                },
                "decisions": decisions_schema()
            }
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let plan = Plan::parse(&Value::Object(input.plan).to_string());
    let plan = plan.map_err(|error| ToolError::Refused(format!("the plan cannot be used: {error}")))?;
    Ok(HandIn::Tasks(TasksHandIn { plan, decisions: input.decisions }))
}

#[cfg(test)]
mod tests {
    use super::super::BlockTool;
    use super::*;

    #[track_caller]
    fn refused(input: Value, words: &str) {
        let error = BlockTool::SubmitTasks.hand_in(&input).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }

    #[test]
    fn tasks_are_read_and_what_cannot_be_worked_is_named() {
        let task = |id: &str, on: &[&str]| json!({"id": id, "title": "T", "description": "d", "dependsOn": on});
        let good = json!({
            "summary": "s", "tasks": [task("a", &[]), task("b", &["a"])],
            "decisions": [{"topic": "t", "choice": "c"}],
        });
        let Ok(HandIn::Tasks(read)) = BlockTool::SubmitTasks.hand_in(&good) else { panic!() };
        assert_eq!((read.plan.tasks.len(), read.decisions.len()), (2, 1));
        refused(json!({"summary": "s", "tasks": []}), "cannot be used");
        refused(json!({"summary": "s", "tasks": [task("a", &["b"]), task("b", &["a"])]}), "cannot be used");
        refused(json!({"summary": "s", "tasks": [task("a", &["z"])]}), "`z`");
        refused(json!({"summary": "s", "tasks": [{"id": "a", "titel": "T", "description": ""}]}), "titel");
        refused(json!({"title": "T", "body": "# T"}), "title");
        refused(json!("{\"summ"), "cut off");
    }
}
