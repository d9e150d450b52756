//! Markdown for a terminal, line by line: headings, lists, quotes and code stay what they are,
//! paragraphs are wrapped, and Mermaid blocks are replaced by their drawings. Pure.

use super::{
    clean, diagram,
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
        match Fence::opened_by(line) {
            Some(fence) => {
                let body: Vec<&str> = input.by_ref().take_while(|line| !fence.is_closed_by(line)).collect();
                let language = fence.info.split(|c: char| c.is_whitespace() || c == '{').next().unwrap_or_default();
                let drawing = if language.eq_ignore_ascii_case("mermaid") { drawings.next() } else { None };
                // A language says nothing; whatever else stands beside it is text.
                if fence.info != language || language.len() > 20 {
                    lines.push(format!("    {DIM}{}{DIM:#}", line.trim()));
                }
                lines.extend(block(&body, drawing));
            }
            None => lines.extend(prose(line, width)),
        }
    }
    lines.join("\n")
}

/// The beginning of a block of code, by the rules of CommonMark, which are those of the server's drawings too.
struct Fence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn opened_by(line: &'a str) -> Option<Self> {
        let text = line.trim_start();
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let rest = text.trim_start_matches(mark);
        let (length, info) = (text.len() - rest.len(), rest.trim());
        // Backticks in the words make it inline code.
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self { mark, length, info })
    }

    /// Only marks end a block: words after them would not be shown.
    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        text.len() >= self.length && text.chars().all(|c| c == self.mark)
    }
}

fn block(body: &[&str], drawing: Option<&String>) -> Vec<String> {
    match drawing.filter(|drawing| !drawing.trim().is_empty()) {
        Some(drawing) => {
            let drawing = clean(drawing);
            let drawn = drawing.lines().map(|line| format!("  {BUSY}{line}{BUSY:#}"));
            let rest = diagram::undrawn(body, &drawing);
            let head = (!rest.is_empty()).then(|| format!("  {DIM}in its source, and not in the drawing:{DIM:#}"));
            let rest = rest.iter().map(|line| format!("    {DIM}{}{DIM:#}", line.trim_end()));
            drawn.chain(head).chain(rest).collect()
        }
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
    let parts: Vec<&str> = text.split('`').collect();
    for (index, part) in parts.iter().enumerate() {
        let is_closed = index % 2 == 1 && index + 1 < parts.len();
        if is_closed {
            shown.push_str(&format!("{BUSY}{part}{BUSY:#}"));
        } else {
            shown.push_str(if index % 2 == 1 { "`" } else { "" });
            shown.push_str(&bold(part));
        }
    }
    shown
}

/// Marks stay where they do not stand around words: in `src/**` they are a path.
fn bold(text: &str) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("**") {
        shown.push_str(before);
        let is_open = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '/');
        let inner = after.split_once("**").filter(|(inner, _)| {
            let begins = |c: char| c.is_whitespace() || matches!(c, '/' | '*');
            is_open && !inner.is_empty() && !inner.starts_with(begins) && !inner.ends_with(begins)
        });
        match inner {
            Some((inner, after)) => {
                shown.push_str(&format!("{BOLD}{inner}{BOLD:#}"));
                rest = after;
            }
            None => {
                shown.push_str("**");
                rest = after;
            }
        }
    }
    shown + rest
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
    fn nothing_that_an_agent_reads_is_left_out() {
        let shown = |source: &str, drawings: &[String]| plain(&render(source, drawings, 80));
        for source in [
            "---\ntitle: EVIL\n---\n# Plan",
            "```js EVIL words\na\n```",
            "```\na\n``` EVIL\nb\n```",
            "~~~\na\n~~~~ EVIL",
            "a <!-- EVIL --> b",
            "```mermaid EVIL\nflowchart TD\n```",
        ] {
            assert!(shown(source, &["drawn".to_owned()]).contains("EVIL"), "{source}");
        }
        let commented = "```mermaid\nflowchart TD\n  %% EVIL\n  A[One]\n```";
        assert!(shown(commented, &["One".to_owned()]).ends_with("not in the drawing:\n      %% EVIL"));
        // A drawing that belongs to another block hides nothing of this one.
        assert!(shown("    ```mermaid\n    A[EVIL]\n    ```", &["Good".to_owned()]).contains("A[EVIL]"));
    }

    #[test]
    fn stars_and_backticks_that_mark_no_words_stay() {
        let shown = |source: &str| plain(&inline(source));
        for text in ["remove src/** and lib/** too", "**/*.ts and **/*.js", "a ** b", "it's 5` long", "2**3**4"] {
            assert_eq!(shown(text), text);
        }
        assert_eq!(shown("a **b c** `d**`, **e**"), "a b c d**, e");
    }

    #[test]
    fn a_diagram_without_a_drawing_shows_its_source() {
        assert_eq!(plain(&render("```mermaid\nflowchart TD\n", &[], 80)), "    flowchart TD");
    }
}
