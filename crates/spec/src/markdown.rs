//! Finds headings and fenced blocks in Markdown, with their line numbers.
//! Knows nothing of Mermaid, and never renders Markdown.

/// A heading with the text under it, up to the next heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub level: usize,
    pub title: String,
    /// Line of the heading, counted from 1.
    pub line: usize,
    pub body: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FenceEnd {
    Closed,
    /// The document ended before the closing fence.
    Missing,
}

/// A fenced block. Its first line of content is `line + 1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// First word of the info string, lower-case; empty when there is none.
    pub language: String,
    /// Line of the opening fence, counted from 1.
    pub line: usize,
    pub body: String,
    pub end: FenceEnd,
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Outline {
    pub sections: Vec<Section>,
    pub fences: Vec<Fence>,
}

/// Scans a document line by line: one pass, no backtracking.
pub fn outline(markdown: &str) -> Outline {
    let mut outline = Outline::default();
    let mut open: Option<OpenFence> = None;
    let mut list_indent = 0;
    for (index, line) in markdown.lines().enumerate() {
        let number = index + 1;
        if let Some(fence) = &mut open {
            if fence.is_closed_by(line) {
                outline.fences.extend(open.take().map(|fence| fence.finish(FenceEnd::Closed)));
            } else {
                fence.push(line);
            }
            push_body(&mut outline, line);
            continue;
        }
        list_indent = content_indent(line, list_indent);
        open = OpenFence::from_line(line, number, list_indent);
        if open.is_none()
            && let Some((level, title)) = heading(line)
        {
            let title = title.to_owned();
            let body = String::new();
            outline.sections.push(Section { level, title, line: number, body });
        } else {
            push_body(&mut outline, line);
        }
    }
    outline.fences.extend(open.map(|fence| fence.finish(FenceEnd::Missing)));
    outline
}

fn push_body(outline: &mut Outline, line: &str) {
    if let Some(section) = outline.sections.last_mut() {
        section.body.push_str(line);
        section.body.push('\n');
    }
}

struct OpenFence {
    mark: char,
    length: usize,
    indent: usize,
    fence: Fence,
}

impl OpenFence {
    fn from_line(line: &str, number: usize, list_indent: usize) -> Option<Self> {
        let indent = indent_of(line);
        if indent > list_indent + 3 {
            return None;
        }
        let (mark, length, info) = fence_marks(line.trim_start_matches(' '))?;
        // An info string with a backtick is inline code, not a fence.
        if mark == '`' && info.contains('`') {
            return None;
        }
        let word = info.split(|c: char| c.is_whitespace() || c == '{').find(|word| !word.is_empty());
        let fence = Fence {
            language: word.map(str::to_lowercase).unwrap_or_default(),
            line: number,
            body: String::new(),
            end: FenceEnd::Missing,
        };
        Some(Self { mark, length, indent, fence })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        indent_of(line) <= self.indent + 3
            && fence_marks(line.trim_start_matches(' ')).is_some_and(|(mark, length, rest)| {
                mark == self.mark && length >= self.length && rest.trim().is_empty()
            })
    }

    fn push(&mut self, line: &str) {
        let spare = indent_of(line).min(self.indent);
        self.fence.body.push_str(&line[spare..]);
        self.fence.body.push('\n');
    }

    fn finish(mut self, end: FenceEnd) -> Fence {
        self.fence.end = end;
        self.fence
    }
}

/// The fence character, how many of them, and what follows.
fn fence_marks(text: &str) -> Option<(char, usize, &str)> {
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let length = text.len() - rest.len();
    (length >= 3).then_some((mark, length, rest))
}

fn heading(line: &str) -> Option<(usize, &str)> {
    if indent_of(line) > 3 {
        return None;
    }
    let text = line.trim_start_matches(' ');
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    if !(1..=6).contains(&level) || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let title = rest.trim();
    let bare = title.trim_end_matches('#');
    let closing = bare.is_empty() || bare.ends_with([' ', '\t']);
    Some((level, if closing { bare.trim_end() } else { title }))
}

/// Where the content of the list item that holds this line begins: a fence in a
/// list item is indented from there, not from the margin.
fn content_indent(line: &str, current: usize) -> usize {
    if line.trim().is_empty() {
        return current;
    }
    let indent = indent_of(line);
    let text = &line[indent..];
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let marker = match text[digits..].chars().next() {
        Some('-' | '*' | '+') if digits == 0 => 1,
        Some('.' | ')') if (1..=9).contains(&digits) => digits + 1,
        _ if indent < current => return 0,
        _ => return current,
    };
    match indent_of(&text[marker..]) {
        0 => current.min(indent),
        gap => indent + marker + gap.min(4),
    }
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fences(markdown: &str, expected: &[(&str, usize, &str, FenceEnd)]) {
        let found = outline(markdown).fences;
        let found: Vec<_> = found.iter().map(|f| (f.language.as_str(), f.line, f.body.as_str(), f.end)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_backtick_fence_has_its_language_line_and_body() {
        check_fences("# Plan\n\n```mermaid\nA\n```\n", &[("mermaid", 3, "A\n", FenceEnd::Closed)]);
    }

    #[test]
    fn a_tilde_fence_is_not_closed_by_backticks() {
        check_fences("~~~ Mermaid title\n```\nA\n~~~", &[("mermaid", 1, "```\nA\n", FenceEnd::Closed)]);
    }

    #[test]
    fn a_longer_fence_may_hold_a_shorter_one() {
        check_fences("````md\n```mermaid\nA\n```\n````\n", &[("md", 1, "```mermaid\nA\n```\n", FenceEnd::Closed)]);
    }

    #[test]
    fn an_indented_fence_loses_only_its_own_indent() {
        check_fences("   ```mermaid\n   A\n     B\n  ```", &[("mermaid", 1, "A\n  B\n", FenceEnd::Closed)]);
    }

    #[test]
    fn four_spaces_at_the_margin_are_code_and_no_fence() {
        check_fences("    ```mermaid\n    A\n    ```", &[]);
    }

    #[test]
    fn a_fence_inside_a_list_item_counts_its_indent_from_the_item() {
        check_fences("10. Step\n\n    ```mermaid\n    A\n    ```\n", &[("mermaid", 3, "A\n", FenceEnd::Closed)]);
    }

    #[test]
    fn inline_code_of_three_backticks_opens_no_fence() {
        check_fences("```mermaid``` is a word\n", &[]);
    }

    #[test]
    fn a_fence_that_never_ends_says_so() {
        check_fences("```mermaid\nA", &[("mermaid", 1, "A\n", FenceEnd::Missing)]);
    }

    #[test]
    fn headings_hold_their_text_and_fences_hide_theirs() {
        let sections = outline("# Plan #\nintro\n```\n# no\n```\n## Flow\ntext\n#nor this\n").sections;
        let found: Vec<_> = sections.iter().map(|s| (s.level, s.title.as_str(), s.line, s.body.as_str())).collect();
        assert_eq!(found, [(1, "Plan", 1, "intro\n```\n# no\n```\n"), (2, "Flow", 6, "text\n#nor this\n"),]);
    }
}
