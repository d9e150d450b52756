//! Conversations of agents. Pure; everything they say is cleaned here.

use jiff::Timestamp;
use wire::{ChannelView, QuestionView, SessionHistory, SessionView, TurnItemView, TurnView};

use super::{
    clean, clean_line, markdown,
    style::{BAD, BOLD, BUSY, DIM, GOOD, WAIT},
    words::{ago, count, fit, money, tokens, wrap},
};

/// Lines of a tool's output that are shown.
const OUTPUT_LINES: usize = 6;

/// A conversation's name inside its run.
pub(crate) fn name(view: &SessionView) -> &str {
    view.id.split_once('.').map_or(view.id.as_str(), |(_, name)| name)
}

/// `log --list`.
pub(crate) fn table(sessions: &[SessionView], width: usize) -> String {
    if sessions.is_empty() {
        return "no agent has spoken yet".to_owned();
    }
    let line = |view: &SessionView| {
        let turns = count(u64::from(view.turns), "turn", "turns");
        let spent = format!("{} in, {} out", tokens(view.input_tokens), tokens(view.output_tokens));
        let last = view.problem.as_ref().filter(|_| view.state == "error").or(view.ended.as_ref());
        let last = last.map(|last| format!(", {}", clean_line(last))).unwrap_or_default();
        let text = format!("{:<20} {:<10} {turns}, {spent}{last}", clean_line(name(view)), clean_line(&view.state));
        fit(&text, width)
    };
    sessions.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// `log`.
pub(crate) fn history(history: &SessionHistory, thoughts: bool, width: usize) -> String {
    let view = &history.session;
    let mut lines = vec![format!(
        "{BOLD}{}{BOLD:#} {DIM}{} · {}{DIM:#}",
        clean_line(name(view)),
        clean_line(&view.stage),
        clean_line(&view.state)
    )];
    for turn in &history.turns {
        lines.push(heading(turn));
        turn.items.iter().for_each(|item| lines.extend(item_lines(item, thoughts, width)));
    }
    if let Some(problem) = view.problem.as_ref().filter(|_| view.state == "error") {
        lines.push(format!("  {BAD}✗ {}{BAD:#}", clean_line(problem)));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// `channel list`.
pub(crate) fn channels(channels: &[ChannelView], now: Timestamp, width: usize) -> String {
    if channels.is_empty() {
        return "no channels yet; begin one with `holdpoint channel ask \"where is …?\"`".to_owned();
    }
    let line = |view: &ChannelView| {
        let title = if view.title.is_empty() { &view.project } else { &view.title };
        let text = format!("{}  {:<10}  {}", clean_line(&view.id), ago(now, view.created_at), clean_line(title));
        fit(&text, width)
    };
    channels.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// `channel show`.
pub(crate) fn channel(view: &ChannelView, width: usize) -> String {
    let mut lines =
        vec![format!("{BOLD}{}{BOLD:#} {DIM}{}{DIM:#}", clean_line(&view.title), clean_line(&view.project))];
    for question in &view.questions {
        lines.push(format!("\n{WAIT}{}:{WAIT:#} {}", clean_line(&question.by), clean(&question.text).trim_end()));
        lines.push(match (&question.answer, &question.problem) {
            (Some(answer), _) => markdown::render(answer, &[], width),
            (None, Some(problem)) => format!("{BAD}✗ {}{BAD:#}", clean_line(problem)),
            (None, None) => format!("{DIM}(being answered){DIM:#}"),
        });
    }
    lines.join("\n")
}

/// What an answer cost and where it stands.
pub(crate) fn footer(channel: &str, question: &QuestionView) -> String {
    let cost = question.usd.map_or_else(|| "price unknown".to_owned(), money);
    let model = clean_line(&question.model);
    format!("{DIM}{model}, {cost} · go on with `holdpoint channel ask --channel {} \"…\"`{DIM:#}", clean_line(channel))
}

fn heading(turn: &TurnView) -> String {
    let spent = match turn.completed_at {
        Some(_) => format!("{} in, {} out", tokens(turn.input_tokens), tokens(turn.output_tokens)),
        None => "not complete".to_owned(),
    };
    format!("{DIM}── turn {} · {spent}{DIM:#}", turn.number)
}

fn item_lines(item: &TurnItemView, thoughts: bool, width: usize) -> Vec<String> {
    let room = width.saturating_sub(4).max(20);
    match item {
        TurnItemView::Message { by, text } => {
            let who = by.as_ref().map(|by| format!("{WAIT}{}:{WAIT:#} ", clean_line(by))).unwrap_or_default();
            let mut lines = indented(text, room, 2);
            if let Some(first) = lines.first_mut().filter(|_| !who.is_empty()) {
                *first = format!("  {who}{}", first.trim_start());
            }
            lines
        }
        TurnItemView::Thought { text } if thoughts => {
            indented(text, room, 4).into_iter().map(|line| format!("{DIM}{line}{DIM:#}")).collect()
        }
        TurnItemView::Thought { .. } => Vec::new(),
        TurnItemView::Tool { tool, input, output, ok, millis, .. } => {
            let (sign, colour) = match ok {
                Some(true) => ("✓", GOOD),
                Some(false) => ("✗", BAD),
                None => ("▸", BUSY),
            };
            let took = millis.filter(|millis| *millis >= 1000).map(|millis| format!(" {} s", millis / 1000));
            let call = fit(&clean_line(&format!("{tool} {input}")), room.saturating_sub(8));
            let mut lines = vec![format!("  {colour}{sign}{colour:#} {call}{DIM}{}{DIM:#}", took.unwrap_or_default())];
            let shown = output.as_deref().unwrap_or_default();
            let all = indented(shown, room.saturating_sub(2), 4);
            let from = all.len().saturating_sub(OUTPUT_LINES);
            lines.extend(all[from..].iter().map(|line| format!("{DIM}{line}{DIM:#}")));
            lines
        }
    }
}

fn indented(text: &str, room: usize, by: usize) -> Vec<String> {
    let text = clean(text);
    let lines = text.trim_end().lines().flat_map(|line| wrap(line, room));
    lines.map(|line| format!("{:by$}{line}", "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plain;

    #[test]
    fn a_conversation_is_told_turn_by_turn_without_escape_sequences_of_its_own() {
        let at = "2026-11-15T20:00:00Z".parse().unwrap();
        let tool = TurnItemView::Tool {
            call: "1".to_owned(),
            tool: "grep".to_owned(),
            input: "pattern=\u{1b}[31mlogin".to_owned(),
            output: Some((1..=9).map(|n| format!("src/{n}.rs\n")).collect()),
            ok: Some(true),
            millis: Some(2100),
        };
        let items = vec![
            TurnItemView::Message { by: Some("ada".to_owned()), text: "look at src".to_owned() },
            TurnItemView::Thought { text: "where".to_owned() },
            TurnItemView::Message { by: None, text: "I look.".to_owned() },
            tool,
        ];
        let turn =
            TurnView { number: 1, started_at: at, completed_at: Some(at), input_tokens: 1200, output_tokens: 3, items };
        let session = SessionView {
            id: "xf643g-twbbkr.planner-1".to_owned(),
            run: Some("xf643g-twbbkr".to_owned()),
            stage: "planning".to_owned(),
            role: "planner".to_owned(),
            state: "completed".to_owned(),
            attempts: 1,
            turns: 1,
            started_at: at,
            updated_at: at,
            input_tokens: 1200,
            output_tokens: 3,
            ended: Some("plan".to_owned()),
            problem: None,
        };
        let told = plain(&history(&SessionHistory { session, turns: vec![turn], more: false }, false, 80));
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[0], "planner-1 planning · completed");
        assert_eq!(lines[1], "── turn 1 · 1.2k in, 3 out");
        assert_eq!(lines[2..4], ["  ada: look at src", "  I look."]);
        assert!(lines[4].starts_with("  ✓ grep pattern=") && lines[4].ends_with(" 2 s"), "{told}");
        assert_eq!((lines[5], lines.len()), ("    src/4.rs", 11), "only the end of a long output");
        assert!(!told.contains('\u{1b}') && !told.contains("where"));
    }
}
