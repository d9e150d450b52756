//! Markdown for a terminal, line by line: headings, lists, quotes and code stay what they are,
//! paragraphs are wrapped, and Mermaid blocks are replaced by their drawings. Pure.

use super::{
    clean,
    style::{BOLD, BUSY, DIM},
    words::wrap,
};

/// Lays a document out; `drawings` stand in for its Mermaid blocks, in their order.
pub(crate) fn render(source: &str, drawings: &[String], width: usize) -> String {
    let source = clean(source);
    let mut drawings = drawings.iter();
    let mut lines = Vec::new();
    let mut input = source.lines();
    while let Some(line) = input.next() {
        match line.trim_start().strip_prefix("```") {
            Some(language) => {
                let body: Vec<&str> = input.by_ref().take_while(|line| !line.trim_start().starts_with("```")).collect();
                let drawing = if language.trim() == "mermaid" { drawings.next() } else { None };
                lines.extend(block(&body, drawing));
            }
            None => lines.extend(prose(line, width)),
        }
    }
    lines.join("\n")
}

fn block(body: &[&str], drawing: Option<&String>) -> Vec<String> {
    match drawing.filter(|drawing| !drawing.trim().is_empty()) {
        Some(drawing) => clean(drawing).lines().map(|line| format!("  {BUSY}{line}{BUSY:#}")).collect(),
        None => body.iter().map(|line| format!("    {DIM}{line}{DIM:#}")).collect(),
    }
}

fn prose(line: &str, width: usize) -> Vec<String> {
    let heading = line.trim_start_matches('#');
    if heading.len() < line.len() && heading.starts_with(' ') {
        return vec![format!("{BOLD}{}{BOLD:#}", inline(heading.trim()))];
    }
    if line.starts_with('|') {
        return vec![inline(line)];
    }
    let (lead, text) = item(line);
    let hang = " ".repeat(lead.chars().count());
    let room = width.saturating_sub(hang.len()).max(20);
    let pieces = wrap(&inline(text), room).into_iter().enumerate();
    pieces.map(|(index, piece)| format!("{}{}", if index == 0 { &lead } else { &hang }, piece)).collect()
}

/// Splits a list item or quote into its lead and its text.
fn item(line: &str) -> (String, &str) {
    let text = line.trim_start();
    let indent = " ".repeat(line.len() - text.len());
    for (mark, shown) in [("- [ ] ", "☐ "), ("- [x] ", "☑ "), ("- ", "• "), ("* ", "• "), ("> ", "│ ")] {
        if let Some(rest) = text.strip_prefix(mark) {
            return (format!("{indent}{shown}"), rest);
        }
    }
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    match text[digits..].strip_prefix(". ") {
        Some(rest) if digits > 0 => (format!("{indent}{}. ", &text[..digits]), rest),
        Some(_) | None => (indent, text),
    }
}

/// Code and bold text inside a line.
fn inline(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for (index, part) in text.split('`').enumerate() {
        if index % 2 == 1 {
            shown.push_str(&format!("{BUSY}{part}{BUSY:#}"));
        } else {
            for (index, part) in part.split("**").enumerate() {
                shown.push_str(&if index % 2 == 1 { format!("{BOLD}{part}{BOLD:#}") } else { part.to_owned() });
            }
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plain;

    #[test]
    fn a_plan_reads_well_and_its_diagram_is_drawn() {
        let source = "# Search\n\nAdd **search** with `q` over all notes, newest first, and nothing else.\n\n- [ ] one step that is long enough to wrap\n1. two\n\n```mermaid\nflowchart TD\n```\n\n```js\nlet a = 1;\n```\n";
        let drawing = "┌───┐\n│ A │\n└───┘".to_owned();
        let expected = "\
Search

Add search with q over all notes, newest
first, and nothing else.

☐ one step that is long enough to wrap
1. two

  ┌───┐
  │ A │
  └───┘

    let a = 1;";
        assert_eq!(plain(&render(source, &[drawing], 44)), expected);
    }

    #[test]
    fn a_diagram_without_a_drawing_shows_its_source() {
        assert_eq!(plain(&render("```mermaid\nflowchart TD\n", &[], 80)), "    flowchart TD");
    }
}
