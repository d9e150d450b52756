//! State diagram: states and transitions. Notes and dividers are no states.

use merman::diagrams::state::{StateDiagramRenderModel, StateDiagramRenderNode};

use super::{Content, edge_label, label_or_id};
use crate::diagram::{DiagramKind, Edge, EdgeKind, Group, Node, NodeShape};

pub(super) fn content(model: &StateDiagramRenderModel) -> (DiagramKind, Content) {
    let states = || model.nodes.iter().filter(|node| is_state(node));
    let known = |id: &str| states().any(|node| node.id == id);
    let nodes = states().map(node).collect();
    let edges = model
        .edges
        .iter()
        .filter(|edge| known(&edge.start) && known(&edge.end))
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
    (
        DiagramKind::State,
        Content {
            nodes,
            edges,
            groups,
        },
    )
}

fn is_state(node: &StateDiagramRenderNode) -> bool {
    !matches!(node.shape.as_str(), "note" | "noteGroup" | "divider")
}

fn node(state: &StateDiagramRenderNode) -> Node {
    let shape = match state.shape.as_str() {
        "stateStart" | "stateEnd" | "fork" | "join" | "forkJoin" => NodeShape::Terminal,
        "choice" => NodeShape::Decision,
        _ => NodeShape::Step,
    };
    Node {
        id: state.id.clone(),
        label: label(state),
        shape,
        members: Vec::new(),
    }
}

fn label(state: &StateDiagramRenderNode) -> String {
    let text = state.label.as_ref().and_then(|label| {
        label
            .as_str()
            .or_else(|| label.as_array()?.first()?.as_str())
    });
    label_or_id(text, &state.id)
}
