//! Draws the two lists, and beside or below the inbox what the chosen hold asks. Pure.

use jiff::Timestamp;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Widget as _, Wrap};
use wire::{HoldView, RunView};

use super::ansi;
use super::state::{Agent, Breadth, Link, List, State};
use crate::report::{
    clean_line, hold,
    run::{short, status_word},
    style::of_status,
    words::{clock, fit, money, pad, until},
};

/// From this width on the chosen run stands beside the inbox.
const WIDE: u16 = 140;
/// From this height on there is room for it below.
const TALL: u16 = 16;

/// How the agent of a run stands, in one letter.
pub(super) fn mark(agent: Agent) -> (&'static str, Style) {
    match agent {
        Agent::Active => ("●", Style::new().fg(Color::Cyan)),
        Agent::Crashed => ("✗", Style::new().fg(Color::Red).add_modifier(Modifier::BOLD)),
        Agent::Inactive => ("○", Style::new().add_modifier(Modifier::DIM)),
    }
}

pub(super) fn breadth(width: u16) -> Breadth {
    if width >= WIDE { Breadth::Wide } else { Breadth::Narrow }
}

pub(super) fn draw(state: &mut State, area: Rect, buffer: &mut Buffer) {
    match state.list {
        List::Runs => runs(state, area, buffer),
        List::Inbox if state.breadth == Breadth::Wide => {
            let sides = [Constraint::Percentage(45), Constraint::Percentage(55)];
            let [left, right] = Layout::horizontal(sides).areas(area);
            inbox(state, left, buffer);
            let frame = Block::new().borders(Borders::LEFT).border_style(Style::new().add_modifier(Modifier::DIM));
            let inner = frame.inner(right);
            frame.render(right, buffer);
            beside(state, inner, buffer);
        }
        List::Inbox if area.height >= TALL && !state.holds.is_empty() => {
            let parts = [Constraint::Min(6), Constraint::Length(area.height / 2)];
            let [above, below] = Layout::vertical(parts).areas(area);
            inbox(state, above, buffer);
            let frame = Block::new().borders(Borders::TOP).border_style(Style::new().add_modifier(Modifier::DIM));
            let inner = frame.inner(below);
            frame.render(below, buffer);
            chosen(state, inner, buffer);
        }
        List::Inbox => inbox(state, area, buffer),
    }
}

/// What the chosen run waits for, with everything that is shown of it.
fn beside(state: &mut State, area: Rect, buffer: &mut Buffer) {
    let (now, name) = (state.now, state.beside.as_ref().map(|detail| state.name(&detail.run)).unwrap_or_default());
    match state.beside.as_mut().filter(|detail| detail.page.is_some()) {
        Some(detail) => {
            let [title, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
            let bold = Style::new().add_modifier(Modifier::BOLD);
            Line::styled(fit(&name, usize::from(title.width)), bold).render(title, buffer);
            detail.lay((usize::from(body.width), usize::from(body.height)), now);
            for (line, row) in detail.lines.iter().zip(body.rows()) {
                line.render(row, buffer);
            }
        }
        None => chosen(state, area, buffer),
    }
}

/// What the chosen hold asks.
fn chosen(state: &State, area: Rect, buffer: &mut Buffer) {
    let Some(held) = state.hold() else { return };
    let width = usize::from(area.width);
    let text = hold::draw(held, &hold::Shown::Nothing, state.now, width);
    let made = held.artifact.as_ref().map(|made| {
        let digest: String = clean_line(&made.digest).chars().take(12).collect();
        format!("  {} v{}: {} (digest {digest})", clean_line(&made.kind), made.version, clean_line(&made.title))
    });
    let mut lines = vec![Line::styled(fit(&state.name(&held.run), width), Style::new().add_modifier(Modifier::BOLD))];
    // The first line is a rule, and there is one already.
    lines.extend(ansi::lines(&text).into_iter().skip(1));
    lines.extend(made.map(|made| Line::raw(fit(&made, width))));
    let dim = Style::new().add_modifier(Modifier::DIM);
    lines.push(Line::styled(format!("  takes: {}", clean_line(&held.allowed.join(", "))), dim));
    Paragraph::new(lines).wrap(Wrap { trim: false }).render(area, buffer);
}

fn inbox(state: &State, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let lines: Vec<Line<'static>> = state.listed_holds().iter().map(|held| hold_line(held, state, width)).collect();
    let head = format!("  {:<6} {:<13} {:<14} {:>7}  what", "run", "hold", "stage", "waits");
    let empty = if state.filter.is_empty() { "nothing waits for you" } else { "nothing that waits passes the filter" };
    table(state, (&head, empty), lines, area, buffer);
}

fn hold_line(held: &HoldView, state: &State, width: usize) -> Line<'static> {
    let shown = held.question.as_deref().unwrap_or(&held.summary);
    let deadline = held.deadline.map(|at| format!("({}) ", until(state.now, at))).unwrap_or_default();
    let strangers = if held.strangers.is_empty() { "" } else { "(strangers) " };
    let (mark, shade) = mark(state.agent(&held.run));
    let stage = held.stage.as_deref().map(clean_line).unwrap_or_default();
    let what = clean_line(&format!("{strangers}{deadline}{shown}"));
    Line::from(vec![
        Span::styled(format!("{mark} "), shade),
        Span::raw(format!("{} ", pad(&short(&held.run), 6))),
        Span::styled(format!("{} ", cell(&clean_line(&held.kind), 13)), Style::new().fg(Color::Yellow)),
        Span::raw(format!("{} {:>7}  ", cell(&stage, 14), age(state.now, held.since))),
        Span::raw(fit(&what, width.saturating_sub(47))),
    ])
}

fn runs(state: &State, area: Rect, buffer: &mut Buffer) {
    let width = usize::from(area.width);
    let lines: Vec<Line<'static>> = state.listed_runs().iter().map(|run| run_line(run, state, width)).collect();
    let head = format!("  {:<6} {:<15} {:<14} {:>6} {:>8}  request", "run", "status", "stage", "age", "spend");
    let empty = if state.filter.is_empty() {
        "no runs yet; start one with `holdpoint run \"what shall be done\"`"
    } else {
        "no run passes the filter"
    };
    table(state, (&head, empty), lines, area, buffer);
}

fn run_line(run: &RunView, state: &State, width: usize) -> Line<'static> {
    let (mark, shade) = mark(state.agent(&run.id));
    let colour = ansi::style(of_status(&run.status));
    let stage = run.stage.as_deref().map(clean_line).unwrap_or_default();
    let nested = if run.parent.is_some() { "└ " } else { "" };
    let request = format!("{nested}{}", clean_line(&run.request));
    let age = age(run.completed_at.unwrap_or(state.now), run.created_at);
    Line::from(vec![
        Span::styled(format!("{mark} "), shade),
        Span::raw(format!("{} ", pad(&short(&run.id), 6))),
        Span::styled(format!("{} ", cell(&words(run), 15)), colour),
        Span::raw(format!("{} {age:>6} {:>8}  ", cell(&stage, 14), money(run.spend.usd))),
        Span::raw(fit(&request, width.saturating_sub(57))),
    ])
}

/// The status in words that fit a column.
fn words(run: &RunView) -> String {
    match status_word(run).as_str() {
        "awaiting approval" => "waits: approval".to_owned(),
        "awaiting clarification" => "waits: answer".to_owned(),
        other => other.to_owned(),
    }
}

fn cell(text: &str, columns: usize) -> String {
    pad(&fit(text, columns), columns)
}

/// "0:42", "12 min", "3 h", "5 d": one glance.
fn age(now: Timestamp, then: Timestamp) -> String {
    match now.as_second().saturating_sub(then.as_second()).max(0) {
        0..600 => clock(then, now),
        seconds @ 600..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} d", seconds / 86_400),
    }
}

/// A head, and those lines that fit around the cursor. Said in words when there are none.
fn table(state: &State, (head, empty): (&str, &str), lines: Vec<Line<'static>>, area: Rect, buffer: &mut Buffer) {
    let dim = Style::new().add_modifier(Modifier::DIM);
    let [top, body] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
    Line::styled(fit(head, usize::from(top.width)), dim).render(top, buffer);
    let Some(at) = state.index().filter(|_| !lines.is_empty()) else {
        let said = if state.link == Link::Connecting { "asking the server …" } else { empty };
        return Paragraph::new(Line::styled(format!("  {said}"), dim)).render(body, buffer);
    };
    let room = usize::from(body.height);
    let first = at.saturating_sub(room / 2).min(lines.len().saturating_sub(room));
    for ((index, line), row) in lines.into_iter().enumerate().skip(first).zip(body.rows()) {
        line.render(row, buffer);
        if index == at {
            buffer.set_style(row, Style::new().add_modifier(Modifier::REVERSED));
        }
    }
}
