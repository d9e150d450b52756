//! Walks one diagram and adds what it demands. Never assigns ids.

use super::{Branch, ConstraintId, Constraints, DataEntity, Origin, Requirement, Rule, ValidationRule};
use crate::diagram::{Diagram, DiagramKind, Edge, EdgeKind, MemberKind, Node, NodeShape};
use crate::naming;

const UNNUMBERED: ConstraintId = ConstraintId(0);

pub(super) fn collect(constraints: &mut Constraints, diagram: &Diagram, number: usize) {
    let mut collector = Collector { constraints, diagram, number };
    match diagram.kind {
        DiagramKind::Flowchart => collector.flowchart(),
        DiagramKind::Sequence => collector.sequence(),
        DiagramKind::Class => collector.class(),
        DiagramKind::State => collector.state(),
        DiagramKind::EntityRelationship => collector.entities(),
    }
}

struct Collector<'a> {
    constraints: &'a mut Constraints,
    diagram: &'a Diagram,
    number: usize,
}

impl<'a> Collector<'a> {
    fn flowchart(&mut self) {
        for node in &self.diagram.nodes {
            match node.shape {
                NodeShape::Step => self.route(node),
                NodeShape::Decision => self.component(node, naming::check_name(&node.label, &node.id)),
                NodeShape::Storage => self.entity(node),
                NodeShape::Part => self.component(node, node.label.clone()),
                NodeShape::Terminal | NodeShape::Actor => {}
            }
        }
        for node in &self.diagram.nodes {
            match node.shape {
                NodeShape::Step if !self.is_branch_target(node) => {
                    self.rule(node, Rule::RouteExists { route: node.label.clone() });
                }
                NodeShape::Decision => self.branch(node),
                NodeShape::Step | NodeShape::Storage | NodeShape::Part | NodeShape::Terminal | NodeShape::Actor => {}
            }
        }
    }

    fn sequence(&mut self) {
        for node in &self.diagram.nodes {
            if node.shape != NodeShape::Actor {
                self.component(node, node.label.clone());
            }
        }
        for edge in self.edges(EdgeKind::Call) {
            let (from, to) = self.labels(edge);
            self.edge_rule(edge, Rule::SequenceCall { from, to, message: edge.label.clone() });
        }
    }

    fn class(&mut self) {
        for node in &self.diagram.nodes {
            self.component(node, node.label.clone());
            let members: Vec<String> = node
                .members
                .iter()
                .map(|member| match member.kind {
                    MemberKind::Attribute => member.name.clone(),
                    MemberKind::Method => format!("{}()", member.name),
                })
                .collect();
            if !members.is_empty() {
                self.rule(node, Rule::ClassMembers { class: node.label.clone(), members });
            }
        }
        for edge in self.edges(EdgeKind::Inherits) {
            let (class, parent) = self.labels(edge);
            self.edge_rule(edge, Rule::ClassInherits { class, parent });
        }
    }

    fn state(&mut self) {
        for node in &self.diagram.nodes {
            match node.shape {
                NodeShape::Step => self.rule(node, Rule::StateExists { state: node.label.clone() }),
                NodeShape::Decision => self.branch(node),
                NodeShape::Storage | NodeShape::Part | NodeShape::Terminal | NodeShape::Actor => {}
            }
        }
        let is_state = |id: &str| self.diagram.node(id).is_some_and(|n| n.shape == NodeShape::Step);
        let transitions: Vec<&Edge> =
            self.edges(EdgeKind::Transition).filter(|edge| is_state(&edge.from) && is_state(&edge.to)).collect();
        for edge in transitions {
            let (from, to) = self.labels(edge);
            self.edge_rule(edge, Rule::StateTransition { from, to, on: edge.label.clone() });
        }
    }

    fn entities(&mut self) {
        for node in &self.diagram.nodes {
            self.entity(node);
        }
        for edge in &self.diagram.edges {
            let EdgeKind::Relation { from: from_count, to: to_count } = edge.kind else {
                continue;
            };
            let (from, to) = self.labels(edge);
            let label = edge.label.clone();
            self.edge_rule(edge, Rule::EntityRelation { from, to, from_count, to_count, label });
        }
    }

    fn route(&mut self, node: &Node) {
        let origin = self.origin(node);
        add(&mut self.constraints.required_routes, node.label.clone(), origin);
    }

    fn component(&mut self, node: &Node, name: String) {
        let origin = self.origin(node);
        add(&mut self.constraints.required_components, name, origin);
    }

    /// The same entity in two diagrams is one entity, with the attributes of both.
    fn entity(&mut self, node: &Node) {
        let origin = self.origin(node);
        let entities = &mut self.constraints.data_entities;
        let Some(known) = entities.iter_mut().find(|entity| entity.name == node.label) else {
            let (name, attributes) = (node.label.clone(), node.members.clone());
            entities.push(DataEntity { id: UNNUMBERED, name, attributes, origin });
            return;
        };
        for attribute in &node.members {
            if !known.attributes.iter().any(|a| a.name == attribute.name) {
                known.attributes.push(attribute.clone());
            }
        }
    }

    /// A decision with fewer than two ways out decides nothing.
    fn branch(&mut self, node: &Node) {
        let mut to: Vec<Branch> = Vec::new();
        for edge in self.diagram.edges.iter().filter(|edge| edge.from == node.id) {
            let branch = Branch { when: edge.label.clone(), to: self.diagram.label_of(&edge.to).to_owned() };
            if !to.contains(&branch) {
                to.push(branch);
            }
        }
        if to.len() > 1 {
            self.rule(node, Rule::ConditionalBranch { from: node.label.clone(), to });
        }
    }

    fn is_branch_target(&self, node: &Node) -> bool {
        let ways_out = |id: &str| self.diagram.edges.iter().filter(|edge| edge.from == id).count();
        self.diagram.edges.iter().filter(|edge| edge.to == node.id).any(|edge| {
            let from = self.diagram.node(&edge.from);
            from.is_some_and(|from| from.shape == NodeShape::Decision) && ways_out(&edge.from) > 1
        })
    }

    fn edge_rule(&mut self, edge: &Edge, rule: Rule) {
        let origin = Origin {
            diagram: self.number,
            node: edge.from.clone(),
            label: self.diagram.label_of(&edge.from).to_owned(),
        };
        self.push_rule(rule, origin);
    }

    fn rule(&mut self, node: &Node, rule: Rule) {
        let origin = self.origin(node);
        self.push_rule(rule, origin);
    }

    fn push_rule(&mut self, rule: Rule, origin: Origin) {
        let rules = &mut self.constraints.validation_rules;
        if !rules.iter().any(|known| known.rule == rule) {
            rules.push(ValidationRule { id: UNNUMBERED, rule, origin });
        }
    }

    fn edges(&self, kind: EdgeKind) -> impl Iterator<Item = &'a Edge> + use<'a> {
        self.diagram.edges.iter().filter(move |edge| edge.kind == kind)
    }

    fn labels(&self, edge: &Edge) -> (String, String) {
        let label = |id| self.diagram.label_of(id).to_owned();
        (label(&edge.from), label(&edge.to))
    }

    fn origin(&self, node: &Node) -> Origin {
        Origin { diagram: self.number, node: node.id.clone(), label: node.label.clone() }
    }
}

fn add(requirements: &mut Vec<Requirement>, name: String, origin: Origin) {
    if !requirements.iter().any(|known| known.name == name) {
        requirements.push(Requirement { id: UNNUMBERED, name, origin });
    }
}
