//! Lines of a Mermaid diagram that its drawing does not show: comments, notes, cut labels. Agents read the source, so the
//! person who approves it sees these lines too. Pure.

use std::collections::BTreeSet;

const KEYWORDS: &[&str] = &[
    "flowchart",
    "graph",
    "TB",
    "TD",
    "BT",
    "LR",
    "RL",
    "stateDiagram",
    "v2",
    "state",
    "as",
    "br",
    "quot",
    "sequenceDiagram",
    "classDiagram",
    "erDiagram",
    "participant",
    "actor",
    "class",
    "subgraph",
];
/// Longest id that stands for a label without being shown.
const MAX_ID: usize = 24;

/// The lines of a source with words that are not in its drawing. A drawing of another diagram shows none of them.
pub(super) fn undrawn<'a>(source: &[&'a str], drawing: &str) -> Vec<&'a str> {
    let seen: BTreeSet<&str> = words(drawing).collect();
    let ids: BTreeSet<&str> = source.iter().flat_map(|line| ids(line)).collect();
    let is_known = |word: &str| seen.contains(word) || ids.contains(word) || KEYWORDS.contains(&word);
    let is_missing = |line: &str| {
        let text = line.trim();
        if text == "end"
            || text.starts_with("direction ") && words(text).all(|word| word == "direction" || is_known(word))
        {
            return false;
        }
        let never = text.contains("%%") || ["click ", "accTitle", "accDescr"].iter().any(|word| text.starts_with(word));
        if never { words(text).next().is_some() } else { words(text).any(|word| !is_known(word)) }
    };
    source.iter().copied().filter(|line| is_missing(line)).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// What stands for a label: `A[Label]`, `participant A as Label`, `state "Label" as A`.
fn ids(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices(['[', '(', '{', '>']) {
        found.extend(words(&line[..at]).last().filter(|word| line[..at].ends_with(word)));
    }
    let all: Vec<&str> = words(line).collect();
    for around in all.windows(3).filter(|around| around[1] == "as") {
        found.extend([around[0], around[2]]);
    }
    found.retain(|id| id.len() <= MAX_ID);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, drawing: &str, expected: &[&str]) {
        assert_eq!(undrawn(&source.lines().collect::<Vec<_>>(), drawing), expected);
    }

    #[test]
    fn a_diagram_that_is_drawn_whole_leaves_nothing() {
        check("flowchart TD\n  A[Start it] --> B{ok?}\n  B -->|yes| C", "Start it │ ok? yes C", &[]);
        check("sequenceDiagram\n  participant U as User\n  U->>U: hi", "User hi", &[]);
    }

    #[test]
    fn comments_links_and_cut_labels_are_left() {
        check(
            "flowchart TD\n  %% Start it\n  A[Start it] --> B %% run it\n  click A \"x\"\n  A[Remove everything] --> B\n  style A fill:#fff",
            "Start it B",
            &[
                "  %% Start it",
                "  A[Start it] --> B %% run it",
                "  click A \"x\"",
                "  A[Remove everything] --> B",
                "  style A fill:#fff",
            ],
        );
    }

    #[test]
    fn the_drawing_of_another_diagram_shows_none_of_it() {
        check("flowchart TD\n  A[Evil] --> B[More evil]", "Good Nice", &["  A[Evil] --> B[More evil]"]);
    }
}
