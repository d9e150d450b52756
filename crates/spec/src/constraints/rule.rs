//! The rules that follow from how a diagram's nodes are joined.

use std::fmt;

use crate::diagram::Cardinality;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    RouteExists { route: String },
    ConditionalBranch { from: String, to: Vec<Branch> },
    SequenceCall { from: String, to: String, message: Option<String> },
    ClassMembers { class: String, members: Vec<String> },
    ClassInherits { class: String, parent: String },
    StateExists { state: String },
    StateTransition { from: String, to: String, on: Option<String> },
    EntityRelation { from: String, to: String, from_count: Cardinality, to_count: Cardinality, label: Option<String> },
}

/// One way out of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The words on the arrow, such as `Yes`.
    pub when: Option<String>,
    pub to: String,
}

impl Rule {
    pub(crate) fn restates_a_route(&self) -> bool {
        matches!(self, Self::RouteExists { .. })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RouteExists { route } => write!(f, "route `{route}` exists"),
            Self::ConditionalBranch { from, to } => {
                let ways: Vec<_> = to.iter().map(Branch::to_string).collect();
                write!(f, "`{from}` leads to {}", ways.join(" or "))
            }
            Self::SequenceCall { from, to, message: Some(message) } => {
                write!(f, "`{from}` calls `{to}`: {message}")
            }
            Self::SequenceCall { from, to, message: None } => write!(f, "`{from}` calls `{to}`"),
            Self::ClassMembers { class, members } => {
                write!(f, "`{class}` has {}", members.join(", "))
            }
            Self::ClassInherits { class, parent } => write!(f, "`{class}` is a `{parent}`"),
            Self::StateExists { state } => write!(f, "state `{state}` exists"),
            Self::StateTransition { from, to, on: Some(on) } => {
                write!(f, "`{from}` becomes `{to}` on {on}")
            }
            Self::StateTransition { from, to, on: None } => write!(f, "`{from}` becomes `{to}`"),
            Self::EntityRelation { from, to, from_count, to_count, label } => {
                let verb = label.as_deref().unwrap_or("relates to");
                write!(f, "{from_count} `{from}` {verb} {to_count} `{to}`")
            }
        }
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.when {
            Some(when) => write!(f, "`{}` ({when})", self.to),
            None => write!(f, "`{}`", self.to),
        }
    }
}

impl fmt::Display for Cardinality {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ZeroOrOne => "zero or one",
            Self::One => "one",
            Self::ZeroOrMore => "zero or more",
            Self::OneOrMore => "one or more",
        })
    }
}
