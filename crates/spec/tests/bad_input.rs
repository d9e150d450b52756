//! Input nobody should write and somebody will: it is read or refused, and never
//! panics, hangs or reaches the terminal raw.

use spec::diagram::Measure;
use spec::{Diagram, DiagramError, Spec, SpecError};

#[derive(Debug, PartialEq)]
enum Fate {
    Read { nodes: usize, edges: usize },
    Refused(Refusal),
}

#[derive(Debug, PartialEq)]
enum Refusal {
    Empty,
    UnknownKind,
    Syntax,
    TooLarge(Measure),
    Unreadable,
}

fn fate(source: &str) -> Fate {
    match Diagram::parse(source) {
        Ok(diagram) => Fate::Read { nodes: diagram.nodes.len(), edges: diagram.edges.len() },
        Err(error) => Fate::Refused(match error {
            DiagramError::Empty => Refusal::Empty,
            DiagramError::UnknownKind { .. } => Refusal::UnknownKind,
            DiagramError::Syntax { .. } => Refusal::Syntax,
            DiagramError::TooLarge { measure, .. } => Refusal::TooLarge(measure),
            DiagramError::Unreadable { .. } => Refusal::Unreadable,
        }),
    }
}

#[track_caller]
fn check(source: &str, expected: Fate) {
    assert_eq!(fate(source), expected);
    // Whatever was read can also be drawn, or is shown as source.
    let drawn = spec::draw::terminal(source, 100);
    assert_eq!(drawn.is_ok(), matches!(expected, Fate::Read { .. }));
    if let Ok(drawn) = drawn {
        assert!(drawn.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{drawn}");
    }
}

macro_rules! inputs {
    ($($test:ident: $source:expr => $fate:expr;)+) => {
        $(#[test] fn $test() { check(&$source, $fate); })+
    };
}

fn read(nodes: usize, edges: usize) -> Fate {
    Fate::Read { nodes, edges }
}

inputs! {
    a_circle_is_read: "flowchart TD\nA --> B --> C --> A" => read(3, 3);
    a_self_loop_is_read: "flowchart TD\nA --> A\nA --> B" => read(2, 2);
    only_a_self_loop_is_read: "flowchart TD\nA[Wait] -->|again| A" => read(1, 1);
    an_id_used_twice_is_one_node: "flowchart TD\nA[One] --> B\nA[Two] --> B" => read(2, 2);
    nodes_without_arrows_are_read: "flowchart TD\nA[One]\nB[Two]" => read(2, 0);
    a_header_alone_is_refused: "flowchart TD\n" => Fate::Refused(Refusal::Empty);
    a_pie_chart_is_refused: "pie\n\"a\" : 1" => Fate::Refused(Refusal::UnknownKind);
    prose_is_refused: "Dear reader, this is a plan" => Fate::Refused(Refusal::UnknownKind);
    nothing_is_refused: "" => Fate::Refused(Refusal::Empty);
    blank_lines_are_refused: "\n  \n\t\n" => Fate::Refused(Refusal::Empty);
    an_init_directive_is_ignored:
        "%%{init: {'theme': 'dark', 'securityLevel': 'loose'}}%%\nflowchart TD\nA --> B" => read(2, 1);
    a_broken_init_directive_is_ignored: "%%{init: [[[ }%%\nflowchart TD\nA --> B" => read(2, 1);
    an_alias_bomb_in_front_matter_is_ignored:
        "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n---\nflowchart TD\nA --> B"
        => read(2, 1);
    a_click_with_javascript_is_no_node:
        "flowchart TD\nA --> B\nclick A \"javascript:alert(1)\"" => read(2, 1);
    an_html_label_is_read: "flowchart TD\nA[\"<img src=x onerror=alert(1)>Pay\"] --> B" => read(2, 1);
    an_escape_sequence_in_a_label_is_read: "flowchart TD\nA[\"\u{1b}[31mred\"] --> B" => read(2, 1);
    an_unclosed_bracket_is_refused: "flowchart TD\nA[Home --> B" => Fate::Refused(Refusal::Syntax);
    an_unclosed_subgraph_is_refused: "flowchart TD\nsubgraph s\nA --> B" => Fate::Refused(Refusal::Syntax);
    windows_line_ends_are_read: "flowchart TD\r\nA --> B\r\n" => read(2, 1);
    a_megabyte_is_refused_unread: "x".repeat(1 << 20) => Fate::Refused(Refusal::TooLarge(Measure::Bytes));
    too_many_nodes_are_refused:
        chain(600, "") => Fate::Refused(Refusal::TooLarge(Measure::Nodes));
    ten_thousand_nodes_are_refused:
        chain(10_000, "") => Fate::Refused(Refusal::TooLarge(Measure::Bytes));
    too_many_edges_are_refused:
        format!("flowchart TD\n{}", "A --> B\n".repeat(1001)) => Fate::Refused(Refusal::TooLarge(Measure::Edges));
    millions_of_edges_in_one_line_are_refused:
        format!("flowchart TD\n{}a --> {}b", "a & ".repeat(5_000), "b & ".repeat(5_000))
        => Fate::Refused(Refusal::TooLarge(Measure::Edges));
    a_chain_of_arrows_without_end_is_refused:
        format!("flowchart TD\n{}", "A-->".repeat(15_000)) => Fate::Refused(Refusal::TooLarge(Measure::Edges));
    an_alias_bomb_in_a_shape_is_refused:
        "flowchart TD\nA@{ a: &a [x,x,x,x,x,x,x,x,x], b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a], c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b], d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c], e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d], f: [*e,*e,*e,*e,*e,*e,*e,*e,*e] }"
        => Fate::Refused(Refusal::Syntax);
    a_crowd_of_arrows_is_read_and_shown: crowd(60, 15) => read(60, 900);
    deep_brackets_are_refused:
        format!("flowchart TD\nA{}", "[".repeat(60_000)) => Fate::Refused(Refusal::TooLarge(Measure::Depth));
    deep_states_are_refused:
        format!("stateDiagram-v2\n{}", "state a {\n".repeat(5_000)) => Fate::Refused(Refusal::TooLarge(Measure::Depth));
    four_hundred_nodes_are_read_and_drawn: chain(400, "") => read(400, 399);
}

/// Every node leads to the next `ways` nodes and around.
fn crowd(nodes: usize, ways: usize) -> String {
    let arrows: String = (0..nodes)
        .flat_map(|from| (1..=ways).map(move |way| (from, (from + way * 7) % nodes)))
        .map(|(from, to)| format!("n{from} -->|go| n{to}\n"))
        .collect();
    format!("flowchart TD\n{arrows}")
}

fn chain(nodes: usize, label: &str) -> String {
    let arrows: String = (1..nodes).map(|i| format!("n{} -->{label} n{i}\n", i - 1)).collect();
    format!("flowchart TD\n{arrows}")
}

#[test]
fn nul_bytes_are_read_as_line_ends() {
    assert_eq!(fate("flowchart TD\0A --> B\0"), read(2, 1));
}

#[test]
fn a_megabyte_of_garbage_around_a_fence_is_refused() {
    let plan = format!("```mermaid\nflowchart TD\nA-->B\n```\n{}", "`~#>".repeat(1 << 18));
    assert_eq!(Spec::parse(&plan), Err(SpecError::TooLarge { bytes: plan.len() }));
}

#[test]
fn a_refusal_shows_no_parser_tables_and_no_control_characters() {
    let error = Diagram::parse("flowchart TD\nA[\u{1b}[31m --> --> ]]").unwrap_err();
    let text = error.to_string();
    assert!(text.len() < 400 && !text.contains("Expected one of"), "{text}");
    assert!(!text.chars().any(char::is_control), "{text:?}");
}
