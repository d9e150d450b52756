//! Prepares Mermaid text for the parser: front matter and `%%{…}%%` directives
//! become blank lines, so that line numbers hold and no configuration written by
//! an agent is ever interpreted. Refuses nesting deeper than any real diagram.

use crate::diagram::{DiagramError, MAX_EDGES, Measure};

const MAX_DEPTH: usize = 32;

/// A long arrow (`------>`) is several pairs of marks, so the count is taken with a margin.
const LINKS_PER_EDGE: usize = 4;

pub(super) fn clean(source: &str) -> Result<String, DiagramError> {
    let unix = source.replace("\r\n", "\n").replace(['\r', '\0'], "\n");
    let text = blank_directives(&blank_front_matter(&unix));
    if text.trim().is_empty() {
        return Err(DiagramError::Empty);
    }
    let found = depth(&text);
    if found > MAX_DEPTH {
        return Err(DiagramError::TooLarge { measure: Measure::Depth, found, limit: MAX_DEPTH });
    }
    let found = most_edges_by_ampersand(&text).max(links(&text) / LINKS_PER_EDGE);
    if found > MAX_EDGES {
        return Err(DiagramError::TooLarge { measure: Measure::Edges, found, limit: MAX_EDGES });
    }
    Ok(text)
}

/// `a & b --> c & d` is four edges, so a short line can make millions of them.
/// Counts the most that such lines could make; a lone `&` in a label counts for nothing.
fn most_edges_by_ampersand(text: &str) -> usize {
    text.lines()
        .map(|line| line.matches('&').count())
        .filter(|joins| *joins > 3)
        .map(|joins| (joins / 2 + 1) * (joins.div_ceil(2) + 1))
        .sum()
}

/// Pairs of marks that arrows are made of. The parser's time grows with their square.
fn links(text: &str) -> usize {
    ["--", "==", "-."].iter().map(|link| text.matches(link).count()).sum()
}

/// The word that should have named the diagram type, shortened for a message.
pub(super) fn first_word(source: &str) -> String {
    let line = source
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("%%") && !line.starts_with("---"));
    let word = line.and_then(|line| line.split_whitespace().next()).unwrap_or_default();
    word.chars().filter(|c| !c.is_control()).take(40).collect()
}

fn blank_front_matter(source: &str) -> String {
    let start = source.len() - source.trim_start().len();
    let body = &source[start..];
    let Some(rest) = body.strip_prefix("---\n") else {
        return source.to_owned();
    };
    let end = rest
        .split_inclusive('\n')
        .scan(0, |offset, line| {
            let end = *offset + line.len();
            *offset = end;
            Some((line.trim_end() == "---", end))
        })
        .find_map(|(closes, end)| closes.then_some(end));
    match end {
        Some(end) => blank(&source[..start + 4 + end]) + &rest[end..],
        None => source.to_owned(),
    }
}

fn blank_directives(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(start) = rest.find("%%{") {
        let Some(length) = rest[start..].find("}%%") else {
            break;
        };
        text.push_str(&rest[..start]);
        text.push_str(&blank(&rest[start..start + length + 3]));
        rest = &rest[start + length + 3..];
    }
    text.push_str(rest);
    text
}

fn blank(text: &str) -> String {
    "\n".repeat(text.matches('\n').count())
}

/// Deepest nesting of blocks and braces, whichever words or marks open them.
fn depth(text: &str) -> usize {
    let mut blocks: usize = 0;
    let mut braces: usize = 0;
    let mut deepest = 0;
    for line in text.lines().map(str::trim) {
        let word = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        match word.to_ascii_lowercase().as_str() {
            "end" => blocks = blocks.saturating_sub(1),
            "subgraph" | "loop" | "alt" | "opt" | "par" | "critical" | "break" | "rect" | "box" => blocks += 1,
            _ => {}
        }
        for c in line.chars() {
            match c {
                '{' | '[' | '(' => braces += 1,
                '}' | ']' | ')' => braces = braces.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(blocks + braces);
        }
        deepest = deepest.max(blocks);
        // Only `{` may stay open over a line end: a class body, a composite state.
        if !line.ends_with('{') && line.matches('{').count() > line.matches('}').count() {
            braces = braces.saturating_sub(line.matches('{').count() - line.matches('}').count());
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_and_directives_are_blank_and_lines_keep_their_numbers() {
        let source = "---\ntitle: x\n---\n%%{init: {\n'a': 1}}%%\nflowchart TD\n";
        assert_eq!(clean(source).unwrap(), "\n\n\n\n\nflowchart TD\n");
    }

    #[test]
    fn a_front_matter_that_never_closes_is_left_for_the_parser_to_refuse() {
        assert_eq!(clean("---\ntitle: x\n").unwrap(), "---\ntitle: x\n");
    }

    #[test]
    fn nothing_but_configuration_is_an_empty_diagram() {
        assert_eq!(clean("%%{init: {}}%%\n"), Err(DiagramError::Empty));
    }

    #[test]
    fn deep_nesting_is_refused_before_parsing() {
        let source = format!("flowchart TD\n{}", "subgraph a\n".repeat(40));
        assert!(matches!(clean(&source), Err(DiagramError::TooLarge { measure: Measure::Depth, .. })));
    }
}
