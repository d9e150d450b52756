//! Turns the library's errors into ours: a line and a reason that a person or a
//! model can act on. Never shows the parser's table of expected tokens.

use merman::Error;

use crate::diagram::DiagramError;

pub(super) fn explain(error: &Error, source: &str) -> DiagramError {
    match error {
        Error::DiagramParse { diagnostic, .. } => {
            let offset = diagnostic.span().map(|span| span.start);
            let line = offset.map_or_else(|| header_line(source), |at| line_at(source, at));
            DiagramError::Syntax {
                line,
                reason: reason(diagnostic.message(), source, line),
                hint: hint(diagnostic.message()),
            }
        }
        Error::DetectType(_) | Error::UnsupportedDiagram { .. } => {
            DiagramError::UnknownKind { word: super::source::first_word(source) }
        }
        Error::MalformedFrontMatter => DiagramError::Syntax {
            line: 1,
            reason: "the front matter opened with `---` is never closed".to_owned(),
            hint: "leave the front matter out, or close it with a line `---`",
        },
        other @ (Error::OperationCancelled(_)
        | Error::ThemeColor(_)
        | Error::RuntimePolicy(_)
        | Error::InvalidDirectiveJson { .. }
        | Error::InvalidFrontMatterYaml { .. }) => DiagramError::Unreadable { reason: shorten(&other.to_string()) },
    }
}

fn reason(message: &str, source: &str, line: usize) -> String {
    let first = shorten(message.lines().next().unwrap_or_default());
    let text = source.lines().nth(line - 1).map(str::trim).unwrap_or_default();
    if text.is_empty() { first } else { format!("{first}, in `{}`", shorten(text)) }
}

/// What to do about the library's most frequent complaints.
fn hint(message: &str) -> &'static str {
    const HINTS: [(&str, &str); 9] = [
        ("Unterminated", "close every bracket and quote"),
        ("text label", "put labels with punctuation in quotes: `A[\"Pay (card)\"]`"),
        ("edge operator", "write arrows as `A --> B` or `A -->|label| B`"),
        ("direction", "use one of the directions TD, BT, LR or RL"),
        ("expected \"end\"", "close every `subgraph` with a line `end`"),
        ("unexpected end", "use another id than `end`, which closes a block"),
        ("expected style separator, colon", "name every relation: `USER ||--o{ ORDER : places`"),
        ("expected text", "give every message a text: `Web->>API: POST /login`"),
        ("attr word", "write every attribute as type and name: `string email`"),
    ];
    let known = HINTS.iter().find(|(complaint, _)| message.contains(complaint));
    known.map_or("write that line in plain Mermaid, with labels in quotes", |(_, hint)| hint)
}

fn header_line(source: &str) -> usize {
    source.lines().position(|line| !line.trim().is_empty()).map_or(1, |index| index + 1)
}

fn line_at(source: &str, offset: usize) -> usize {
    let before = &source.as_bytes()[..offset.min(source.len())];
    let lines = source.lines().count().max(1);
    (before.iter().filter(|byte| **byte == b'\n').count() + 1).min(lines)
}

fn shorten(text: &str) -> String {
    const MAX_CHARS: usize = 120;
    let visible = text.chars().filter(|c| !c.is_control());
    let mut short: String = visible.take(MAX_CHARS).collect();
    if text.chars().count() > MAX_CHARS {
        short.push('…');
    }
    short
}
