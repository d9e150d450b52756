//! What an implementation must satisfy, derived from the diagrams of a plan.
//! Every constraint has an id and the diagram node it came from.
//!
//! Flowchart: a step is a route, a decision a component (see `naming`) with a
//! branch rule, a cylinder a data entity, any other form a component; "Start"
//! and "End" say nothing. A route that a branch leads to is stated by that
//! branch; every other route has a `route_exists` rule of its own.
//! Sequence: participants are components (people are not), solid messages calls.
//! Class: components with members and parents. State: states and transitions.
//! ER: data entities with attributes, and relations.

mod collect;
mod report;
mod rule;

use std::fmt;

pub use rule::{Branch, Rule};

use crate::diagram::{Diagram, Member};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Constraints {
    pub required_routes: Vec<Requirement>,
    pub required_components: Vec<Requirement>,
    pub data_entities: Vec<DataEntity>,
    pub validation_rules: Vec<ValidationRule>,
}

impl Constraints {
    pub fn from_diagrams<'a>(diagrams: impl IntoIterator<Item = &'a Diagram>) -> Self {
        let mut constraints = Self::default();
        for (index, diagram) in diagrams.into_iter().enumerate() {
            collect::collect(&mut constraints, diagram, index + 1);
        }
        constraints.number();
        constraints
    }

    /// Every constraint once, in the order of their ids.
    pub fn all(&self) -> Vec<Constraint<'_>> {
        let routes = self.required_routes.iter().map(|r| (r.id, ConstraintKind::Route(&r.name), &r.origin));
        let components = self.required_components.iter().map(|c| (c.id, ConstraintKind::Component(&c.name), &c.origin));
        let entities = self.data_entities.iter().map(|e| (e.id, ConstraintKind::Entity(e), &e.origin));
        let rules = self
            .validation_rules
            .iter()
            .filter(|rule| !rule.rule.restates_a_route())
            .map(|r| (r.id, ConstraintKind::Rule(&r.rule), &r.origin));
        routes
            .chain(components)
            .chain(entities)
            .chain(rules)
            .map(|(id, kind, origin)| Constraint { id, kind, origin })
            .collect()
    }

    /// The seed's `ParsedConstraints`, and beside its four lists `constraints`: each
    /// with id, statement and origin.
    pub fn to_json(&self) -> serde_json::Value {
        report::to_json(self)
    }

    /// A `route_exists` rule says what its route already says, so it has the same id.
    fn number(&mut self) {
        let mut next = (1..).map(ConstraintId);
        let mut take = || next.next().expect("an endless range has a next number");
        self.required_routes.iter_mut().for_each(|route| route.id = take());
        self.required_components.iter_mut().for_each(|component| component.id = take());
        self.data_entities.iter_mut().for_each(|entity| entity.id = take());
        for rule in &mut self.validation_rules {
            let route = match &rule.rule {
                Rule::RouteExists { route } => self.required_routes.iter().find(|r| r.name == *route),
                Rule::ConditionalBranch { .. }
                | Rule::SequenceCall { .. }
                | Rule::ClassMembers { .. }
                | Rule::ClassInherits { .. }
                | Rule::StateExists { .. }
                | Rule::StateTransition { .. }
                | Rule::EntityRelation { .. } => None,
            };
            rule.id = route.map_or_else(&mut take, |route| route.id);
        }
    }
}

/// Shown as `C1`, `C2`, …
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstraintId(pub u32);

impl fmt::Display for ConstraintId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "C{}", self.0)
    }
}

/// Where a constraint came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Number of the diagram in the plan, counted from 1.
    pub diagram: usize,
    /// Id of the node in that diagram.
    pub node: String,
    /// What the reader sees on that node.
    pub label: String,
}

/// A route or a component that must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    pub id: ConstraintId,
    pub name: String,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataEntity {
    pub id: ConstraintId,
    pub name: String,
    pub attributes: Vec<Member>,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationRule {
    pub id: ConstraintId,
    pub rule: Rule,
    pub origin: Origin,
}

/// One row of a validation report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constraint<'a> {
    pub id: ConstraintId,
    pub kind: ConstraintKind<'a>,
    pub origin: &'a Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstraintKind<'a> {
    Route(&'a str),
    Component(&'a str),
    Entity(&'a DataEntity),
    Rule(&'a Rule),
}

impl fmt::Display for ConstraintKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route(name) => write!(f, "route `{name}` exists"),
            Self::Component(name) => write!(f, "component `{name}` exists"),
            Self::Entity(entity) if entity.attributes.is_empty() => {
                write!(f, "data entity `{}` exists", entity.name)
            }
            Self::Entity(entity) => {
                let names: Vec<_> = entity.attributes.iter().map(|a| a.name.as_str()).collect();
                write!(f, "data entity `{}` exists with {}", entity.name, names.join(", "))
            }
            Self::Rule(rule) => rule.fmt(f),
        }
    }
}
