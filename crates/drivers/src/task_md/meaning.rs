//! What a task's file means: a verdict, questions, a hand-in, or that something is missing. Trusts no claim in it: the
//! front matter says nothing here, only the sections do.

use domain::{Question, Review, Severity, Verdict};

use super::scan::{Kind, Scanner};
use super::{TaskFile, TaskSection};
use crate::{HandIn, HandoffHandIn, JobKind, PulseHandIn};

/// Questions that are taken at once.
const MOST_QUESTIONS: usize = 10;
/// Bytes of what is taken from one section.
const MOST_TEXT: usize = 48 * 1024;

/// What an agent hands in through the file, if it does. A question that was answered before is not asked again.
#[must_use]
pub fn hand_in(kind: JobKind, file: &TaskFile, answered: &[String]) -> Option<HandIn> {
    match kind {
        JobKind::Handoff | JobKind::Lead | JobKind::Code => {
            let fresh = questions(file, answered);
            if !fresh.is_empty() {
                return Some(HandIn::Questions { questions: fresh });
            }
            let text = file.section(TaskSection::Handoff)?;
            Some(if kind == JobKind::Code { pulse(text) } else { HandIn::Handoff(handoff(text)) })
        }
        JobKind::Review => {
            let (verdict, text) = (file.verdict()?, file.section(TaskSection::Review)?);
            // Without a word on how bad it is, the worker gets its round.
            let severity = Severity::Minor;
            Some(HandIn::Review(Review { verdict, severity, summary: clip(text), findings: Vec::new() }))
        }
        JobKind::Spec
        | JobKind::Tasks
        | JobKind::Scope
        | JobKind::Research
        | JobKind::Converse
        | JobKind::Answer
        | JobKind::Discuss
        | JobKind::Pursue => None,
    }
}

/// What is missing from the file of an agent that ended, in the words of a crash.
#[must_use]
pub fn missing(kind: JobKind, file: &TaskFile) -> String {
    let what = match (kind, file.section(TaskSection::Review)) {
        (JobKind::Review, None) => "process exited without ## Review",
        (JobKind::Review, Some(_)) => "process exited without a verdict in ## Review",
        (_, _) => "process exited without ## Handoff",
    };
    match file.problems().first() {
        Some(problem) => format!("{what} ({problem})"),
        None => what.to_owned(),
    }
}

/// The verdict of a review: of the first line that has the word PASS or FAIL outside code, quotes and comments. A line
/// with both says FAIL.
pub(super) fn verdict(text: &str) -> Option<Verdict> {
    let mut scanner = Scanner::default();
    text.lines().find_map(|line| match scanner.line(line) {
        Kind::Set | Kind::Blank => None,
        Kind::Heading(_) | Kind::Text => of_line(line),
    })
}

fn of_line(line: &str) -> Option<Verdict> {
    let said = without_code(line);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let has = |wanted: &str| said.split(|c: char| !is_word(c)).any(|word| word.eq_ignore_ascii_case(wanted));
    match (has("PASS"), has("FAIL")) {
        (_, true) => Some(Verdict::Fail),
        (true, false) => Some(Verdict::Pass),
        (false, false) => None,
    }
}

/// A line without the code within it; a verdict that stands alone between backticks is one all the same.
fn without_code(line: &str) -> String {
    let mut out = String::new();
    for (number, piece) in line.split('`').enumerate() {
        let alone = ["PASS", "FAIL"].iter().any(|word| piece.trim().eq_ignore_ascii_case(word));
        if number % 2 == 0 || alone {
            out.push(' ');
            out.push_str(piece);
        }
    }
    out
}

/// The questions of the file that nobody answered: one per item of a list, or one per paragraph.
fn questions(file: &TaskFile, answered: &[String]) -> Vec<Question> {
    let Some(text) = file.section(TaskSection::Questions) else { return Vec::new() };
    let known: Vec<String> = answered.iter().map(|question| folded(question)).collect();
    let asked = asked(text).into_iter().filter(|question| !is_nothing(question) && !known.contains(&folded(question)));
    let question = |question: String| Question {
        secret: question.trim_end().to_lowercase().ends_with("(secret)"),
        ..Question::text(&clip(&question))
    };
    asked.take(MOST_QUESTIONS).map(question).collect()
}

fn asked(text: &str) -> Vec<String> {
    let mut scanner = Scanner::default();
    let mut found: Vec<String> = Vec::new();
    let (mut items, mut open) = (false, Open::Nothing);
    for line in text.lines() {
        let kind = scanner.line(line);
        match (item(line).filter(|_| kind == Kind::Text), kind) {
            (Some(Item::Done), _) => (items, open) = (true, Open::Left),
            (Some(Item::Asked(text)), _) => {
                if !items {
                    // What stands before a list leads into it.
                    found.clear();
                }
                found.push(text.to_owned());
                (items, open) = (true, Open::Question);
            }
            (None, Kind::Blank) if items => {}
            (None, Kind::Blank) => open = Open::Nothing,
            (None, _) => match open {
                Open::Left => {}
                Open::Nothing if items => {}
                Open::Nothing => {
                    found.push(line.trim().to_owned());
                    open = Open::Question;
                }
                Open::Question => {
                    if let Some(last) = found.last_mut() {
                        last.push('\n');
                        last.push_str(line.trim());
                    }
                }
            },
        }
    }
    found
}

/// What the next line belongs to.
#[derive(Clone, Copy)]
enum Open {
    Nothing,
    Question,
    /// An item that was ticked off.
    Left,
}

enum Item<'a> {
    Asked(&'a str),
    Done,
}

/// An item of a list at the left.
fn item(line: &str) -> Option<Item<'_>> {
    if line.starts_with([' ', '\t']) {
        return None;
    }
    let bullet = line.strip_prefix(['-', '*', '+']);
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (digits.len() < line.len()).then(|| digits.strip_prefix(['.', ')'])).flatten();
    let rest = bullet.or(numbered).filter(|rest| rest.starts_with([' ', '\t']))?.trim();
    Some(match rest.strip_prefix("[x]").or_else(|| rest.strip_prefix("[X]")) {
        Some(_) => Item::Done,
        None => Item::Asked(rest.strip_prefix("[ ]").unwrap_or(rest).trim()),
    })
}

/// Words that say that there is no question.
fn is_nothing(text: &str) -> bool {
    let plain: String = text.chars().filter(|c| c.is_alphanumeric() || *c == ' ').collect();
    matches!(
        plain.trim().to_lowercase().as_str(),
        "" | "none" | "na" | "no" | "nothing" | "no questions" | "no question"
    )
}

/// A question without what does not change it.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn pulse(text: &str) -> HandIn {
    HandIn::Pulse(PulseHandIn { summary: clip(text), decisions: Vec::new() })
}

/// A handoff with its parts, where `### ` headings name them.
fn handoff(text: &str) -> HandoffHandIn {
    let (mut summary, mut look_at, mut how_to_test) = (String::new(), String::new(), String::new());
    let mut scanner = Scanner::default();
    let mut into = &mut summary;
    for line in text.lines() {
        let title = match scanner.line(line) {
            Kind::Text => line.trim().strip_prefix("###").map(folded),
            Kind::Set | Kind::Heading(_) | Kind::Blank => None,
        };
        match title.as_deref() {
            Some("what was done" | "summary") => into = &mut summary,
            Some("look at" | "what to look at" | "where to look") => into = &mut look_at,
            Some("how to test" | "test" | "testing") => into = &mut how_to_test,
            Some(_) | None => {
                into.push_str(line);
                into.push('\n');
            }
        }
    }
    let or = |text: String, other: &str| if text.trim().is_empty() { other.to_owned() } else { clip(text.trim()) };
    HandoffHandIn {
        summary: or(summary, &clip(text)),
        look_at: or(look_at, "not said; see the change itself"),
        how_to_test: or(how_to_test, "not said; see the declared checks"),
        decisions: Vec::new(),
    }
}

fn clip(text: &str) -> String {
    let mut end = text.len().min(MOST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
