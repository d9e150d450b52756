//! What a failed edit is told: where the text it looked for nearly stands. Pure.

use similar::TextDiff;

use crate::shorten;

const MOST_LINES: usize = 5_000;
const LIKE_ENOUGH: f32 = 0.6;

/// Words for a text that does not occur in the file.
pub(super) fn hint(content: &str, wanted: &str) -> String {
    let lines: Vec<&str> = content.lines().take(MOST_LINES).collect();
    let wanted: Vec<&str> = wanted.lines().collect();
    if let Some(at) = same_but_for_space(&lines, &wanted) {
        let last = at + wanted.len();
        return format!(
            "lines {} to {last} differ from it only in white space:\n{}",
            at + 1,
            numbered(&lines, at, last)
        );
    }
    match nearest(&lines, &wanted) {
        Some(at) => {
            let last = (at + wanted.len().max(3)).min(lines.len());
            format!("the nearest text is:\n{}", numbered(&lines, at, last))
        }
        None => "nothing like it is there; read the file again".to_owned(),
    }
}

fn same_but_for_space(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let same = |window: &[&str]| window.iter().zip(wanted).all(|(line, wanted)| line.trim() == wanted.trim());
    if wanted.is_empty() { None } else { lines.windows(wanted.len()).position(same) }
}

/// The line most like the first wanted line that says something.
fn nearest(lines: &[&str], wanted: &[&str]) -> Option<usize> {
    let (skipped, first) = wanted.iter().enumerate().find(|(_, line)| !line.trim().is_empty())?;
    let first = first.trim();
    let likeness = |line: &str| {
        let (short, long) = (line.len().min(first.len()), line.len().max(first.len()));
        // Lines of very different length cannot be alike; comparing them would only cost time.
        if short * 3 < long || long > 500 { 0.0 } else { TextDiff::from_chars(line, first).ratio() }
    };
    let scored = lines.iter().enumerate().map(|(at, line)| (at, likeness(line.trim())));
    let (at, score) = scored.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    (score >= LIKE_ENOUGH).then(|| at.saturating_sub(skipped))
}

fn numbered(lines: &[&str], from: usize, to: usize) -> String {
    let shown = lines.iter().enumerate().take(to).skip(from).take(20);
    shown.map(|(at, line)| format!("{:>6}→{}\n", at + 1, shorten::head(line, 300))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_indentation_is_named_as_such() {
        let said = hint("fn a() {\n    b();\n}\n", "fn a() {\n\tb();\n}");
        assert!(said.starts_with("lines 1 to 3 differ from it only in white space"), "{said}");
    }

    #[test]
    fn the_most_alike_line_is_shown() {
        let said = hint("alpha\nlet count = items.len();\nomega\n", "let counts = items.len();");
        assert!(said.contains("     2→let count = items.len();"), "{said}");
        assert_eq!(hint("alpha\n", "something else"), "nothing like it is there; read the file again");
    }
}
