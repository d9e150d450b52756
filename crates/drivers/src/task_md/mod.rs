//! TASK.md: the file through which a task and an agent without tools of ours speak. Front matter for the facts, one
//! section each for context, questions, notes, handoff and review. Does no I/O, takes any bytes, loses nothing.

mod front;
mod meaning;
mod scan;
mod sheet;

pub use front::FrontProblem;
pub use meaning::{hand_in, missing};
pub use sheet::TaskSheet;

use domain::{TaskArtifacts, Verdict};

use front::Front;
use scan::{Kind, Scanner, bare, lines};

/// Where it is, in the workspace.
pub const TASK_FILE: &str = "TASK.md";
/// Most bytes that are read of it.
pub const MAX_TASK_FILE: u64 = 1024 * 1024;

const BOM: char = '\u{feff}';

/// A section that has a meaning; others are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSection {
    /// The plan, and what else the worker should know.
    Context,
    /// What the worker wants to know.
    Questions,
    /// What the worker notes.
    Notes,
    /// What the worker hands over.
    Handoff,
    /// What the reviewer says.
    Review,
}

impl TaskSection {
    /// All of them, in the order they are written.
    pub const ALL: [Self; 5] = [Self::Context, Self::Questions, Self::Notes, Self::Handoff, Self::Review];

    /// Its title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Context => "Context",
            Self::Questions => "Questions",
            Self::Notes => "Notes",
            Self::Handoff => "Handoff",
            Self::Review => "Review",
        }
    }
}

/// A task's file, every line of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskFile {
    bom: bool,
    /// The marks as written, around what is between them.
    front: Option<(String, Front, String)>,
    /// What stands before the first heading.
    preamble: String,
    parts: Vec<Part>,
    problems: Vec<FrontProblem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    /// The line of the heading, as written.
    heading: String,
    title: String,
    /// What follows, as written.
    text: String,
}

impl TaskFile {
    /// Reads any bytes.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let (bom, text) = text.strip_prefix(BOM).map_or((false, &*text), |rest| (true, rest));
        let mut file = Self { bom, ..Self::default() };
        let body = file.read_front(text);
        let mut scanner = Scanner::default();
        for line in lines(body) {
            match (scanner.line(bare(line)), file.parts.last_mut()) {
                (Kind::Heading(title), _) => {
                    file.parts.push(Part { heading: line.to_owned(), title: title.to_owned(), text: String::new() })
                }
                (_, Some(part)) => part.text.push_str(line),
                (_, None) => file.preamble.push_str(line),
            }
        }
        file
    }

    /// Takes the front matter off, if there is one that ends.
    fn read_front<'a>(&mut self, text: &'a str) -> &'a str {
        let Some(first) = lines(text).next().filter(|line| bare(line).trim_end() == "---") else { return text };
        let mut end = first.len();
        for line in lines(&text[end..]) {
            if matches!(bare(line).trim_end(), "---" | "...") {
                let inner = Front::read(&text[first.len()..end], 2, &mut self.problems);
                self.front = Some((first.to_owned(), inner, line.to_owned()));
                return &text[end + line.len()..];
            }
            end += line.len();
        }
        let message = "the front matter does not end; close it with `---`".to_owned();
        self.problems.push(FrontProblem { line: 1, message });
        text
    }

    /// The whole text again: what was not changed is as it was read.
    #[must_use]
    pub fn render(&self) -> String {
        let mut text = String::new();
        text.extend(self.bom.then_some(BOM));
        if let Some((open, front, close)) = &self.front {
            text.push_str(open);
            front.render(&mut text);
            text.push_str(close);
        }
        text.push_str(&self.preamble);
        for part in &self.parts {
            text.push_str(&part.heading);
            text.push_str(&part.text);
        }
        text
    }

    /// Lines of the front matter that cannot be read.
    #[must_use]
    pub fn problems(&self) -> &[FrontProblem] {
        &self.problems
    }

    /// A value of the front matter.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.front.as_ref().and_then(|(_, front, _)| front.get(key))
    }

    /// The keys of the front matter, as they come.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.front.iter().flat_map(|(_, front, _)| front.keys())
    }

    /// Sets a value of the front matter; every other line stays.
    pub fn set(&mut self, key: &str, value: &str) {
        let empty = || ("---\n".to_owned(), Front::default(), "---\n".to_owned());
        self.front.get_or_insert_with(empty).1.set(key, value);
    }

    /// What a section says, without the space around it. `None` when it is missing or says nothing.
    #[must_use]
    pub fn section(&self, section: TaskSection) -> Option<&str> {
        let named = self.parts.iter().filter(|part| is(part, section));
        named.map(|part| part.text.trim()).find(|text| says_something(text))
    }

    /// Replaces what a section says, or adds it at the end. Nothing in the text can begin another section or swallow
    /// what follows.
    pub fn set_section(&mut self, section: TaskSection, text: &str) {
        let text = format!("\n{}\n\n", contained(text));
        match self.parts.iter_mut().find(|part| is(part, section)) {
            Some(part) => {
                part.text = text;
                end_line(&mut part.heading);
            }
            None => {
                self.end_last();
                let title = section.title().to_owned();
                self.parts.push(Part { heading: format!("## {title}\n"), title, text });
            }
        }
        let mut first = true;
        self.parts.retain(|part| !is(part, section) || std::mem::take(&mut first));
    }

    /// Takes a section away.
    pub fn remove_section(&mut self, section: TaskSection) {
        self.parts.retain(|part| !is(part, section));
    }

    /// What of a task's artifacts is there.
    #[must_use]
    pub fn artifacts(&self) -> TaskArtifacts {
        TaskArtifacts {
            has_handoff: self.section(TaskSection::Handoff).is_some(),
            has_review: self.section(TaskSection::Review).is_some(),
            verdict: self.verdict(),
        }
    }

    /// The verdict of the review: the first line outside code, quotes and comments that has one of the words.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        self.section(TaskSection::Review).and_then(meaning::verdict)
    }

    /// What stands before a new section is closed, and ends with its line.
    fn end_last(&mut self) {
        let first = self.parts.is_empty();
        let before = self.parts.last_mut().map_or(&mut self.preamble, |part| &mut part.text);
        let mut scanner = Scanner::default();
        for line in lines(before) {
            scanner.line(bare(line));
        }
        if let Some(closing) = scanner.closing() {
            end_line(before);
            before.push_str(&closing);
        }
        if !(first && before.is_empty()) {
            end_line(before);
        }
        if let Some((_, _, close)) = self.front.as_mut().filter(|_| first) {
            end_line(close);
        }
    }
}

fn is(part: &Part, section: TaskSection) -> bool {
    part.title.eq_ignore_ascii_case(section.title())
}

fn end_line(text: &mut String) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Whether there is more than space and comments.
fn says_something(text: &str) -> bool {
    let mut rest = text;
    let mut said = String::new();
    while let Some((before, after)) = rest.split_once("<!--") {
        said.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    said.push_str(rest);
    !said.trim().is_empty()
}

/// A text that stays inside its section: headings of the second level go one deeper, and what it opens is closed.
fn contained(text: &str) -> String {
    let mut scanner = Scanner::default();
    let mut inner = String::new();
    for line in text.trim().lines() {
        if matches!(scanner.line(line), Kind::Heading(_)) {
            inner.push('#');
            inner.push_str(line.trim_start());
        } else {
            inner.push_str(line);
        }
        inner.push('\n');
    }
    if let Some(closing) = scanner.closing() {
        inner.push_str(&closing);
    }
    inner.trim_end().to_owned()
}
