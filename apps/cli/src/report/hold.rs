//! A hold for people: what is shown, and what may be answered. Pure.

use jiff::Timestamp;
use wire::{ArtifactContent, HoldView, RiskView, SecretFindingView};

use super::{
    change, clean, clean_line,
    fact::Failing,
    markdown,
    run::short,
    style::{BAD, BOLD, DIM, WAIT},
    words::{ago, fit, until, wrap},
};

use crate::change::Loaded;

/// What a hold shows besides itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Only its own words.
    Nothing,
    /// A document: plan, spec, report.
    Document(Box<ArtifactContent>),
    /// A change of code, with as much of its text as was read.
    Change(Box<Loaded>),
    /// Checks that did not pass.
    Failing(Vec<Failing>),
}

/// Draws a hold.
pub(crate) fn draw(hold: &HoldView, shown: &Shown, now: Timestamp, width: usize) -> String {
    let rule = format!("{DIM}{}{DIM:#}", "─".repeat(width));
    let mut lines = vec![rule.clone()];
    match shown {
        Shown::Document(document) => lines.push(self::document(document, width)),
        Shown::Change(loaded) => lines.push(change::list(&loaded.list)),
        Shown::Failing(checks) => lines.extend(checks.iter().map(failing)),
        Shown::Nothing => {}
    }
    if *shown != Shown::Nothing {
        lines.push(rule);
    }
    lines.push(format!("{WAIT}◆ {}{WAIT:#} {DIM}({}){DIM:#}", title(hold), ago(now, hold.since)));
    lines.extend(wrap(&clean_line(&hold.summary), width.saturating_sub(2)).into_iter().map(|line| format!("  {line}")));
    lines.extend(strangers(hold, width));
    lines.extend(risks(hold, width));
    lines.extend(memory(hold, width));
    lines.extend(findings(hold, width));
    lines.extend(question(hold, width));
    lines.extend(asked(hold, width));
    lines.extend(deadline(hold, now).map(|line| format!("  {DIM}{line}{DIM:#}")));
    lines.join("\n")
}

/// A document as people read it; a plan of tasks is JSON, in which no mark means anything.
pub(crate) fn document(document: &ArtifactContent, width: usize) -> String {
    match document.artifact.kind.as_str() {
        "plan" => clean(&document.content),
        _ => markdown::render(&document.content, &document.drawings, width),
    }
}

/// Names of files in one question.
pub(crate) const MOST_NAMED: usize = 8;

impl Shown {
    /// Files of a change whose text is not shown with the hold; `None` when all of it is.
    pub(crate) fn unseen(&self) -> Option<String> {
        match self {
            Self::Change(loaded) => change::unseen(&loaded.missing(), loaded.list.files.len(), MOST_NAMED),
            Self::Nothing | Self::Document(_) | Self::Failing(_) => None,
        }
    }
}

/// When a hold ends by itself, and how.
pub(crate) fn deadline(hold: &HoldView, now: Timestamp) -> Option<String> {
    let at = until(now, hold.deadline?);
    let choice = clean_line(&hold.default.join(", "));
    let reversible = if hold.reversible == Some(true) { ", which you can overturn later" } else { "" };
    Some(match hold.at_deadline.as_deref() {
        Some("assume") => format!("{at} it goes on with “{choice}”{reversible}"),
        Some("escalate") => format!("{at} it becomes a full approval"),
        Some("go_on") => format!("it goes on by itself {at}"),
        _ => format!("an answer is wanted {at}; it waits on after that"),
    })
}

/// Text of strangers the run has read, where the hold's own words do not say it.
fn strangers(hold: &HoldView, width: usize) -> Vec<String> {
    if hold.strangers.is_empty() || hold.summary.contains("text of strangers") {
        return Vec::new();
    }
    let said = format!("this run has read text of strangers: {}", clean_line(&hold.strangers.join(", ")));
    let mut lines = wrap(&said, width.saturating_sub(4)).into_iter();
    let first = lines.next().map(|line| format!("  {BAD}!{BAD:#} {line}"));
    first.into_iter().chain(lines.map(|line| format!("    {line}"))).collect()
}

/// What of a change a person should look at.
fn risks(hold: &HoldView, width: usize) -> Vec<String> {
    let risks = hold.artifact.iter().flat_map(|made| &made.risks);
    let line = |risk: &RiskView| {
        let paths = clean_line(&risk.paths.join(", "));
        let said = format!("{}: {paths}", clean_line(&risk.summary));
        format!("  {BAD}!{BAD:#} {}", fit(&said, width.saturating_sub(4)))
    };
    risks.map(line).collect()
}

/// Lines that later agents read once the code is approved.
fn memory(hold: &HoldView, width: usize) -> Vec<String> {
    if hold.memory.is_empty() {
        return Vec::new();
    }
    let head = format!("  {BOLD}Added to the project's memory, which later agents read:{BOLD:#}");
    let entries = hold.memory.iter().flat_map(|line| {
        let mut wrapped = wrap(&clean_line(line), width.saturating_sub(6)).into_iter();
        let first = wrapped.next().map(|line| format!("    - {line}"));
        first.into_iter().chain(wrapped.map(|line| format!("      {line}"))).collect::<Vec<_>>()
    });
    std::iter::once(head).chain(entries).collect()
}

/// What looks like a secret, a line each.
fn findings(hold: &HoldView, width: usize) -> Vec<String> {
    let line = |found: &SecretFindingView| {
        let what = match &found.known_as {
            Some(name) => format!("the value of {name}, which Holdpoint knows"),
            None => found.kind.clone(),
        };
        let said = format!("{}:{}:{}: {what} ({})", found.path, found.line, found.column, found.excerpt);
        format!("  {BAD}!{BAD:#} {}", fit(&clean_line(&said), width.saturating_sub(4)))
    };
    hold.findings.iter().map(line).collect()
}

/// What people asked about it, and the answers.
fn asked(hold: &HoldView, width: usize) -> Vec<String> {
    let room = width.saturating_sub(6);
    let mut lines = Vec::new();
    for asked in &hold.asked {
        lines.push(String::new());
        let question = clean(&asked.question);
        lines
            .extend(question.lines().flat_map(|line| wrap(line, room)).map(|line| format!("  {BOLD}? {line}{BOLD:#}")));
        let answer = clean(&asked.answer);
        lines.extend(answer.lines().flat_map(|line| wrap(line, room)).map(|line| format!("    {line}")));
    }
    lines
}

/// How to decide from a script or another terminal.
pub(crate) fn how_to_decide(hold: &HoldView) -> String {
    let run = short(&hold.run);
    let mut lines = vec![format!("{WAIT}waits for a person:{WAIT:#} {}", clean_line(&hold.summary))];
    if let Some(question) = &hold.question {
        lines.push(format!("  {}", clean_line(question)));
        let options = hold.options.iter().flatten().enumerate();
        lines.extend(options.map(|(index, option)| format!("    {}. {}", index + 1, clean_line(option))));
    }
    let now = Timestamp::now();
    lines.extend(deadline(hold, now).map(|line| format!("  {DIM}{line}{DIM:#}")));
    lines.push(format!("{DIM}decide with:{DIM:#}"));
    lines.extend(hold.allowed.iter().map(|word| format!("  {}", command(&run, &clean_line(word)))));
    lines.join("\n")
}

/// What is being decided on, in one line, before it is sent.
pub(crate) fn about(hold: &HoldView) -> String {
    let stage = hold.stage.as_deref().map(|stage| format!(" of {}", clean_line(stage))).unwrap_or_default();
    let digest: String = clean_line(&hold.digest).chars().take(12).collect();
    format!("{}{stage}: {} {DIM}(digest {digest}){DIM:#}", clean_line(&hold.kind), clean_line(&hold.summary))
}

/// The end of a check's output says most.
fn failing(check: &Failing) -> String {
    let tail = clean(&check.tail);
    let lines: Vec<&str> = tail.lines().collect();
    let last = lines[lines.len().saturating_sub(20)..].iter().map(|line| format!("    {DIM}{line}{DIM:#}\n"));
    format!("  {BAD}✗ {}{BAD:#}\n{}", clean_line(&check.name), last.collect::<String>())
}

fn title(hold: &HoldView) -> String {
    let stage = hold.stage.as_deref().map(|stage| format!(" · {}", clean_line(stage))).unwrap_or_default();
    match hold.kind.as_str() {
        "approval" => format!("approval{stage}"),
        "clarification" if is_conversation(hold) => format!("the agent asks{stage}"),
        "clarification" => format!("question {}{stage}", hold.attempt_number.unwrap_or(1)),
        "confirm" => format!("is that right?{stage}"),
        "fix" => format!("validation failed{stage}"),
        "permission" if !hold.findings.is_empty() => format!("secrets?{stage}"),
        "permission" => format!("may it?{stage}"),
        "quota" => format!("the provider's window is spent{stage}"),
        "conflict" => match &hold.task {
            Some(task) => format!("conflict · task {}", clean_line(task)),
            None => format!("conflict{stage}"),
        },
        "review" => format!("review before it goes anywhere{stage}"),
        other => format!("{}{stage}", clean_line(other)),
    }
}

/// Turns of a conversation are not counted as questions.
fn is_conversation(hold: &HoldView) -> bool {
    hold.kind == "confirm" || (hold.kind == "clarification" && hold.attempt_number == Some(0))
}

fn question(hold: &HoldView, width: usize) -> Vec<String> {
    let Some(question) = &hold.question else { return Vec::new() };
    let room = width.saturating_sub(4);
    let mut lines = vec![String::new()];
    if is_conversation(hold) {
        let message = markdown::render(question, &[], room);
        lines.extend(message.lines().map(|line| format!("  {line}")));
        return lines;
    }
    let said = clean(question);
    lines.extend(said.lines().flat_map(|line| wrap(line, room)).map(|line| format!("  {BOLD}{line}{BOLD:#}")));
    let context = clean(hold.context.as_deref().unwrap_or_default());
    lines.extend(context.lines().flat_map(|line| wrap(line, room)).map(|line| format!("  {DIM}{line}{DIM:#}")));
    let options = hold.options.iter().flatten().enumerate();
    lines.extend(options.map(|(index, option)| format!("    {}. {}", index + 1, clean_line(option))));
    if !hold.default.is_empty() {
        lines.push(format!("  {DIM}the agent would choose: {}{DIM:#}", clean_line(&hold.default.join(", "))));
    }
    if hold.secret {
        lines.push(format!("  {DIM}a secret: only the agent that asks is told, and it is not written down{DIM:#}"));
    }
    lines
}

fn command(run: &str, decision: &str) -> String {
    match decision {
        "approve" => format!("holdpoint approve {run}"),
        "reject" => format!("holdpoint reject {run} \"what to change\""),
        "suggest" => format!("holdpoint decide {run} suggest --text \"a hint\""),
        "modify_plan" => format!("holdpoint decide {run} modify_plan --edit"),
        "ask" => format!("holdpoint decide {run} ask --text \"your question\""),
        "resume" => format!("holdpoint resume {run}"),
        "answer" => format!("holdpoint answer {run} \"your answer, or a number\""),
        "extend" => format!("holdpoint decide {run} extend --minutes 30"),
        "raise" => format!("holdpoint decide {run} raise --usd 5"),
        "cancel" => format!("holdpoint cancel {run}"),
        other => format!("holdpoint decide {run} {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{plain, run::sample};

    #[test]
    fn a_question_shows_its_numbered_options() {
        let expected = "\
────────────────────────────────────────
◆ question 1 · implementation (just now)
  the agent asks

  Should the search ignore case?
  Both are easy.
    1. Ignore case
    2. Match case";
        assert_eq!(plain(&draw(&sample::question(), &Shown::Nothing, sample::at(), 40)), expected);
    }

    #[test]
    fn a_script_is_told_exactly_the_allowed_commands() {
        let expected = "\
waits for a person: the agent asks
  Should the search ignore case?
    1. Ignore case
    2. Match case
decide with:
  holdpoint answer 0193f2c4 \"your answer, or a number\"
  holdpoint decide 0193f2c4 ignore
  holdpoint cancel 0193f2c4";
        assert_eq!(plain(&how_to_decide(&sample::question())), expected);
    }

    #[test]
    fn a_turn_of_a_conversation_is_shown_as_it_was_written() {
        let hold = HoldView {
            attempt_number: Some(0),
            options: None,
            question: Some("Two things:\n- which **pages**?\n- which words?".to_owned()),
            summary: "the architect asks before it plans".to_owned(),
            ..sample::question()
        };
        let expected = "\
────────────────────────────────────────
◆ the agent asks · implementation (just now)
  the architect asks before it plans

  Two things:
  • which pages?
  • which words?";
        assert_eq!(plain(&draw(&hold, &Shown::Nothing, sample::at(), 40)), expected);
    }

    #[test]
    fn a_deadline_says_what_happens_then_and_a_default_what_is_chosen() {
        let hold = HoldView {
            default: vec!["Match case".to_owned()],
            reversible: Some(true),
            deadline: Some(sample::at() + jiff::SignedDuration::from_mins(10)),
            at_deadline: Some("assume".to_owned()),
            ..sample::question()
        };
        let text = plain(&draw(&hold, &Shown::Nothing, sample::at(), 80));
        assert!(text.contains("  the agent would choose: Match case\n"), "{text}");
        let end = "  in 10 min 0 s it goes on with “Match case”, which you can overturn later";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn risks_and_earlier_questions_stand_with_what_is_decided_on() {
        let made = sample::code();
        let asked = wire::AskedView { question: "Why a map?".to_owned(), answer: "It is sorted.".to_owned() };
        let hold = HoldView {
            kind: "approval".to_owned(),
            question: None,
            artifact: Some(made),
            asked: vec![asked],
            ..sample::question()
        };
        let text = plain(&draw(&hold, &Shown::Nothing, sample::at(), 60));
        assert!(text.contains("  ! 1 lock file changed: Cargo.lock\n"), "{text}");
        assert!(text.ends_with("  ? Why a map?\n    It is sorted."), "{text}");
    }

    #[test]
    fn what_looks_like_a_secret_is_shown_with_its_place_and_its_first_letters() {
        let found = SecretFindingView {
            kind: "GitHub token".to_owned(),
            known_as: None,
            path: "src/a\u{1b}[2K.rs".to_owned(),
            line: 3,
            column: 9,
            excerpt: "ghp_…, 40 characters".to_owned(),
        };
        let known = SecretFindingView { known_as: Some("GITHUB_TOKEN".to_owned()), ..found.clone() };
        let hold = HoldView {
            kind: "permission".to_owned(),
            question: None,
            findings: vec![found, known],
            ..sample::question()
        };
        let text = plain(&draw(&hold, &Shown::Nothing, sample::at(), 90));
        assert!(text.contains("◆ secrets? · implementation"), "{text}");
        assert!(text.contains("  ! src/a\u{fffd}[2K.rs:3:9: GitHub token (ghp_…, 40 characters)\n"), "{text}");
        assert!(text.contains("the value of GITHUB_TOKEN, which Holdpoint knows"), "{text}");
    }

    #[test]
    fn a_hostile_question_cannot_move_the_cursor() {
        let hold =
            HoldView { question: Some("Delete?\u{1b}[1A\u{1b}[2KKeep?\u{202e}".to_owned()), ..sample::question() };
        let text = plain(&draw(&hold, &Shown::Nothing, sample::at(), 60));
        assert!(text.contains("Delete?\u{fffd}[1A\u{fffd}[2KKeep?\u{fffd}"), "{text}");
    }
}
