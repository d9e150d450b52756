//! Entity-relationship diagram: entities with their attributes, and relations.

use std::collections::HashMap;

use merman::diagrams::er::{ErAttributeRenderModel, ErDiagramRenderModel, ErEntityRenderModel};

use super::{Content, edge_label, label_or_id};
use crate::diagram::{Cardinality, DiagramKind, Edge, EdgeKind, Group, Key, Member, MemberKind, Node, NodeShape};

pub(super) fn content(model: &ErDiagramRenderModel) -> (DiagramKind, Content) {
    let names: HashMap<&str, &String> =
        model.entities.iter().map(|(name, entity)| (entity.id.as_str(), name)).collect();
    let name_of = |id: &str| names.get(id).map_or(id, |name| name.as_str()).to_owned();
    let nodes = model.entities.iter().map(|(name, entity)| node(name, entity)).collect();
    let edges = model
        .relationships
        .iter()
        .map(|relation| Edge {
            from: name_of(&relation.entity_a),
            to: name_of(&relation.entity_b),
            label: edge_label(&relation.role_a),
            // Mermaid stores each side's count under the other side's letter.
            kind: EdgeKind::Relation {
                from: cardinality(&relation.rel_spec.card_b),
                to: cardinality(&relation.rel_spec.card_a),
            },
        })
        .collect();
    let groups = model
        .subgraphs
        .iter()
        .map(|subgraph| Group {
            id: subgraph.id.clone(),
            title: label_or_id(Some(&subgraph.title), &subgraph.id),
            members: subgraph.nodes.clone(),
        })
        .collect();
    (DiagramKind::EntityRelationship, Content { nodes, edges, groups })
}

fn node(name: &str, entity: &ErEntityRenderModel) -> Node {
    let label = if entity.alias.is_empty() { name } else { &entity.alias };
    Node {
        id: name.to_owned(),
        label: label_or_id(Some(label), name),
        shape: NodeShape::Step,
        members: entity.attributes.iter().map(attribute).collect(),
    }
}

fn attribute(attribute: &ErAttributeRenderModel) -> Member {
    let key = |key: &String| match key.as_str() {
        "PK" => Some(Key::Primary),
        "FK" => Some(Key::Foreign),
        "UK" => Some(Key::Unique),
        _ => None,
    };
    Member {
        kind: MemberKind::Attribute,
        name: attribute.name.clone(),
        type_name: attribute.ty.clone(),
        keys: attribute.keys.iter().filter_map(key).collect(),
    }
}

fn cardinality(name: &str) -> Cardinality {
    match name {
        "ZERO_OR_ONE" => Cardinality::ZeroOrOne,
        "ZERO_OR_MORE" => Cardinality::ZeroOrMore,
        "ONE_OR_MORE" => Cardinality::OneOrMore,
        _ => Cardinality::One,
    }
}
