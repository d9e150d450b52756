//! Class diagram: classes with their members, inheritance and use.

use merman::models::class_diagram::{ClassDiagram, ClassMember, ClassNode, ClassRelation};

use super::{Content, edge_label, label_or_id};
use crate::diagram::{DiagramKind, Edge, EdgeKind, Group, Member, MemberKind, Node, NodeShape};

pub(super) fn content(model: &ClassDiagram) -> (DiagramKind, Content) {
    let nodes = model.classes.values().map(node).collect();
    let extension = model.constants.relation_type.extension;
    let edges = model.relations.iter().map(|relation| edge(relation, extension)).collect();
    let groups = model
        .namespaces
        .values()
        .map(|namespace| Group {
            id: namespace.id.clone(),
            title: label_or_id(Some(&namespace.label), &namespace.id),
            members: namespace.class_ids.clone(),
        })
        .collect();
    (DiagramKind::Class, Content { nodes, edges, groups })
}

fn node(class: &ClassNode) -> Node {
    let attributes = class.members.iter().map(|m| member(MemberKind::Attribute, m));
    let methods = class.methods.iter().map(|m| member(MemberKind::Method, m));
    Node {
        id: class.id.clone(),
        label: label_or_id(Some(&class.label), &class.id),
        shape: NodeShape::Part,
        members: attributes.chain(methods).collect(),
    }
}

/// Mermaid keeps an attribute as one text, `+String name` or `+name: String`.
fn member(kind: MemberKind, member: &ClassMember) -> Member {
    let text = member.id.trim();
    let (name, type_name) = match kind {
        MemberKind::Method => (text, member.return_type.trim()),
        MemberKind::Attribute => match text.split_once(':') {
            Some((name, type_name)) => (name.trim(), type_name.trim()),
            None => text.rsplit_once(char::is_whitespace).map_or((text, ""), |(t, n)| (n, t.trim())),
        },
    };
    Member { kind, name: name.to_owned(), type_name: type_name.to_owned(), keys: Vec::new() }
}

/// `A <|-- B` and `B --|> A` both say that B is an A: the mark stands at the parent.
fn edge(relation: &ClassRelation, extension: i32) -> Edge {
    let left_is_parent = relation.relation.type1 == extension;
    let inherits = left_is_parent || relation.relation.type2 == extension;
    let (from, to) = if left_is_parent { (&relation.id2, &relation.id1) } else { (&relation.id1, &relation.id2) };
    Edge {
        from: from.clone(),
        to: to.clone(),
        label: edge_label(&relation.title),
        kind: if inherits { EdgeKind::Inherits } else { EdgeKind::Uses },
    }
}
