//! A hold for people: what is shown, and what may be answered. Pure.

use jiff::Timestamp;
use wire::{ArtifactContent, DiffView, HoldView};

use super::{
    clean, clean_line,
    fact::Failing,
    markdown,
    run::short,
    style::{BAD, BOLD, DIM, WAIT},
    table,
    words::{ago, wrap},
};

/// What a hold shows besides itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Only its own words.
    Nothing,
    /// A document: plan, spec, report.
    Document(ArtifactContent),
    /// A change of code.
    Change(DiffView),
    /// Checks that did not pass.
    Failing(Vec<Failing>),
}

/// Draws a hold.
pub(crate) fn draw(hold: &HoldView, shown: &Shown, now: Timestamp, width: usize) -> String {
    let rule = format!("{DIM}{}{DIM:#}", "─".repeat(width));
    let mut lines = vec![rule.clone()];
    match shown {
        Shown::Document(document) => lines.push(markdown::render(&document.content, &document.drawings, width)),
        Shown::Change(change) => lines.push(table::diffstat(&change.files, width)),
        Shown::Failing(checks) => lines.extend(checks.iter().map(failing)),
        Shown::Nothing => {}
    }
    if *shown != Shown::Nothing {
        lines.push(rule);
    }
    lines.push(format!("{WAIT}◆ {}{WAIT:#} {DIM}({}){DIM:#}", title(hold), ago(now, hold.since)));
    lines.extend(wrap(&clean_line(&hold.summary), width.saturating_sub(2)).into_iter().map(|line| format!("  {line}")));
    lines.extend(question(hold, width));
    lines.join("\n")
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
        "clarification" => format!("question {}{stage}", hold.attempt_number.unwrap_or(1)),
        "fix" => format!("validation failed{stage}"),
        other => format!("{}{stage}", clean_line(other)),
    }
}

fn question(hold: &HoldView, width: usize) -> Vec<String> {
    let Some(question) = &hold.question else { return Vec::new() };
    let room = width.saturating_sub(4);
    let mut lines = vec![String::new()];
    let said = clean(question);
    lines.extend(said.lines().flat_map(|line| wrap(line, room)).map(|line| format!("  {BOLD}{line}{BOLD:#}")));
    let context = clean(hold.context.as_deref().unwrap_or_default());
    lines.extend(context.lines().flat_map(|line| wrap(line, room)).map(|line| format!("  {DIM}{line}{DIM:#}")));
    let options = hold.options.iter().flatten().enumerate();
    lines.extend(options.map(|(index, option)| format!("    {}. {}", index + 1, clean_line(option))));
    lines
}

fn command(run: &str, decision: &str) -> String {
    match decision {
        "approve" => format!("holdpoint approve {run}"),
        "reject" => format!("holdpoint reject {run} \"what to change\""),
        "suggest" => format!("holdpoint decide {run} suggest --text \"a hint\""),
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
    fn a_hostile_question_cannot_move_the_cursor() {
        let hold =
            HoldView { question: Some("Delete?\u{1b}[1A\u{1b}[2KKeep?\u{202e}".to_owned()), ..sample::question() };
        let text = plain(&draw(&hold, &Shown::Nothing, sample::at(), 60));
        assert!(text.contains("Delete?\u{fffd}[1A\u{fffd}[2KKeep?\u{fffd}"), "{text}");
    }
}
