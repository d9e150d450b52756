//! Our own drawing of a flow, for when the library's cannot be read: all boxes in
//! one column, an arrow straight down to the next box, and every other arrow on a
//! rail of its own at the right. Rails cross but never join, so it stays clear
//! however crowded the flow is.

use std::cmp::Reverse;
use std::collections::HashMap;

use unicode_width::UnicodeWidthStr;

use super::Drawing;
use super::canvas::{Canvas, wrap};
use super::order::order;
use crate::diagram::{Diagram, Node, NodeShape};

/// A drawing wider than `width` has its width but no text: it is never shown.
pub(super) fn draw(diagram: &Diagram, label_width: usize, width: usize) -> Drawing {
    let layout = Layout::new(diagram, label_width);
    match layout.total_width() {
        needed if needed > width => Drawing { text: String::new(), width: needed },
        _ => layout.draw(),
    }
}

struct Layout<'a> {
    boxes: Vec<NodeBox<'a>>,
    /// Words on the arrow from each box straight down to the next.
    steps: Vec<Option<&'a str>>,
    rails: Vec<Rail<'a>>,
    /// Inner width of every box.
    width: usize,
}

struct NodeBox<'a> {
    node: &'a Node,
    group: Option<&'a str>,
    lines: Vec<String>,
    top: usize,
    /// Rows of content, enough for the label and for every rail that ends here.
    rows: usize,
}

struct Rail<'a> {
    from: usize,
    to: usize,
    label: &'a str,
    from_row: usize,
    to_row: usize,
    lane: usize,
}

impl<'a> Layout<'a> {
    fn new(diagram: &'a Diagram, label_width: usize) -> Self {
        let order = order(diagram);
        let place: HashMap<&str, usize> =
            order.iter().enumerate().map(|(index, node)| (node.id.as_str(), index)).collect();
        let group = |id: &str| {
            let owner = diagram.groups.iter().find(|group| group.members.iter().any(|m| m == id));
            owner.map(|group| group.title.as_str())
        };
        let boxes: Vec<_> = order
            .iter()
            .map(|node| {
                let lines = wrap(face(node), label_width);
                let rows = lines.len();
                NodeBox { node, group: group(&node.id), lines, top: 0, rows }
            })
            .collect();
        let mut steps = vec![None; boxes.len()];
        let mut rails = Vec::new();
        for edge in &diagram.edges {
            let (Some(&from), Some(&to)) = (place.get(&*edge.from), place.get(&*edge.to)) else {
                continue;
            };
            let label = edge.label.as_deref().unwrap_or_default();
            if to == from + 1 && steps[from].is_none() {
                steps[from] = Some(label);
            } else {
                rails.push(Rail { from, to, label, from_row: 0, to_row: 0, lane: 0 });
            }
        }
        let inner = |b: &NodeBox| {
            let label = b.lines.iter().map(|line| line.width()).max().unwrap_or(0);
            label.max(b.group.map_or(0, |title| title.width() + 2))
        };
        let width = boxes.iter().map(inner).max().unwrap_or(0) + 2;
        let mut layout = Self { boxes, steps, rails, width };
        layout.place_rows();
        layout.choose_lanes();
        layout
    }

    /// Gives every end of a rail a row of its box: ends that lead up stand highest.
    fn place_rows(&mut self) {
        let mut top = 0;
        let mut rows = vec![(0, 0); self.rails.len()];
        for (index, node_box) in self.boxes.iter_mut().enumerate() {
            let mut ends: Vec<(usize, End)> = Vec::new();
            for (rail, ends_of) in self.rails.iter().enumerate() {
                if ends_of.to == index {
                    ends.push((ends_of.from, End::Head(rail)));
                }
                if ends_of.from == index {
                    ends.push((ends_of.to, End::Tail(rail)));
                }
            }
            // Nearest first among those above and last among those below, so that a
            // rail's end seldom crosses another rail.
            ends.sort_by_key(|(other, _)| (*other > index, Reverse(*other)));
            node_box.top = top;
            node_box.rows = node_box.lines.len().max(ends.len());
            let first = top + 1 + (node_box.rows - ends.len()) / 2;
            for (offset, (_, end)) in ends.iter().enumerate() {
                match end {
                    End::Tail(rail) => rows[*rail].0 = first + offset,
                    End::Head(rail) => rows[*rail].1 = first + offset,
                }
            }
            top += node_box.rows + 2 + if self.steps[index].is_some() { 2 } else { 1 };
        }
        for (rail, (from_row, to_row)) in self.rails.iter_mut().zip(rows) {
            (rail.from_row, rail.to_row) = (from_row, to_row);
        }
    }

    /// Short rails lie inside; two rails share a lane only when they do not meet.
    fn choose_lanes(&mut self) {
        let mut by_length: Vec<usize> = (0..self.rails.len()).collect();
        by_length.sort_by_key(|index| {
            let (start, end) = self.rails[*index].span();
            end - start
        });
        let mut lanes: Vec<Vec<(usize, usize)>> = Vec::new();
        for index in by_length {
            let (start, end) = self.rails[index].span();
            let free = |lane: &Vec<(usize, usize)>| lane.iter().all(|(s, e)| end < *s || *e < start);
            let lane = lanes.iter().position(free).unwrap_or_else(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push((start, end));
            self.rails[index].lane = lane;
        }
    }

    /// Labels stand between the boxes and the first lane, where no rail crosses them.
    fn first_lane(&self) -> usize {
        let labels = self.rails.iter().map(|rail| rail.label.width()).max().unwrap_or(0);
        self.width + 2 + labels + if labels == 0 { 2 } else { 5 }
    }

    fn total_width(&self) -> usize {
        let lanes = self.rails.iter().map(|rail| self.first_lane() + rail.lane * 3 + 1).max();
        let steps = self.steps.iter().flatten().map(|label| self.width / 2 + 2 + label.width());
        steps.chain(lanes).chain([self.width + 2]).max().unwrap_or(0)
    }

    fn draw(&self) -> Drawing {
        let mut canvas = Canvas::default();
        for (index, node_box) in self.boxes.iter().enumerate() {
            self.draw_box(&mut canvas, node_box);
            if let Some(label) = self.steps[index] {
                self.draw_step(&mut canvas, node_box, label);
            }
        }
        let first_lane = self.first_lane();
        for rail in &self.rails {
            let x = first_lane + rail.lane * 3;
            let (start, end) = rail.span();
            if end > start + 1 {
                canvas.down(x, start + 1, end - 1);
            }
        }
        for rail in &self.rails {
            self.draw_ends(&mut canvas, rail, first_lane + rail.lane * 3);
        }
        canvas.finish()
    }

    fn draw_box(&self, canvas: &mut Canvas, node_box: &NodeBox) {
        let corners = match node_box.node.shape {
            NodeShape::Step | NodeShape::Part | NodeShape::Actor => ['┌', '┐', '└', '┘'],
            NodeShape::Decision | NodeShape::Storage | NodeShape::Terminal => ['╭', '╮', '╰', '╯'],
        };
        let sides = if node_box.node.shape == NodeShape::Decision { ["<", ">"] } else { ["│", "│"] };
        let right = self.width + 1;
        let bottom = node_box.top + node_box.rows + 1;
        for y in [node_box.top, bottom] {
            canvas.across(y, 1, self.width);
        }
        for (corner, (y, x)) in
            corners.into_iter().zip([(node_box.top, 0), (node_box.top, right), (bottom, 0), (bottom, right)])
        {
            canvas.set(y, x, corner);
        }
        for y in node_box.top + 1..bottom {
            canvas.put(y, 0, sides[0]);
            canvas.put(y, right, sides[1]);
        }
        if let Some(group) = node_box.group {
            canvas.put(node_box.top, 1, &format!(" {group} "));
        }
        let first = node_box.top + 1 + (node_box.rows - node_box.lines.len()) / 2;
        for (offset, line) in node_box.lines.iter().enumerate() {
            canvas.centre(first + offset, 1, self.width, line);
        }
    }

    fn draw_step(&self, canvas: &mut Canvas, node_box: &NodeBox, label: &str) {
        let x = self.width / 2;
        let bottom = node_box.top + node_box.rows + 1;
        canvas.put(bottom, x, "┬");
        canvas.put(bottom + 1, x, "│");
        canvas.put(bottom + 1, x + 2, label);
        canvas.put(bottom + 2, x, "▼");
    }

    fn draw_ends(&self, canvas: &mut Canvas, rail: &Rail, x: usize) {
        let right = self.width + 1;
        let goes_down = rail.to_row > rail.from_row;
        canvas.across(rail.from_row, right + 1, x - 1);
        canvas.set(rail.from_row, right, '├');
        if !rail.label.is_empty() {
            canvas.put(rail.from_row, right + 2, &format!(" {} ", rail.label));
        }
        canvas.set(rail.from_row, x, if goes_down { '┐' } else { '┘' });
        canvas.across(rail.to_row, right + 2, x - 1);
        canvas.set(rail.to_row, right + 1, '◄');
        canvas.set(rail.to_row, x, if goes_down { '┘' } else { '┐' });
    }
}

enum End {
    Tail(usize),
    Head(usize),
}

impl Rail<'_> {
    fn span(&self) -> (usize, usize) {
        (self.from_row.min(self.to_row), self.from_row.max(self.to_row))
    }
}

/// The states where a state diagram begins and ends have made-up names.
fn face(node: &Node) -> &str {
    if node.id.ends_with("_start") && node.shape == NodeShape::Terminal {
        "●"
    } else if node.id.ends_with("_end") && node.shape == NodeShape::Terminal {
        "◎"
    } else {
        &node.label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_arrow_of_a_crowded_flow_has_its_own_head_and_label() {
        for (nodes, ways, stride) in [(2, 3, 1), (5, 2, 2), (9, 4, 5), (12, 3, 7)] {
            let arrows: String = (0..nodes)
                .flat_map(|from| (0..ways).map(move |way| (from, (from + way * stride) % nodes)))
                .map(|(from, to)| format!("n{from} -->|go| n{to}\n"))
                .collect();
            let diagram = Diagram::parse(&format!("flowchart TD\n{arrows}")).unwrap();
            let drawing = draw(&diagram, 40, 1000);
            let count = |marks: &[char]| drawing.text.matches(marks).count();
            assert_eq!(count(&['▼', '◄']), nodes * ways, "{}", drawing.text);
            assert_eq!(drawing.text.matches(" go").count(), nodes * ways, "{}", drawing.text);
            // Lines cross but never join: every join stands on the side of a box.
            assert_eq!(count(&['┤', '┴']), 0, "{}", drawing.text);
        }
    }

    #[test]
    fn the_width_is_known_before_drawing() {
        let diagram = Diagram::parse("flowchart TD\nA -->|back| A\nA -->|a long way down| B").unwrap();
        let layout = Layout::new(&diagram, 40);
        assert_eq!(layout.total_width(), layout.draw().width);
    }
}
