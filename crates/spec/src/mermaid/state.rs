//! State diagram: states and transitions. Notes and dividers are no states.

use std::collections::HashSet;

use merman::diagrams::state::{StateDiagramRenderModel, StateDiagramRenderNode};

use super::{Content, edge_label, label_or_id};
use crate::diagram::{DiagramKind, Edge, EdgeKind, Group, Node, NodeShape};

pub(super) fn content(model: &StateDiagramRenderModel) -> (DiagramKind, Content) {
    let states = || model.nodes.iter().filter(|node| is_state(node));
    let known: HashSet<&str> = states().map(|node| node.id.as_str()).collect();
    let nodes = states().map(|state| node(model, state)).collect();
    let edges = model
        .edges
        .iter()
        .filter(|edge| known.contains(&*edge.start) && known.contains(&*edge.end))
        .map(|edge| Edge {
            from: edge.start.clone(),
            to: edge.end.clone(),
            label: edge_label(&edge.label),
            kind: EdgeKind::Transition,
        })
        .collect();
    let groups = states()
        .filter(|group| group.is_group)
        .map(|group| Group {
            id: group.id.clone(),
            title: label(group),
            members: states()
                .filter(|node| node.parent_id.as_deref() == Some(&group.id))
                .map(|node| node.id.clone())
                .collect(),
        })
        .collect();
    (DiagramKind::State, Content { nodes, edges, groups })
}

fn is_state(node: &StateDiagramRenderNode) -> bool {
    !matches!(node.shape.as_str(), "note" | "noteGroup" | "divider")
}

fn node(model: &StateDiagramRenderModel, state: &StateDiagramRenderNode) -> Node {
    // A `<<choice>>` declared after its first use keeps the shape of a plain state.
    let declared = model.states.get(&state.id).map(|declared| declared.state_type.as_str());
    let shape = match state.shape.as_str() {
        _ if declared == Some("choice") => NodeShape::Decision,
        "stateStart" | "stateEnd" | "fork" | "join" | "forkJoin" => NodeShape::Terminal,
        "choice" => NodeShape::Decision,
        _ => NodeShape::Step,
    };
    Node { id: state.id.clone(), label: label(state), shape, members: Vec::new() }
}

fn label(state: &StateDiagramRenderNode) -> String {
    let text = state.label.as_ref().and_then(|label| label.as_str().or_else(|| label.as_array()?.first()?.as_str()));
    label_or_id(text, &state.id)
}
