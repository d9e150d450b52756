//! Flowchart: steps, decisions and the arrows between them.

use merman::diagrams::flowchart::{FlowNode, FlowchartModel};

use super::{Content, edge_label, label_or_id};
use crate::diagram::{DiagramKind, Edge, EdgeKind, Group, Node, NodeShape};

pub(super) fn content(model: &FlowchartModel) -> (DiagramKind, Content) {
    let nodes = model.nodes.iter().filter(|node| !node.is_subgraph_anchor()).map(node).collect();
    let edges = model
        .edges
        .iter()
        .map(|edge| Edge {
            from: edge.from.clone(),
            to: edge.to.clone(),
            label: edge_label(edge.label.as_deref().unwrap_or_default()),
            kind: EdgeKind::Flow,
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
    (DiagramKind::Flowchart, Content { nodes, edges, groups })
}

/// Writes every label as the reader sees it, for drawing.
pub(crate) fn plain_labels(model: &mut FlowchartModel) {
    for node in &mut model.nodes {
        node.label = Some(words(node));
        node.label_type = Some("text".to_owned());
    }
    for edge in &mut model.edges {
        edge.label = edge.label.as_deref().and_then(edge_label);
    }
    for subgraph in &mut model.subgraphs {
        subgraph.title = label_or_id(Some(&subgraph.title), &subgraph.id);
    }
}

fn words(node: &FlowNode) -> String {
    let label = label_or_id(node.label.as_deref(), &node.id);
    match node.label_type.as_deref() {
        Some("markdown") => label.replace(['*', '`'], ""),
        Some(_) | None => label,
    }
}

fn node(node: &FlowNode) -> Node {
    let label = words(node);
    let name = node.layout_shape.as_deref().or(node.shape.as_deref()).unwrap_or("rect");
    Node { id: node.id.clone(), shape: shape(name, &label), label, members: Vec::new() }
}

fn shape(name: &str, label: &str) -> NodeShape {
    const TERMINAL_WORDS: [&str; 8] = ["start", "begin", "entry", "end", "stop", "finish", "exit", "done"];
    let says_terminal = TERMINAL_WORDS.contains(&label.to_lowercase().as_str());
    match name {
        "diamond" | "question" | "diam" | "decision" => NodeShape::Decision,
        "cylinder"
        | "cyl"
        | "db"
        | "database"
        | "disk"
        | "lin-cyl"
        | "lined-cylinder"
        | "das"
        | "h-cyl"
        | "horizontal-cylinder"
        | "datastore"
        | "stored-data"
        | "bow-rect"
        | "internal-storage" => NodeShape::Storage,
        _ if says_terminal => NodeShape::Terminal,
        "circle" | "circ" | "doublecircle" | "dbl-circ" | "double-circle" | "start" | "stop" | "sm-circ"
        | "fr-circ" | "f-circ" | "junction" => NodeShape::Terminal,
        "rect" | "rectangle" | "square" | "squareRect" | "proc" | "process" | "roundedRect" | "rounded" | "round"
        | "event" | "ellipse" | "stadium" | "terminal" | "pill" => NodeShape::Step,
        _ => NodeShape::Part,
    }
}
