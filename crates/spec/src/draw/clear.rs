//! Tells whether the library's drawing can be read in only one way. It sometimes
//! lays two arrows over each other; a reader would then follow the wrong one.

use std::collections::HashSet;

use crate::diagram::{Diagram, Edge, EdgeKind, NodeShape};

/// The library spells some fields out as `id(bytes=4)="…"`, which is for machines.
pub(super) fn is_for_people(drawing: &str) -> bool {
    !drawing.contains("(bytes=")
}

/// Clear means: lines meet or cross nowhere but on the border of a closed box, or
/// under the triangle of a parent class, which all its children share.
pub(super) fn is_clear(drawing: &str) -> bool {
    let rows: Vec<Vec<char>> = drawing.lines().map(columns).collect();
    let border = borders(&rows);
    rows.iter().enumerate().all(|(y, row)| {
        row.iter().enumerate().all(|(x, c)| {
            !matches!(c, '┼' | '├' | '┤' | '┬' | '┴')
                || border.contains(&(y, x))
                || (*c == '┴' && hangs_from_a_parent(&rows, y, x))
        })
    })
}

/// Two labels with one space between them read as one label.
pub(super) fn labels_stand_apart(drawing: &str, edges: &[Edge]) -> bool {
    let labels: HashSet<&str> = edges.iter().filter_map(|edge| edge.label.as_deref()).collect();
    let lines = drawing.lines().map(str::trim).filter(|line| line.contains(' '));
    lines.into_iter().all(|line| {
        let touching = |first: &&str| {
            let mut rests = line.match_indices(*first).map(|(at, _)| &line[at + first.len()..]);
            rests.any(|rest| {
                let next = rest.strip_prefix(' ').filter(|next| !next.starts_with(' '));
                next.is_some_and(|next| labels.iter().any(|label| next.starts_with(label)))
            })
        };
        !labels.iter().any(touching)
    })
}

/// No word of a label was clipped, broken or left out.
pub(super) fn shows_every_word(drawing: &str, diagram: &Diagram) -> bool {
    let drawn = diagram.nodes.iter().filter(|node| node.shape != NodeShape::Terminal);
    let labels = drawn.map(|node| node.label.as_str());
    let on_edges = diagram.edges.iter().filter_map(|edge| edge.label.as_deref());
    labels.chain(on_edges).flat_map(str::split_whitespace).all(|word| drawing.contains(word))
}

/// Arrows of a flow that lie on each other have fewer heads than they should.
pub(super) fn shows_every_arrow(drawing: &str, diagram: &Diagram) -> bool {
    let arrows = diagram.edges.iter();
    let arrows = arrows.filter(|e| matches!(e.kind, EdgeKind::Flow | EdgeKind::Transition));
    drawing.matches(['▲', '▼', '◄', '►']).count() >= arrows.count()
}

fn hangs_from_a_parent(rows: &[Vec<char>], y: usize, x: usize) -> bool {
    let above = rows[..y].iter().rev().map(|row| row.get(x).copied().unwrap_or(' '));
    above.into_iter().find(|c| !matches!(c, '│' | '┆' | '┊')) == Some('△')
}

/// One entry per column: a wide character is followed by a blank.
fn columns(line: &str) -> Vec<char> {
    line.chars()
        .flat_map(|c| {
            let wide = unicode_width::UnicodeWidthChar::width(c) == Some(2);
            std::iter::once(c).chain(wide.then_some(' '))
        })
        .collect()
}

fn borders(rows: &[Vec<char>]) -> HashSet<(usize, usize)> {
    let at = |y: usize, x: usize| rows.get(y).and_then(|row| row.get(x)).copied().unwrap_or(' ');
    let mut border = HashSet::new();
    for (top, row) in rows.iter().enumerate() {
        for left in (0..row.len()).filter(|x| matches!(row[*x], '┌' | '╭')) {
            let side = |c: char| matches!(c, '─' | '┬' | '┴' | '┼');
            let Some(right) = (left + 1..row.len()).find(|x| !side(row[*x])) else {
                continue;
            };
            if !matches!(at(top, right), '┐' | '╮') {
                continue;
            }
            let bottom = (top + 1..rows.len()).find(|y| matches!(at(*y, left), '└' | '╰'));
            let Some(bottom) = bottom.filter(|y| matches!(at(*y, right), '┘' | '╯')) else {
                continue;
            };
            border.extend((left..=right).flat_map(|x| [(top, x), (bottom, x)]));
            border.extend((top..=bottom).flat_map(|y| [(y, left), (y, right)]));
            // Lines between the compartments of a class box.
            border.extend(
                (top..=bottom).filter(|y| at(*y, left) == '├').flat_map(|y| (left..=right).map(move |x| (y, x))),
            );
        }
    }
    border
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_that_leave_boxes_are_clear() {
        assert!(is_clear("┌───┐  ┌───┐\n│ A ├─►│ B │\n└─┬─┘  └───┘\n"));
    }

    #[test]
    fn labels_that_touch_do_not_stand_apart() {
        let edge = |label: &str| Edge {
            from: "A".to_owned(),
            to: "B".to_owned(),
            label: Some(label.to_owned()),
            kind: EdgeKind::Flow,
        };
        let edges = [edge("submit"), edge("request changes")];
        assert!(!labels_stand_apart("   submit request changes", &edges));
        assert!(labels_stand_apart("   submit   request changes", &edges));
    }

    #[test]
    fn arrows_that_share_a_crossing_are_not() {
        assert!(!is_clear("┌───┐ │\n│ A ├─┼►\n└───┘ │\n"));
    }
}
