//! `submit_scope`: hands in what is in scope and what is not.

use domain::DecisionNote;
use drivers::{HandIn, ScopeHandIn};
use serde::Deserialize;
use serde_json::json;

use super::submit_plan::decisions_schema;
use super::{Definition, ToolError, entries, list_schema};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {
    #[serde(default)]
    summary: String,
    in_scope: Vec<String>,
    #[serde(default)]
    out_of_scope: Vec<String>,
    #[serde(default)]
    constraints: Vec<String>,
    #[serde(default)]
    decisions: Vec<DecisionNote>,
}

pub(super) fn definition() -> Definition {
    Definition {
        name: "submit_scope",
        description: "Hand in the scope and end your work. Every entry is one thing that a reader can say yes or no to; \
                      a person approves it before anything else happens. Call it alone.",
        schema: json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["in_scope", "out_of_scope", "constraints"],
            "properties": {
                "summary": {"type": "string", "description": "The request as you understand it, in a few sentences."},
                "in_scope": list_schema("What will be done; at least one entry."),
                "out_of_scope": list_schema("What will not be done, though somebody might expect it."),
                "constraints": list_schema("What must hold whatever is done."),
                "decisions": decisions_schema()
            }
        }),
    }
}

pub(super) fn hand_in(input: Input) -> Result<HandIn, ToolError> {
    let list = |field, list| entries("submit_scope", field, list);
    let in_scope = list("in_scope", input.in_scope)?;
    if in_scope.is_empty() {
        return Err(ToolError::Refused("`in_scope` of `submit_scope` is empty: say what will be done".to_owned()));
    }
    Ok(HandIn::Scope(ScopeHandIn {
        summary: input.summary.trim().to_owned(),
        in_scope,
        out_of_scope: list("out_of_scope", input.out_of_scope)?,
        constraints: list("constraints", input.constraints)?,
        decisions: input.decisions,
    }))
}

#[cfg(test)]
mod tests {
    use super::super::BlockTool;
    use super::*;

    #[test]
    fn a_scope_has_something_in_it_and_no_empty_entry() {
        let read = |input| BlockTool::SubmitScope.hand_in(&input);
        let Ok(HandIn::Scope(scope)) = read(json!({"in_scope": [" a page "], "constraints": ["no new packages"]}))
        else {
            panic!()
        };
        assert_eq!((scope.in_scope, scope.out_of_scope.len()), (vec!["a page".to_owned()], 0));
        for (input, words) in [
            (json!({"in_scope": []}), "say what will be done"),
            (json!({"in_scope": ["a", " "]}), "`in_scope` of `submit_scope` has an empty entry"),
            (json!({"out_of_scope": []}), "missing field `in_scope`"),
            (json!({"in_scope": vec!["x"; 201]}), "at most 200"),
        ] {
            let refused = read(input).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
