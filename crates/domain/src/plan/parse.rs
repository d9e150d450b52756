//! Plans from JSON, as a person or a model writes it. Says where something is wrong; never guesses what was meant.

use serde_json::Value;

use super::error::{listed, shown};
use super::{Plan, PlanError};

impl Plan {
    /// Reads and checks a plan. A surrounding Markdown code fence is taken off, because models write one.
    ///
    /// # Errors
    /// The first thing that makes it unusable, with its place.
    pub fn parse(json: &str) -> Result<Self, PlanError> {
        // Text may be indented and escaped, so it gets more room than the plan itself; what is far beyond any
        // acceptable plan is not even read.
        if json.len() > 4 * Self::MAX_BYTES {
            return Err(PlanError::TooLarge { bytes: json.len() });
        }
        let (body, lines_before) = unfenced(json);
        let syntax = |error: serde_json::Error| PlanError::Syntax {
            line: error.line() + lines_before,
            column: error.column(),
            problem: without_position(&error),
        };
        let value: Value = serde_json::from_str(body).map_err(syntax)?;
        fits(&value, &PLAN, "")?;
        // From the text again and not from the value, which has forgotten keys that were written twice.
        let plan: Self = serde_json::from_str(body).map_err(syntax)?;
        plan.check()?;
        Ok(plan)
    }
}

/// What a piece of the JSON must look like.
enum Shape {
    Text,
    OptionalText,
    List(&'static Shape),
    Object(&'static [Field]),
}

struct Field {
    name: &'static str,
    need: Need,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

const fn required(name: &'static str, shape: Shape) -> Field {
    Field { name, need: Need::Required, shape }
}

const fn optional(name: &'static str, shape: Shape) -> Field {
    Field { name, need: Need::Optional, shape }
}

const PLAN: Shape = Shape::Object(&[required("summary", Shape::Text), required("tasks", Shape::List(&TASK))]);

const TASK: Shape = Shape::Object(&[
    required("id", Shape::Text),
    required("title", Shape::Text),
    required("description", Shape::Text),
    optional("dependsOn", Shape::List(&Shape::Text)),
    optional("parent", Shape::OptionalText),
    optional("files", Shape::List(&Shape::Text)),
    optional("checks", Shape::List(&CHECK)),
]);

const CHECK: Shape = Shape::Object(&[required("name", Shape::Text), required("command", Shape::Text)]);

impl Shape {
    fn expected(&self) -> &'static str {
        match self {
            Self::Text => "a text in quotes",
            Self::OptionalText => "a text in quotes, or null",
            Self::List(_) => "a list `[…]`",
            Self::Object(_) => "an object `{…}`",
        }
    }
}

fn fits(value: &Value, shape: &Shape, path: &str) -> Result<(), PlanError> {
    match (shape, value) {
        (Shape::Text | Shape::OptionalText, Value::String(_)) | (Shape::OptionalText, Value::Null) => Ok(()),
        (Shape::List(inner), Value::Array(items)) => {
            items.iter().enumerate().try_for_each(|(index, item)| fits(item, inner, &format!("{path}[{index}]")))
        }
        (Shape::Object(fields), Value::Object(object)) => {
            if let Some(unknown) = object.keys().find(|key| fields.iter().all(|field| field.name != key.as_str())) {
                let known = listed(fields.iter().map(|field| field.name));
                return Err(PlanError::UnknownField { path: under(path, &shown(unknown)), known });
            }
            fields.iter().try_for_each(|field| match (object.get(field.name), field.need) {
                (Some(inner), Need::Required | Need::Optional) => fits(inner, &field.shape, &under(path, field.name)),
                (None, Need::Optional) => Ok(()),
                (None, Need::Required) => {
                    Err(PlanError::MissingField { path: under(path, field.name), expected: field.shape.expected() })
                }
            })
        }
        (Shape::Text | Shape::OptionalText | Shape::List(_) | Shape::Object(_), other) => Err(PlanError::WrongType {
            path: if path.is_empty() { "the plan".to_owned() } else { path.to_owned() },
            found: name_of(other),
            expected: shape.expected(),
        }),
    }
}

fn under(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The JSON inside a code fence, and how many lines stand before it.
fn unfenced(text: &str) -> (&str, usize) {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    let fence = trimmed.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")).and_then(|rest| {
        let (_language, body) = rest.split_once('\n')?;
        Some(body)
    });
    let body = fence.unwrap_or(trimmed);
    let before = body.as_ptr().addr() - text.as_ptr().addr();
    (body, text.bytes().take(before).filter(|byte| *byte == b'\n').count())
}

/// serde_json ends its message with a position, which is wrong once a fence was taken off.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let end = message.rfind(" at line ").unwrap_or(message.len());
    shown(&message[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"summary": "s", "tasks": [
        {"id": "a", "title": "A", "description": "do a"},
        {"id": "b", "title": "B", "description": "do b", "dependsOn": ["a"], "parent": null,
         "files": ["src/"], "checks": [{"name": "unit", "command": "make test"}]}]}"#;

    #[track_caller]
    fn refused(json: &str, message: &str) {
        assert_eq!(Plan::parse(json).unwrap_err().to_string(), message);
    }

    #[test]
    fn a_plan_reads_back_as_it_was_stored() {
        let plan = Plan::parse(GOOD).unwrap();
        let stored = serde_json::to_string(&plan).unwrap();
        assert_eq!(Plan::parse(&stored).unwrap(), plan);
        assert_eq!(plan.tasks[1].depends_on, ["a"]);
        assert_eq!(plan.tasks[1].checks[0].command, "make test");
    }

    #[test]
    fn a_code_fence_around_the_plan_is_taken_off() {
        assert_eq!(Plan::parse(&format!("\n```json\n{GOOD}\n```\n")).unwrap(), Plan::parse(GOOD).unwrap());
    }

    #[test]
    fn broken_json_is_refused_with_the_line_of_the_text_as_given() {
        let error = Plan::parse("```json\n{\"summary\": \"s\",\n \"tasks\": [}\n```").unwrap_err();
        let PlanError::Syntax { line, column, .. } = &error else { panic!("{error}") };
        assert_eq!((*line, *column), (3, 12));
        assert_eq!(
            error.to_string(),
            "line 3, column 12 is not JSON: expected value; send one JSON object and nothing else"
        );
    }

    #[test]
    fn an_unknown_field_is_named_with_its_path_and_the_known_ones() {
        refused(
            r#"{"summary": "s", "tasks": [{"id": "a", "title": "A", "description": "", "depends_on": []}]}"#,
            "`tasks[0].depends_on` is not a field of a plan; here there are `id`, `title`, `description`, `dependsOn`, \
             `parent`, `files`, `checks`",
        );
    }

    #[test]
    fn a_missing_field_is_named_with_its_path() {
        refused(
            r#"{"summary": "s", "tasks": [{"id": "a", "description": ""}]}"#,
            "`tasks[0].title` is missing; add it as a text in quotes",
        );
        refused("{}", "`summary` is missing; add it as a text in quotes");
    }

    #[test]
    fn a_wrong_type_is_named_with_its_path() {
        refused("[]", "`the plan` is a list; write an object `{…}`");
        refused(r#"{"summary": 1, "tasks": []}"#, "`summary` is a number; write a text in quotes");
        refused(
            r#"{"summary": "s", "tasks": [{"id": "a", "title": "A", "description": "", "dependsOn": ["x", 7]}]}"#,
            "`tasks[0].dependsOn[1]` is a number; write a text in quotes",
        );
        refused(
            r#"{"summary": "s", "tasks": [{"id": "a", "title": "A", "description": "", "checks": ["make"]}]}"#,
            "`tasks[0].checks[0]` is a text; write an object `{…}`",
        );
    }

    #[test]
    fn a_key_written_twice_is_refused_rather_than_half_lost() {
        let error = Plan::parse(r#"{"summary": "s", "tasks": [], "tasks": []}"#).unwrap_err();
        assert!(error.to_string().contains("duplicate field `tasks`"), "{error}");
    }

    #[test]
    fn text_around_the_plan_is_refused() {
        assert!(matches!(Plan::parse(&format!("Here it is: {GOOD}")), Err(PlanError::Syntax { .. })));
        assert!(matches!(Plan::parse(&format!("{GOOD} Done.")), Err(PlanError::Syntax { .. })));
        assert!(matches!(Plan::parse(""), Err(PlanError::Syntax { .. })));
        assert!(matches!(Plan::parse("```"), Err(PlanError::Syntax { .. })));
    }

    #[test]
    fn deep_nesting_is_refused_and_does_not_overflow_the_stack() {
        assert!(matches!(Plan::parse(&"[".repeat(1_000_000)), Err(PlanError::Syntax { .. })));
    }

    #[test]
    fn a_description_of_a_mebibyte_is_refused_by_the_name_of_its_task() {
        let long = "x".repeat(1 << 20);
        let json = format!(r#"{{"summary": "s", "tasks": [{{"id": "a", "title": "A", "description": "{long}"}}]}}"#);
        assert!(matches!(Plan::parse(&json), Err(PlanError::LongDescription { task, .. }) if task == "a"));
        assert!(matches!(Plan::parse(&"x".repeat(64 << 20)), Err(PlanError::TooLarge { .. })));
    }

    #[test]
    fn what_a_later_version_added_does_not_stop_a_stored_plan_from_being_read() {
        let stored = r#"{"summary": "s", "tasks": [{"id": "a", "title": "A", "description": "", "effort": 3}]}"#;
        assert_eq!(serde_json::from_str::<Plan>(stored).unwrap().tasks[0].id, "a");
    }
}
