//! The JSON form of the constraints. The four lists have the seed's names and
//! shapes; ids and origins stand beside them, never inside.

use serde::Serialize;
use serde_json::{Value, json};

use super::{Constraint, Constraints, Rule};

pub(super) fn to_json(constraints: &Constraints) -> Value {
    serde_json::to_value(constraints).expect("a tree of strings and numbers is always JSON")
}

impl Serialize for Constraints {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Parsed {
            required_routes: self.required_routes.iter().map(|r| r.name.as_str()).collect(),
            required_components: self.required_components.iter().map(|c| c.name.as_str()).collect(),
            data_entities: self.data_entities.iter().map(|e| e.name.as_str()).collect(),
            validation_rules: self.validation_rules.iter().map(|r| rule(&r.rule)).collect(),
            constraints: self.all().iter().map(Row::from).collect(),
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Parsed<'a> {
    required_routes: Vec<&'a str>,
    required_components: Vec<&'a str>,
    data_entities: Vec<&'a str>,
    validation_rules: Vec<Value>,
    constraints: Vec<Row<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    id: String,
    statement: String,
    diagram: usize,
    node: &'a str,
    label: &'a str,
}

impl<'a> From<&Constraint<'a>> for Row<'a> {
    fn from(constraint: &Constraint<'a>) -> Self {
        Self {
            id: constraint.id.to_string(),
            statement: constraint.kind.to_string(),
            diagram: constraint.origin.diagram,
            node: &constraint.origin.node,
            label: &constraint.origin.label,
        }
    }
}

fn rule(rule: &Rule) -> Value {
    match rule {
        Rule::RouteExists { route } => json!({ "type": "route_exists", "route": route }),
        Rule::ConditionalBranch { from, to } => {
            let to: Vec<_> = to.iter().map(|branch| &branch.to).collect();
            json!({ "type": "conditional_branch", "from": from, "to": to })
        }
        Rule::SequenceCall { from, to, message } => {
            json!({ "type": "sequence_call", "from": from, "to": to, "message": message })
        }
        Rule::ClassMembers { class, members } => {
            json!({ "type": "class_members", "class": class, "members": members })
        }
        Rule::ClassInherits { class, parent } => {
            json!({ "type": "class_inherits", "class": class, "parent": parent })
        }
        Rule::StateExists { state } => json!({ "type": "state_exists", "state": state }),
        Rule::StateTransition { from, to, on } => {
            json!({ "type": "state_transition", "from": from, "to": to, "on": on })
        }
        Rule::EntityRelation { from, to, from_count, to_count, label } => json!({
            "type": "entity_relation",
            "from": from,
            "to": to,
            "fromCount": from_count.to_string(),
            "toCount": to_count.to_string(),
            "label": label,
        }),
    }
}
