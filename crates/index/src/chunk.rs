//! A parsed file as chunks: one per definition with its doc comment, and what lies between. Pure.

use std::collections::BTreeSet;

use tree_sitter::Node;

use crate::language::Language;
use crate::plain;

/// Most lines of a chunk; a longer definition is cut into several under the same name.
const MOST_LINES: usize = 120;
/// Deeper than people nest definitions; generated code may not overflow the stack.
const DEEPEST: usize = 24;
/// Parsing takes no longer than this many bytes are worth.
const MOST_BYTES: usize = 512 * 1024;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// From 1, inclusive.
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// `Container.name`, or a heading.
    pub(crate) symbol: Option<String>,
    /// Comments that belong to it.
    pub(crate) docs: String,
    pub(crate) body: String,
}

pub(crate) fn of(language: Option<&Language>, path: &std::path::Path, text: &str) -> Vec<Chunk> {
    let parsed = language.filter(|_| text.len() <= MOST_BYTES).and_then(|language| parsed(language, text));
    parsed.unwrap_or_else(|| plain::chunks(path, text))
}

fn parsed(language: &Language, text: &str) -> Option<Vec<Chunk>> {
    let tree = language.parser()?.parse(text, None)?;
    let lines: Vec<&str> = text.lines().collect();
    let mut walk = Walk { language, text, lines: &lines, chunks: Vec::new(), taken: BTreeSet::new() };
    walk.children(tree.root_node(), "", 0);
    walk.rest();
    walk.chunks.sort_by_key(|chunk| chunk.first);
    Some(walk.chunks)
}

struct Walk<'a> {
    language: &'a Language,
    text: &'a str,
    lines: &'a [&'a str],
    chunks: Vec<Chunk>,
    /// Lines that are in a chunk, from 1.
    taken: BTreeSet<usize>,
}

impl Walk<'_> {
    fn children(&mut self, node: Node<'_>, inside: &str, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor).collect::<Vec<_>>() {
            let kind = child.kind();
            if self.language.containers.contains(&kind) {
                let name = joined(inside, name_of(child, self.text));
                let before = self.chunks.len();
                self.children(child, name.as_deref().unwrap_or(inside), depth + 1);
                self.container(child, name, before);
            } else if self.language.definitions.contains(&kind) {
                self.definition(child, joined(inside, name_of(child, self.text)));
            } else {
                // Exports, decorators, blocks and declaration lists are only wrapping.
                self.children(child, inside, depth + 1);
            }
        }
    }

    fn definition(&mut self, node: Node<'_>, symbol: Option<String>) {
        let (docs, first) = self.docs(node);
        let last = last_line(node);
        self.push(first, last, symbol, docs);
    }

    /// A container's own lines are those that none of its parts took.
    fn container(&mut self, node: Node<'_>, symbol: Option<String>, from: usize) {
        let (docs, first) = self.docs(node);
        let last = last_line(node);
        let parts: Vec<(usize, usize)> = self.chunks[from..].iter().map(|chunk| (chunk.first, chunk.last)).collect();
        let own = (first..=last).filter(|line| !parts.iter().any(|(first, last)| (first..=last).contains(&line)));
        let mut body = String::new();
        for line in own {
            if self.taken.insert(line) {
                body.push_str(self.lines.get(line - 1).copied().unwrap_or_default());
                body.push('\n');
            }
        }
        let shown = last.min(first + MOST_LINES - 1);
        self.chunks.push(Chunk { first, last: shown, symbol, docs, body });
    }

    fn push(&mut self, first: usize, last: usize, symbol: Option<String>, docs: String) {
        let mut docs = docs;
        let mut from = first;
        while from <= last {
            let to = last.min(from + MOST_LINES - 1);
            self.taken.extend(from..=to);
            let body = self.lines.get(from - 1..to.min(self.lines.len())).unwrap_or_default().join("\n");
            self.chunks.push(Chunk {
                first: from,
                last: to,
                symbol: symbol.clone(),
                docs: std::mem::take(&mut docs),
                body,
            });
            from = to + 1;
        }
    }

    /// Comments right before a definition (attributes and decorators may stand between), and a docstring in it.
    fn docs(&self, node: Node<'_>) -> (String, usize) {
        let mut first = node.start_position().row + 1;
        let mut docs = Vec::new();
        let mut above = node;
        // `export function …` and decorated definitions: the comment stands before the wrapping.
        while let Some(parent) = above.parent()
            && parent.parent().is_some()
            && parent.start_byte() == above.start_byte().min(parent.start_byte())
            && matches!(parent.kind(), "export_statement" | "decorated_definition" | "declaration")
        {
            above = parent;
            first = first.min(above.start_position().row + 1);
        }
        while let Some(before) = above.prev_named_sibling() {
            let comment = before.kind().contains("comment");
            let attribute = matches!(before.kind(), "attribute_item" | "decorator" | "marker_annotation");
            // A line comment of Rust ends at the start of the next line.
            let end = last_line(before);
            if !(comment || attribute) || end + 1 < first {
                break;
            }
            if comment {
                docs.push(&self.text[before.byte_range()]);
            }
            first = first.min(before.start_position().row + 1);
            above = before;
        }
        docs.reverse();
        let mut docs = docs.join("\n");
        if let Some(docstring) = docstring(node) {
            docs.push_str(&self.text[docstring.byte_range()]);
        }
        (docs, first)
    }

    /// Lines outside every definition: imports, statements, licence.
    fn rest(&mut self) {
        let mut from = None;
        for line in 1..=self.lines.len() + 1 {
            let free = line <= self.lines.len() && !self.taken.contains(&line);
            match (free, from) {
                (true, None) => from = Some(line),
                (false, Some(first)) => {
                    from = None;
                    let blank = self.lines[first - 1..line - 1].iter().all(|line| line.trim().len() < 3);
                    if !blank {
                        self.push(first, line - 1, None, String::new());
                    }
                }
                (true, Some(_)) | (false, None) => {}
            }
        }
    }
}

fn last_line(node: Node<'_>) -> usize {
    let end = node.end_position();
    // A node that ends at the very start of a line does not reach into it.
    if end.column == 0 && end.row > node.start_position().row { end.row } else { end.row + 1 }
}

fn joined(inside: &str, name: Option<String>) -> Option<String> {
    match (inside, name) {
        ("", name) => name,
        (inside, Some(name)) => Some(format!("{inside}.{name}")),
        (inside, None) => Some(inside.to_owned()),
    }
}

fn docstring(node: Node<'_>) -> Option<Node<'_>> {
    let first = node.child_by_field_name("body")?.named_child(0)?;
    let string = match first.kind() {
        "expression_statement" => first.named_child(0)?,
        "string" => first,
        _ => return None,
    };
    (string.kind() == "string").then_some(string)
}

/// The name a definition gives, wherever its grammar keeps it.
fn name_of(node: Node<'_>, text: &str) -> Option<String> {
    let plain = |node: Node<'_>| Some(text.get(node.byte_range())?.chars().take(120).collect());
    if let Some(name) = node.child_by_field_name("name") {
        return plain(name);
    }
    if node.kind() == "impl_item" {
        return node.child_by_field_name("type").and_then(plain);
    }
    let mut next = node.child_by_field_name("declarator").or_else(|| first_named(node));
    for _ in 0..8 {
        let now = next?;
        if now.kind().ends_with("identifier") {
            return plain(now);
        }
        if let Some(name) = now.child_by_field_name("name") {
            return plain(name);
        }
        next = now.child_by_field_name("declarator").or_else(|| first_named(now));
    }
    None
}

fn first_named(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|child| !child.kind().contains("comment"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, wanted: &[(&str, usize, usize)]) {
        let chunks = of(Language::of(Path::new(path)), Path::new(path), text);
        let seen: Vec<(&str, usize, usize)> =
            chunks.iter().map(|chunk| (chunk.symbol.as_deref().unwrap_or("-"), chunk.first, chunk.last)).collect();
        assert_eq!(seen, wanted, "{path}");
    }

    #[test]
    fn rust_definitions_come_with_their_docs_and_attributes() {
        let text = "use a;\n\n/// Says hello.\n#[inline]\npub fn greet() {\n    x();\n}\n\nimpl Door {\n    /// Opens.\n    fn open(&self) {}\n\n    const N: u8 = 1;\n}\n";
        check(
            "a.rs",
            text,
            &[("-", 1, 2), ("greet", 3, 7), ("Door", 9, 14), ("Door.open", 10, 11), ("Door.N", 13, 13)],
        );
        let chunks = of(Language::of(Path::new("a.rs")), Path::new("a.rs"), text);
        assert!(chunks[1].docs.contains("Says hello") && chunks[1].body.contains("x();"));
        assert!(!chunks[2].body.contains("Opens"), "what its parts say is theirs: {}", chunks[2].body);
    }

    #[test]
    fn scripts_python_go_java_and_c_give_their_names() {
        check(
            "a.ts",
            "// Adds.\nexport function add(a: number) {\n  return a;\n}\nexport const twice = (n: number) => n * 2;\nclass A {\n  run() {}\n}\n",
            &[("add", 1, 4), ("twice", 5, 5), ("A", 6, 8), ("A.run", 7, 7)],
        );
        check(
            "a.py",
            "import x\n\nclass A:\n    \"\"\"A door.\"\"\"\n\n    def run(self):\n        pass\n",
            &[("-", 1, 2), ("A", 3, 7), ("A.run", 6, 7)],
        );
        check(
            "a.go",
            "package a\n\n// Run runs.\nfunc (s *S) Run() {}\n\ntype S struct{}\n",
            &[("-", 1, 2), ("Run", 3, 4), ("S", 6, 6)],
        );
        check("A.java", "class A {\n  /** Runs. */\n  void run() {}\n}\n", &[("A", 1, 4), ("A.run", 2, 3)]);
        check(
            "a.c",
            "#include <x.h>\n/* Runs. */\nstatic int run(int a)\n{\n  return a;\n}\n",
            &[("-", 1, 1), ("run", 2, 6)],
        );
    }

    #[test]
    fn broken_and_huge_code_is_still_cut_into_chunks_that_cover_it() {
        let broken = "fn a( {\n  }}} class ???\nfn b() {}\n";
        let chunks = of(Language::of(Path::new("a.rs")), Path::new("a.rs"), broken);
        assert!(!chunks.is_empty());
        let long = format!("fn long() {{\n{}}}\n", "    step();\n".repeat(500));
        let chunks = of(Language::of(Path::new("a.rs")), Path::new("a.rs"), &long);
        assert_eq!(chunks.len(), 5);
        assert!(chunks.iter().all(|chunk| chunk.symbol.as_deref() == Some("long")));
        assert_eq!(chunks.last().unwrap().last, 502);
    }
}
