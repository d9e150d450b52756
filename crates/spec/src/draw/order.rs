//! In which order the boxes of a flow stand below each other.

use std::collections::{HashMap, HashSet};

use crate::diagram::{Diagram, Node};

/// Every box after the boxes that lead to it, arrows that go back left aside; first
/// arrows are followed first, so that most arrows go to the very next box.
pub(super) fn order(diagram: &Diagram) -> Vec<&Node> {
    let mut ways: Ways = HashMap::new();
    let mut entered: HashSet<&str> = HashSet::new();
    for edge in diagram.edges.iter().filter(|edge| edge.from != edge.to) {
        ways.entry(&edge.from).or_default().push(&edge.to);
        entered.insert(&edge.to);
    }
    let ids = || diagram.nodes.iter().map(|node| node.id.as_str());
    let roots: Vec<&str> = ids().filter(|id| !entered.contains(id)).chain(ids()).collect();
    let back = walk(&roots, &ways).back;
    for (from, targets) in &mut ways {
        targets.retain(|to| !back.contains(&(*from, *to)));
        targets.reverse();
    }
    // Only boxes that no forward arrow enters may begin, last first: the walk's
    // result is read from its end.
    let entered: HashSet<&str> = ways.values().flatten().copied().collect();
    let roots: Vec<&str> = ids().filter(|id| !entered.contains(id)).collect();
    let roots: Vec<&str> = roots.into_iter().rev().collect();
    let nodes: HashMap<&str, &Node> = diagram.nodes.iter().map(|n| (n.id.as_str(), n)).collect();
    let finished = walk(&roots, &ways).finished;
    finished.iter().rev().filter_map(|id| nodes.get(id).copied()).collect()
}

type Ways<'a> = HashMap<&'a str, Vec<&'a str>>;

struct Walk<'a> {
    /// Boxes in the order in which everything behind them was seen.
    finished: Vec<&'a str>,
    /// Arrows to a box that is still on the way here: they close a circle.
    back: HashSet<(&'a str, &'a str)>,
}

/// Depth first, without recursion: a chain may be as long as a diagram has boxes.
fn walk<'a>(roots: &[&'a str], ways: &Ways<'a>) -> Walk<'a> {
    let mut seen: HashSet<&str> = HashSet::new();
    let mut open: HashSet<&str> = HashSet::new();
    let mut walk = Walk { finished: Vec::new(), back: HashSet::new() };
    for &root in roots {
        let mut path: Vec<(&str, usize)> = Vec::new();
        if seen.insert(root) {
            open.insert(root);
            path.push((root, 0));
        }
        while let Some((id, followed)) = path.last_mut() {
            let id = *id;
            let Some(&next) = ways.get(id).and_then(|targets| targets.get(*followed)) else {
                open.remove(id);
                walk.finished.push(id);
                path.pop();
                continue;
            };
            *followed += 1;
            if open.contains(next) {
                walk.back.insert((id, next));
            } else if seen.insert(next) {
                open.insert(next);
                path.push((next, 0));
            }
        }
    }
    walk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let diagram = Diagram::parse(source).unwrap();
        let ids: Vec<&str> = order(&diagram).iter().map(|node| node.id.as_str()).collect();
        assert_eq!(ids.join(" "), expected);
    }

    #[test]
    fn boxes_stand_below_those_that_lead_to_them() {
        check("flowchart TD\nA --> B & C\nB --> D\nC --> D\nD -->|again| B", "A B C D");
    }

    #[test]
    fn two_beginnings_stand_above_what_both_lead_to() {
        check("flowchart TD\nA & B --> C & D", "A B C D");
    }

    #[test]
    fn a_circle_without_a_beginning_starts_with_the_first_box() {
        check("flowchart TD\nA --> B --> C --> A", "A B C");
    }

    #[test]
    fn separate_flows_keep_their_order() {
        check("flowchart TD\nA --> B\nX --> Y\nM", "A B X Y M");
    }
}
