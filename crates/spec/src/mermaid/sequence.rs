//! Sequence diagram: participants and the messages between them. Notes, loops
//! and activations are drawn but state no constraint, so they are left out.

use merman::diagrams::sequence::{SequenceDiagramRenderModel, SequenceMessage, SequenceMessageStroke};

use super::{Content, edge_label, label_or_id};
use crate::diagram::{DiagramKind, Edge, EdgeKind, Group, Node, NodeShape};

pub(super) fn content(model: &SequenceDiagramRenderModel) -> (DiagramKind, Content) {
    let nodes = model
        .actor_order
        .iter()
        .filter_map(|id| model.actors.get(id).map(|actor| (id, actor)))
        .map(|(id, actor)| Node {
            id: id.clone(),
            label: label_or_id(Some(&actor.description), id),
            shape: if actor.actor_type == "actor" { NodeShape::Actor } else { NodeShape::Part },
            members: Vec::new(),
        })
        .collect();
    let edges = model.messages.iter().filter_map(message).collect();
    let groups = model
        .boxes
        .iter()
        .filter_map(|group| group.name.as_ref().map(|name| (name, group)))
        .map(|(name, group)| Group {
            id: name.clone(),
            title: label_or_id(Some(name), name),
            members: group.actor_keys.clone(),
        })
        .collect();
    (DiagramKind::Sequence, Content { nodes, edges, groups })
}

fn message(message: &SequenceMessage) -> Option<Edge> {
    let signal = message.signal_semantics()?;
    Some(Edge {
        from: message.from.clone()?,
        to: message.to.clone()?,
        label: edge_label(message.message_text()),
        kind: match signal.stroke {
            SequenceMessageStroke::Solid => EdgeKind::Call,
            SequenceMessageStroke::Dotted => EdgeKind::Reply,
        },
    })
}
