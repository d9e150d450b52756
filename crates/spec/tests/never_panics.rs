//! Sources that were cut, doubled and stained in random places are read or refused.

use proptest::prelude::*;
use spec::{Diagram, Spec};

const SOURCES: [&str; 8] = [
    include_str!("diagrams/approval_flow.mmd"),
    include_str!("diagrams/checkout_td.mmd"),
    include_str!("diagrams/subgraph.mmd"),
    include_str!("diagrams/sequence.mmd"),
    include_str!("diagrams/er.mmd"),
    include_str!("diagrams/class_app.mmd"),
    include_str!("diagrams/state_composite.mmd"),
    include_str!("diagrams/unicode.mmd"),
];

const STAINS: [&str; 16] =
    ["[", "]", "{", "}", "(", ")", "-->", "|", "\"", "\n", "end\n", ":::", "%%", "@{", "<", "é\u{0}"];

#[derive(Debug, Clone)]
enum Change {
    Cut(prop::sample::Index, usize),
    Stain(prop::sample::Index, usize),
    Double(prop::sample::Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let place = any::<prop::sample::Index>;
    prop_oneof![
        (place(), 1_usize..12).prop_map(|(at, length)| Change::Cut(at, length)),
        (place(), 0..STAINS.len()).prop_map(|(at, stain)| Change::Stain(at, stain)),
        (place(), 1_usize..30).prop_map(|(at, length)| Change::Double(at, length)),
    ]
}

fn mutated() -> impl Strategy<Value = String> {
    (0..SOURCES.len(), prop::collection::vec(change(), 1..6)).prop_map(|(source, changes)| {
        let mut text: Vec<char> = SOURCES[source].chars().collect();
        for change in changes {
            apply(&mut text, &change);
        }
        text.into_iter().collect()
    })
}

fn apply(text: &mut Vec<char>, change: &Change) {
    let places = text.len() + 1;
    match change {
        Change::Cut(at, length) => {
            let start = at.index(places);
            let end = (start + length).min(text.len());
            text.drain(start..end);
        }
        Change::Stain(at, stain) => {
            let start = at.index(places);
            text.splice(start..start, STAINS[*stain].chars());
        }
        Change::Double(at, length) => {
            let start = at.index(places);
            let copy: Vec<char> = text[start..(start + length).min(text.len())].to_vec();
            text.splice(start..start, copy);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_stained_diagram_is_read_or_refused_and_drawn_within_its_width(source in mutated()) {
        let parsed = Diagram::parse(&source);
        match spec::draw::terminal(&source, 90) {
            Ok(drawn) => {
                prop_assert!(parsed.is_ok());
                let is_source = drawn.starts_with('(');
                let widest = drawn.lines().map(|line| line.chars().count()).max().unwrap_or(0);
                prop_assert!(is_source || widest <= 90, "{} columns:\n{}", widest, drawn);
            }
            Err(_) => prop_assert!(parsed.is_err()),
        }
    }

    #[test]
    fn any_markdown_is_read_or_refused(text in "([`~#> \\-\n]|mermaid|flowchart TD|A-->B|[a-z]){0,80}") {
        if let Err(error) = Spec::parse(&text) {
            prop_assert!(!error.hint().is_empty());
        }
    }
}
