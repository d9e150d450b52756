//! Scope, research and handoff as people read them. The lists of a scope and of research also stand in front matter,
//! as JSON, for programs. Pure.

use std::fmt::Write as _;

use drivers::{HandoffHandIn, ResearchHandIn, ScopeHandIn};
use serde_json::{Value, json};

/// `scope.md`.
pub(crate) fn scope(scope: &ScopeHandIn) -> String {
    let mut text = front(&[
        ("inScope", json!(scope.in_scope)),
        ("outOfScope", json!(scope.out_of_scope)),
        ("constraints", json!(scope.constraints)),
    ]);
    heading(&mut text, "# Scope", &scope.summary);
    list(&mut text, "In scope", &scope.in_scope);
    list(&mut text, "Out of scope", &scope.out_of_scope);
    list(&mut text, "Constraints", &scope.constraints);
    text
}

/// `research.md`.
pub(crate) fn research(found: &ResearchHandIn) -> String {
    let files: Vec<Value> = found.key_files.iter().map(|file| json!({"path": file.path, "why": file.why})).collect();
    let mut text = front(&[
        ("keyFiles", json!(files)),
        ("patterns", json!(found.patterns)),
        ("recommendations", json!(found.recommendations)),
    ]);
    heading(&mut text, "# Research", &found.summary);
    let files: Vec<String> =
        found.key_files.iter().map(|file| format!("`{}`: {}", file.path.replace('`', "'"), file.why)).collect();
    list(&mut text, "Key files", &files);
    list(&mut text, "Patterns", &found.patterns);
    list(&mut text, "Recommendations", &found.recommendations);
    text
}

/// `handoff.md`.
pub(crate) fn handoff(handoff: &HandoffHandIn) -> String {
    let mut text = String::new();
    heading(&mut text, "# Handoff", "");
    for (name, words) in [
        ("What was done", &handoff.summary),
        ("What to look at", &handoff.look_at),
        ("How to test", &handoff.how_to_test),
    ] {
        heading(&mut text, &format!("\n## {name}"), words);
    }
    text
}

fn front(fields: &[(&str, Value)]) -> String {
    let mut text = String::from("---\n");
    for (name, value) in fields {
        // JSON is YAML too, and needs no rules of its own for odd characters.
        writeln!(text, "{name}: {value}").expect("writing to a String cannot fail");
    }
    text.push_str("---\n\n");
    text
}

fn heading(text: &mut String, heading: &str, words: &str) {
    writeln!(text, "{heading}").expect("writing to a String cannot fail");
    if !words.trim().is_empty() {
        writeln!(text, "\n{}", words.trim()).expect("writing to a String cannot fail");
    }
}

fn list(text: &mut String, name: &str, entries: &[String]) {
    if entries.is_empty() {
        return;
    }
    writeln!(text, "\n## {name}\n").expect("writing to a String cannot fail");
    for entry in entries {
        // Further lines belong to their entry.
        let entry = entry.trim().lines().collect::<Vec<_>>().join("\n  ");
        writeln!(text, "- {entry}").expect("writing to a String cannot fail");
    }
}

#[cfg(test)]
mod tests {
    use drivers::KeyFile;

    use super::*;

    #[test]
    fn a_scope_is_read_by_people_and_by_programs() {
        let card = scope(&ScopeHandIn {
            summary: "A search.".into(),
            in_scope: vec!["a box: \"q\"\nwith a label".into()],
            out_of_scope: Vec::new(),
            constraints: vec!["no new packages".into()],
            decisions: Vec::new(),
        });
        let expected = "---\ninScope: [\"a box: \\\"q\\\"\\nwith a label\"]\noutOfScope: []\nconstraints: [\"no new packages\"]\n\
             ---\n\n# Scope\n\nA search.\n\n## In scope\n\n- a box: \"q\"\n  with a label\n\n## Constraints\n\n- no new packages\n";
        assert_eq!(card, expected);
    }

    #[test]
    fn research_names_its_files_with_their_reason() {
        let card = research(&ResearchHandIn {
            summary: String::new(),
            key_files: vec![KeyFile { path: "src/a.js".into(), why: "the router".into() }],
            patterns: Vec::new(),
            recommendations: vec!["extend it".into()],
            decisions: Vec::new(),
        });
        assert!(card.contains("# Research\n\n## Key files\n\n- `src/a.js`: the router\n"), "{card}");
        assert!(card.contains("keyFiles: [{\"path\":\"src/a.js\",\"why\":\"the router\"}]\n"), "{card}");
    }

    #[test]
    fn a_handoff_has_its_three_parts_in_order() {
        let text = handoff(&HandoffHandIn {
            summary: "added it".into(),
            look_at: "a.js".into(),
            how_to_test: "npm test".into(),
            decisions: Vec::new(),
        });
        let expected =
            "# Handoff\n\n## What was done\n\nadded it\n\n## What to look at\n\na.js\n\n## How to test\n\nnpm test\n";
        assert_eq!(text, expected);
    }
}
