//! Our own picture of a Mermaid diagram: nodes, edges, groups. Constraints and
//! drawings are made from it. No type of the Mermaid library appears here.

use std::fmt;

use crate::mermaid;

pub const MAX_DIAGRAM_BYTES: usize = 64 * 1024;
pub const MAX_NODES: usize = 500;
pub const MAX_EDGES: usize = 1000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagram {
    pub kind: DiagramKind,
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
    pub groups: Vec<Group>,
    /// The Mermaid text as written.
    pub source: String,
}

impl Diagram {
    /// Reads one diagram. The size is checked before any parsing.
    pub fn parse(source: &str) -> Result<Self, DiagramError> {
        if source.len() > MAX_DIAGRAM_BYTES {
            return Err(DiagramError::TooLarge {
                measure: Measure::Bytes,
                found: source.len(),
                limit: MAX_DIAGRAM_BYTES,
            });
        }
        let diagram = mermaid::parse(source)?;
        if diagram.nodes.is_empty() {
            return Err(DiagramError::Empty);
        }
        for (measure, found, limit) in
            [(Measure::Nodes, diagram.nodes.len(), MAX_NODES), (Measure::Edges, diagram.edges.len(), MAX_EDGES)]
        {
            if found > limit {
                return Err(DiagramError::TooLarge { measure, found, limit });
            }
        }
        Ok(diagram)
    }

    pub fn node(&self, id: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// The words a reader sees for a node; its id when it has no node of its own.
    pub fn label_of<'a>(&'a self, id: &'a str) -> &'a str {
        self.node(id).map_or(id, |node| &node.label)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiagramKind {
    Flowchart,
    Sequence,
    Class,
    State,
    EntityRelationship,
}

impl fmt::Display for DiagramKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flowchart => "flowchart",
            Self::Sequence => "sequence diagram",
            Self::Class => "class diagram",
            Self::State => "state diagram",
            Self::EntityRelationship => "entity-relationship diagram",
        })
    }
}

/// A box of the diagram: a step, a participant, a class, a state or an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    pub id: String,
    /// Plain text, never empty: the id when the author gave no label.
    pub label: String,
    pub shape: NodeShape,
    /// Attributes and methods of an entity or class.
    pub members: Vec<Member>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeShape {
    /// Rectangles and their kin: a page, a step, a class, an entity, a state.
    Step,
    /// A diamond, or a choice of a state diagram.
    Decision,
    /// A cylinder.
    Storage,
    /// A double-sided box, hexagon or other special form.
    Part,
    /// Where a flow begins or ends: circles, and steps that say only "Start" or "End".
    Terminal,
    /// A person in a sequence diagram.
    Actor,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub kind: MemberKind,
    pub name: String,
    /// Empty when the author gave none.
    pub type_name: String,
    pub keys: Vec<Key>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemberKind {
    Attribute,
    Method,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    Primary,
    Foreign,
    Unique,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub from: String,
    pub to: String,
    pub label: Option<String>,
    pub kind: EdgeKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    Flow,
    /// A solid message of a sequence diagram.
    Call,
    /// A dotted message of a sequence diagram.
    Reply,
    Transition,
    /// `from` is a kind of `to`.
    Inherits,
    /// `from` holds or uses `to`.
    Uses,
    /// How many of each side take part.
    Relation {
        from: Cardinality,
        to: Cardinality,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cardinality {
    ZeroOrOne,
    One,
    ZeroOrMore,
    OneOrMore,
}

/// A subgraph, composite state or namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub id: String,
    pub title: String,
    /// Ids of nodes and of inner groups.
    pub members: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Bytes,
    Nodes,
    Edges,
    Depth,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Nodes => "nodes",
            Self::Edges => "edges",
            Self::Depth => "levels of nesting",
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiagramError {
    #[error("the diagram is empty")]
    Empty,
    #[error("`{word}` is not a diagram type that is read here")]
    UnknownKind { word: String },
    #[error("line {line} does not parse: {reason}")]
    Syntax {
        /// Line within the diagram, counted from 1.
        line: usize,
        reason: String,
        hint: &'static str,
    },
    #[error("the diagram is too large: {found} {measure}, at most {limit}")]
    TooLarge { measure: Measure, found: usize, limit: usize },
    #[error("the diagram cannot be read: {reason}")]
    Unreadable { reason: String },
}

impl DiagramError {
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "write a diagram that begins with its type, such as `flowchart TD`",
            Self::UnknownKind { .. } => {
                "begin with `flowchart TD`, `sequenceDiagram`, `classDiagram`, \
                 `stateDiagram-v2` or `erDiagram`"
            }
            Self::Syntax { hint, .. } => hint,
            Self::TooLarge { .. } => "split it into several smaller diagrams",
            Self::Unreadable { .. } => "write the diagram in a simpler way",
        }
    }

    /// Line within the diagram where the reader should look, counted from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::Syntax { line, .. } => *line,
            Self::Empty | Self::UnknownKind { .. } | Self::TooLarge { .. } | Self::Unreadable { .. } => 1,
        }
    }
}
