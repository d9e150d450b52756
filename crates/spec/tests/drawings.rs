//! What each sample diagram looks like, read and approved by a person. Set
//! `UPDATE_DRAWINGS=1` to write the files anew, then look at the difference.

use std::fs;
use std::path::PathBuf;

fn tests_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests")
}

#[track_caller]
fn check(name: &str, width: usize) {
    let path = tests_dir().join(format!("diagrams/{name}.mmd"));
    let source = fs::read_to_string(path).expect("every sample has a file");
    let drawn = spec::draw::terminal(&source, width).expect("every sample is valid Mermaid");
    let path = tests_dir().join(format!("snapshots/{name}.{width}.txt"));
    if std::env::var_os("UPDATE_DRAWINGS").is_some() {
        fs::write(&path, &drawn).expect("the snapshot can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(drawn == expected, "{name} at {width} columns is now:\n{drawn}\nit was:\n{expected}");
}

macro_rules! drawings {
    ($($test:ident: $name:literal at $width:literal;)+) => {
        $(#[test] fn $test() { check($name, $width); })+
    };
}

drawings! {
    the_seed_flowchart: "seed_flow" at 80;
    a_checkout_with_two_decisions_and_a_way_back: "checkout_td" at 100;
    a_pipeline_from_left_to_right: "pipeline_lr" at 120;
    a_pipeline_turned_because_it_is_too_wide: "pipeline_lr" at 60;
    two_subgraphs: "subgraph" at 100;
    a_sequence_with_alternatives: "sequence" at 120;
    entities_and_relations: "er" at 120;
    classes_and_inheritance: "class" at 120;
    states: "state" at 80;
    composite_states_and_a_choice: "state_composite" at 120;
    long_labels: "long_labels" at 120;
    an_approval_flow_of_eight_nodes: "approval_flow" at 120;
    a_shop_with_five_entities: "er_shop" at 120;
    an_interface_and_who_uses_it: "class_app" at 120;
    a_flow_that_meets_again: "parallel" at 80;
    markup_in_labels: "markup" at 80;
    a_sequence_with_a_loop_and_a_note: "sequence_loop" at 80;
    labels_in_other_scripts: "unicode" at 80;
    the_source_when_no_direction_fits: "long_labels" at 20;
}
