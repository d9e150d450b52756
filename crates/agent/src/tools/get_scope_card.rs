//! `get_scope_card`: what was approved as in scope and out of scope.

use serde::Deserialize;
use serde_json::json;

use super::{Definition, Desk, ToolError};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Input {}

pub(super) fn definition() -> Definition {
    Definition {
        name: "get_scope_card",
        description: "Get the approved scope card of this run: what is in scope, what is not, and the constraints. A \
                      change that does less than the first or touches the second is a finding.",
        schema: json!({"type": "object", "additionalProperties": false, "properties": {}}),
    }
}

pub(super) fn run(desk: &Desk, _input: Input) -> Result<String, ToolError> {
    let none =
        "this run has no scope card: its playbook has no scoping stage. Judge by the request and the spec or plan";
    desk.scope.clone().ok_or_else(|| ToolError::Refused(none.to_owned()))
}
