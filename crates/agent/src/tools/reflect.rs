//! `reflect`: ends an iteration towards a goal, with an honest look at where it stands.

use domain::{DecisionNote, Reflection};
use drivers::{HandIn, ReflectionHandIn};
use serde::Deserialize;
use serde_json::json;

use super::submit_plan::decisions_schema;
use super::{Definition, ToolError, entries, list_schema, required};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    goal_achieved: bool,
    progress: f64,
    content: String,
    #[serde(default)]
    next_action: String,
    #[serde(default)]
    requires_user_intervention: bool,
    #[serde(default)]
    issues: Vec<String>,
    #[serde(default)]
    decisions: Vec<DecisionNote>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "reflect",
        description: "End this iteration. What stands in the workspace is kept either way: if the goal is met it is \
                      handed in, otherwise the next iteration starts from it and from your words. Call it alone.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["goal_achieved", "progress", "content", "next_action"],
            "properties": {
                "goal_achieved": {"type": "boolean", "description": "Only true when you have seen that the goal is met."},
                "progress": {"type": "number", "minimum": 0, "maximum": 1, "description": "How much of the goal is reached, 0 to 1."},
                "content": {"type": "string", "description": "What you did, what you saw, what you learnt."},
                "next_action": {"type": "string", "description": "What the next iteration should do first; empty if the goal is met."},
                "requires_user_intervention": {"type": "boolean", "description": "True when only a person can remove what is in the way."},
                "issues": list_schema("What is in the way, if anything."),
                "decisions": decisions_schema()
            }
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let refuse = |words: &str| Err(ToolError::Refused(words.to_owned()));
    let next_action = input.next_action.trim().to_owned();
    if input.goal_achieved && input.requires_user_intervention {
        return refuse(
            "a goal that is met needs nobody's help: set only one of `goal_achieved` and `requires_user_intervention`",
        );
    }
    if !input.goal_achieved && !input.requires_user_intervention && next_action.is_empty() {
        return refuse("`next_action` of `reflect` is empty: say what the next iteration should do first");
    }
    Ok(HandIn::Reflection(ReflectionHandIn {
        reflection: Reflection {
            goal_achieved: input.goal_achieved,
            progress: percent(input.progress)?,
            content: required("reflect", "content", &input.content)?,
            next_action,
            requires_user_intervention: input.requires_user_intervention,
            issues: entries("reflect", "issues", input.issues)?,
        },
        decisions: input.decisions,
    }))
}

/// Asked for as a part of one; models also write percent, and more than one can only be that.
fn percent(progress: f64) -> Result<u8, ToolError> {
    let percent = if progress <= 1.0 { progress * 100.0 } else { progress };
    if !(0.0..=100.0).contains(&percent) {
        return Err(ToolError::Refused(format!("`progress` of `reflect` is {progress}; give a number from 0 to 1")));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100, as just seen")]
    let whole = percent.round() as u8;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::super::BlockTool;
    use super::*;

    fn read(input: &Value) -> Result<Reflection, String> {
        match BlockTool::Reflect.hand_in(input) {
            Ok(HandIn::Reflection(read)) => Ok(read.reflection),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn progress_is_a_part_of_one_or_a_percentage() {
        for (given, percent) in [(json!(0), 0), (json!(0.4), 40), (json!(1), 100), (json!(55), 55), (json!(99.6), 100)]
        {
            let input = json!({"goal_achieved": false, "progress": given, "content": "c", "next_action": "n"});
            assert_eq!(read(&input).unwrap().progress, percent, "{given}");
        }
        for wrong in [json!(-0.1), json!(101), json!("half")] {
            let input = json!({"goal_achieved": false, "progress": wrong, "content": "c", "next_action": "n"});
            assert!(read(&input).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_reflection_says_what_comes_next_or_why_nothing_can() {
        let met = json!({"goal_achieved": true, "progress": 1, "content": "all green"});
        assert!(read(&met).unwrap().goal_achieved);
        let stuck = json!({"goal_achieved": false, "progress": 0.2, "content": "c", "requires_user_intervention": true,
            "issues": ["no database here"]});
        assert!(read(&stuck).unwrap().requires_user_intervention);
        let idle = json!({"goal_achieved": false, "progress": 0.2, "content": "c"});
        assert!(read(&idle).unwrap_err().contains("what the next iteration should do first"));
        let both = json!({"goal_achieved": true, "progress": 1, "content": "c", "requires_user_intervention": true});
        assert!(read(&both).unwrap_err().contains("only one of"));
    }
}
