//! Lines of Markdown as far as a task's file needs them: what is code, a quote or a comment, and what is a heading.
//! Total: any text has a reading, and the same text always the same one.

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// Belongs to a code block, a quote or a comment, or is the fence of one.
    Set,
    /// A heading of the second level, with its title.
    Heading(&'a str),
    /// Nothing but space.
    Blank,
    /// Anything else.
    Text,
}

/// Where a fence was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

/// What the lines so far lead into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Scanner {
    fence: Option<Fence>,
    comment: bool,
    // Whether an indented line here is code: after a blank line or more code, not inside a paragraph.
    code_may_begin: bool,
    begun: bool,
}

impl Scanner {
    /// Reads the next line, without its end.
    pub(super) fn line<'a>(&mut self, line: &'a str) -> Kind<'a> {
        let after_blank = self.code_may_begin || !self.begun;
        self.begun = true;
        let kind = self.kind(line, after_blank);
        self.code_may_begin = match kind {
            Kind::Blank => true,
            Kind::Set => after_blank && indent(line) >= 4,
            Kind::Heading(_) => true,
            Kind::Text => false,
        };
        kind
    }

    /// What must follow so that the next line stands on its own; nothing when it does.
    pub(super) fn closing(&self) -> Option<String> {
        match (self.fence, self.comment) {
            (Some(fence), _) => {
                Some(format!("{}{}", " ".repeat(fence.indent), fence.mark.to_string().repeat(fence.length)))
            }
            (None, true) => Some("-->".to_owned()),
            (None, false) => None,
        }
    }

    fn kind<'a>(&mut self, line: &'a str, code_may_begin: bool) -> Kind<'a> {
        let (indent, inner) = (indent(line), line.trim());
        if self.comment {
            self.comment = !inner.contains("-->");
            return Kind::Set;
        }
        if let Some(fence) = self.fence {
            // A fence inside a list item ends where the item does.
            let left = fence.indent >= 4 && indent < 4 && !inner.is_empty();
            if !left {
                if closes(fence, inner) {
                    self.fence = None;
                }
                return Kind::Set;
            }
            self.fence = None;
        }
        if inner.is_empty() {
            return Kind::Blank;
        }
        if let Some(fence) = opens(inner, indent) {
            self.fence = Some(fence);
            return Kind::Set;
        }
        if indent >= 4 {
            return if code_may_begin { Kind::Set } else { Kind::Text };
        }
        if inner.starts_with('>') {
            return Kind::Set;
        }
        if let Some(rest) = inner.strip_prefix("<!--") {
            self.comment = !rest.contains("-->");
            return Kind::Set;
        }
        heading(inner).map_or(Kind::Text, Kind::Heading)
    }
}

/// Columns of space a line begins with.
fn indent(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns
}

fn opens(inner: &str, indent: usize) -> Option<Fence> {
    let mark = inner.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = inner.chars().take_while(|c| *c == mark).count();
    // What follows backticks must have none, or it is code within a line.
    let info = inner.get(length..).unwrap_or_default();
    (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Fence { mark, length, indent })
}

fn closes(fence: Fence, inner: &str) -> bool {
    inner.chars().all(|c| c == fence.mark) && inner.chars().count() >= fence.length
}

/// The title of a heading of the second level.
fn heading(inner: &str) -> Option<&str> {
    let rest = inner.strip_prefix("##").filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))?;
    let title = rest.trim();
    let bare = title.trim_end_matches('#');
    // Closing marks belong to the heading only when a space sets them apart.
    Some(if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { title })
}

/// The lines of a text with their ends.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}

/// A line without its end.
pub(super) fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}
