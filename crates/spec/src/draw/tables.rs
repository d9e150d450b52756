//! Our own drawing of classes and entities, for when the library's cannot be
//! read: boxes in rows as wide as the terminal, and the relations as lines of text.

use unicode_width::UnicodeWidthStr;

use super::Drawing;
use super::canvas::Canvas;
use crate::diagram::{Cardinality, Diagram, Edge, EdgeKind, Key, Member, MemberKind, Node};

const GAP: usize = 2;

pub(super) fn draw(diagram: &Diagram, width: usize) -> Drawing {
    let mut canvas = Canvas::default();
    let (mut top, mut left, mut height) = (0, 0, 0);
    for node in &diagram.nodes {
        let lines: Vec<String> = node.members.iter().map(member).collect();
        let inner = lines.iter().map(|line| line.width()).chain([node.label.width()]).max();
        let box_width = inner.unwrap_or(0) + 4;
        if left > 0 && left + box_width > width {
            (top, left, height) = (top + height, 0, 0);
        }
        let rows = draw_box(&mut canvas, (top, left), box_width, node, &lines);
        height = height.max(rows);
        left += box_width + GAP;
    }
    top += height;
    if !diagram.edges.is_empty() {
        top += 1;
    }
    for (offset, edge) in diagram.edges.iter().enumerate() {
        canvas.put(top + offset, 0, &relation(diagram, edge));
    }
    canvas.finish()
}

/// Returns how many rows the box takes.
fn draw_box(canvas: &mut Canvas, (top, left): (usize, usize), width: usize, node: &Node, lines: &[String]) -> usize {
    let rule = |ends: [char; 2]| format!("{}{}{}", ends[0], "─".repeat(width - 2), ends[1]);
    let side = |canvas: &mut Canvas, y: usize, text: &str| {
        canvas.put(y, left, "│");
        canvas.put(y, left + 2, text);
        canvas.put(y, left + width - 1, "│");
    };
    canvas.put(top, left, &rule(['┌', '┐']));
    side(canvas, top + 1, &node.label);
    let mut y = top + 2;
    if !lines.is_empty() {
        canvas.put(y, left, &rule(['├', '┤']));
        y += 1;
    }
    for line in lines {
        side(canvas, y, line);
        y += 1;
    }
    canvas.put(y, left, &rule(['└', '┘']));
    y + 1 - top
}

fn member(member: &Member) -> String {
    let keys: Vec<&str> = member
        .keys
        .iter()
        .map(|key| match key {
            Key::Primary => "PK",
            Key::Foreign => "FK",
            Key::Unique => "UK",
        })
        .collect();
    let name = match member.kind {
        MemberKind::Attribute => member.name.clone(),
        MemberKind::Method => format!("{}()", member.name),
    };
    let mut text = name;
    if !member.type_name.is_empty() {
        text = format!("{text}: {}", member.type_name);
    }
    if keys.is_empty() { text } else { format!("{text} {}", keys.join(", ")) }
}

fn relation(diagram: &Diagram, edge: &Edge) -> String {
    let (from, to) = (diagram.label_of(&edge.from), diagram.label_of(&edge.to));
    let label = edge.label.as_ref().map_or_else(String::new, |label| format!(" {label} ──"));
    match edge.kind {
        EdgeKind::Inherits => format!("{from} ──{label}▷ {to}"),
        EdgeKind::Relation { from: from_count, to: to_count } => {
            format!("{from} {} ──{label} {} {to}", count(from_count), count(to_count))
        }
        EdgeKind::Flow | EdgeKind::Call | EdgeKind::Reply | EdgeKind::Transition | EdgeKind::Uses => {
            format!("{from} ──{label}► {to}")
        }
    }
}

fn count(cardinality: Cardinality) -> &'static str {
    match cardinality {
        Cardinality::ZeroOrOne => "0..1",
        Cardinality::One => "1",
        Cardinality::ZeroOrMore => "0..*",
        Cardinality::OneOrMore => "1..*",
    }
}
