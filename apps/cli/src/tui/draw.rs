//! Draws the state: a head, a list or an open run, a line to speak on, the keys. Pure: from a state to a buffer.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Widget as _};

use super::page::{Detail, Tab};
use super::prompt::Prompt;
use super::state::{Link, List, Notice, State};
use super::{ansi, help, lists};
use crate::report::{clean_line, rail, run::short, run::status_word, style::of_status, words::fit};

/// Whether the terminal may be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colours {
    Some,
    None,
}

/// Smaller than this nothing useful fits.
const SMALLEST: (u16, u16) = (40, 10);

const WARNING: Style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

pub(super) fn draw(state: &mut State, frame: &mut Frame<'_>, colours: Colours) {
    let area = frame.area();
    screen(state, area, frame.buffer_mut());
    if let Some(Prompt::Line { about, text }) = &state.prompt {
        let typed = Line::from(format!("{}: {}", about.title(), about.typed(text))).width();
        let column = u16::try_from(typed).unwrap_or(u16::MAX).min(area.width.saturating_sub(1));
        frame.set_cursor_position((column, area.height.saturating_sub(2)));
    }
    if colours == Colours::None {
        for cell in &mut frame.buffer_mut().content {
            (cell.fg, cell.bg) = (Color::Reset, Color::Reset);
        }
    }
}

fn screen(state: &mut State, area: Rect, buffer: &mut Buffer) {
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let said = format!("too small: {}×{} is needed", SMALLEST.0, SMALLEST.1);
        return Paragraph::new(said).render(area, buffer);
    }
    let rows = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1), Constraint::Length(1)];
    let [head, body, speech, keys] = Layout::vertical(rows).areas(area);
    head_line(state, head.width).render(head, buffer);
    if state.open.is_some() {
        open_run(state, body, buffer);
    } else {
        lists::draw(state, body, buffer);
    }
    speech_line(state, speech.width).render(speech, buffer);
    Paragraph::new(Line::styled(help::hint(state, keys.width), DIM)).render(keys, buffer);
    if state.help {
        let (width, height) = (help::WIDTH.min(area.width), help::HEIGHT.min(area.height));
        let place = Rect::new((area.width - width) / 2, (area.height - height) / 2, width, height);
        Clear.render(place, buffer);
        help::sheet().render(place, buffer);
    }
}

/// The lists with their counts, and how fresh all of it is.
fn head_line(state: &State, width: u16) -> Line<'static> {
    let chosen = |list| if state.list == list { Style::new().add_modifier(Modifier::REVERSED) } else { DIM };
    let mut left = vec![
        Span::styled(" holdpoint ", Style::new().add_modifier(Modifier::BOLD)),
        Span::styled(format!(" Inbox {} ", state.holds.len()), chosen(List::Inbox)),
        Span::raw(" "),
        Span::styled(format!(" Runs {} ", state.runs.len()), chosen(List::Runs)),
    ];
    if !state.filter.is_empty() {
        left.push(Span::styled(format!("  /{}", clean_line(&state.filter)), Style::new().fg(Color::Yellow)));
    }
    let used: usize = left.iter().map(Span::width).sum();
    let fresh = freshness(state, usize::from(width).saturating_sub(used + 2));
    let gap = usize::from(width).saturating_sub(used + fresh.width() + 1);
    left.push(Span::raw(" ".repeat(gap)));
    left.push(fresh);
    Line::from(left)
}

/// Never stale as live: what is not of now says of when it is.
fn freshness(state: &State, room: usize) -> Span<'static> {
    let clock = |at: jiff::Timestamp| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%H:%M:%S").to_string();
    match state.link {
        Link::Connecting => Span::styled("connecting …", Style::new().fg(Color::Yellow)),
        Link::Live => Span::styled(format!("● live {}", clock(state.now)), Style::new().fg(Color::Green)),
        Link::Asking => Span::styled("no live feed, asking again and again", Style::new().fg(Color::Yellow)),
        Link::Lost { since, seen } => {
            let (since, seen) = (clock(since), clock(seen));
            let long = format!("not connected since {since}; what you see is of {seen}");
            let short = format!("not connected; this is of {seen}");
            Span::styled(
                if long.chars().count() <= room { long } else { short },
                WARNING.add_modifier(Modifier::REVERSED),
            )
        }
    }
}

fn open_run(state: &mut State, area: Rect, buffer: &mut Buffer) {
    let (now, agent) = (state.now, state.open.as_ref().map(|detail| state.agent(&detail.run)));
    let row = state.open.as_ref().and_then(|detail| state.run(&detail.run)).cloned();
    let (Some(detail), Some(agent)) = (&mut state.open, agent) else { return };
    let rows = [Constraint::Length(1), Constraint::Length(1), Constraint::Length(1), Constraint::Min(1)];
    let [title, stages, tabs, body] = Layout::vertical(rows).areas(area);
    let run = detail.page.as_ref().map(|page| &page.run).or(row.as_ref());
    if let Some(run) = run {
        let (mark, shade) = lists::mark(agent);
        let status = Span::styled(status_word(run), ansi::style(of_status(&run.status)));
        let lead = vec![Span::styled(format!("{mark} "), shade), Span::raw(format!("{} ", short(&run.id))), status];
        let used: usize = lead.iter().map(Span::width).sum();
        let request = fit(&clean_line(&run.request), usize::from(title.width).saturating_sub(used + 2));
        let request = Span::styled(format!("  {request}"), Style::new().add_modifier(Modifier::BOLD));
        Line::from([lead, vec![request]].concat()).render(title, buffer);
        let rail = ansi::lines(&rail::rail(&run.stages));
        rail.into_iter().next().unwrap_or_default().render(stages, buffer);
    }
    detail.lay((usize::from(body.width), usize::from(body.height)), now);
    tabs_line(detail).render(tabs, buffer);
    let end = detail.lines.len().min(detail.scroll + usize::from(body.height));
    let lines = detail.lines.get(detail.scroll..end).unwrap_or_default();
    for (line, row) in lines.iter().zip(body.rows()) {
        line.render(row, buffer);
    }
    detail.note_seen();
}

fn tabs_line(detail: &Detail) -> Line<'static> {
    let mut spans = Vec::new();
    for (tab, name) in Tab::ALL {
        let style = if tab == detail.tab { Style::new().add_modifier(Modifier::REVERSED) } else { DIM };
        spans.push(Span::styled(format!(" {} {name} ", tab.number() + 1), style));
        spans.push(Span::raw(" "));
    }
    let (all, seen) = (detail.lines.len(), detail.scroll + detail.room);
    if all > detail.room {
        spans.push(Span::styled(format!(" {}–{} of {all}", detail.scroll + 1, seen.min(all)), DIM));
    }
    if detail.page.is_some() && detail.loading {
        spans.push(Span::styled(" …", DIM));
    }
    Line::from(spans)
}

/// What is asked, being sent, or has just happened.
fn speech_line(state: &State, width: u16) -> Line<'static> {
    let width = usize::from(width);
    let wrong = match &state.notice {
        Some(Notice::Bad(text)) => Some(text.as_str()),
        Some(Notice::Good(_)) | None => None,
    };
    match (&state.prompt, &state.sending, &state.notice) {
        (Some(Prompt::Line { about, text }), _, _) => {
            let title = Span::styled(format!("{}: ", about.title()), Style::new().fg(Color::Yellow));
            // The end of what is typed stays in sight.
            let room = width.saturating_sub(title.width() + 1);
            let text = about.typed(text);
            let cut = text.chars().count().saturating_sub(room);
            let wrong = wrong.map(|wrong| Span::styled(format!("  ✗ {wrong}"), WARNING));
            let typed = Span::raw(text.chars().skip(cut).collect::<String>());
            Line::from([Some(title), Some(typed), wrong].into_iter().flatten().collect::<Vec<_>>())
        }
        (Some(Prompt::Sure { question, .. }), _, _) => {
            let room = width.saturating_sub(8);
            Line::styled(format!("{} (y/N)", fit(question, room)), Style::new().fg(Color::Yellow))
        }
        (None, Some(what), _) => Line::styled(format!("{what} …"), Style::new().fg(Color::Cyan)),
        (None, None, Some(Notice::Good(text))) => {
            Line::styled(format!("✓ {}", fit(text, width.saturating_sub(2))), Style::new().fg(Color::Green))
        }
        (None, None, Some(Notice::Bad(text))) => {
            Line::styled(format!("✗ {}", fit(text, width.saturating_sub(2))), WARNING)
        }
        (None, None, None) => Line::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;
    use crate::tui::news::News;
    use crate::tui::page::Page;
    use crate::tui::state::Agent;
    use crossterm::event::{KeyCode, KeyEvent};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use wire::RunView;

    fn state() -> State {
        let waits = RunView { id: "aaaaaa-1".to_owned(), hold: Some(sample::question()), ..sample::running() };
        let works = RunView { request: "Evil \u{1b}]0;x\u{7}title".to_owned(), ..sample::running() };
        let mut state = State::new(sample::at());
        let hold = wire::HoldView { run: "aaaaaa-1".to_owned(), ..sample::question() };
        state.take(News::Snapshot(vec![RunView { hold: Some(hold), ..waits }, works]));
        state.take(News::Agents(vec![(sample::running().id, Agent::Active)]));
        state.take(News::Link(Link::Live));
        state
    }

    fn drawn(state: &mut State, (width, height): (u16, u16), colours: Colours) -> (String, Buffer) {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(state, frame, colours)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        let rows = buffer.content.chunks(usize::from(width));
        let text = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned());
        (text.collect::<Vec<_>>().join("\n"), buffer)
    }

    #[test]
    fn the_inbox_shows_what_is_asked_at_both_sizes() {
        for size in [(80, 24), (200, 50)] {
            let (text, _) = drawn(&mut state(), size, Colours::Some);
            assert!(text.contains("Inbox 1 ") && text.contains("Runs 2 ") && text.contains("● live"), "{text}");
            assert!(text.contains("○ aaaaaa clarification implementation"), "{text}");
            assert!(text.contains("1. Ignore case") && text.contains("s answer"), "{text}");
        }
    }

    #[test]
    fn the_runs_show_agents_and_no_hostile_byte() {
        let mut state = state();
        state.list = List::Runs;
        let (text, _) = drawn(&mut state, (80, 24), Colours::Some);
        assert!(
            text.contains("● 0193f2c4 running         implementation   0:00  $0.0123  Evil \u{fffd}]0;x"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'));
    }

    #[test]
    fn what_is_not_of_now_says_of_when_it_is() {
        let mut state = state();
        let seen = sample::at() - jiff::SignedDuration::from_secs(70);
        state.take(News::Link(Link::Lost { since: sample::at(), seen }));
        let (narrow, _) = drawn(&mut state, (80, 24), Colours::Some);
        assert!(narrow.contains("not connected; this is of ") && !narrow.contains("● live"), "{narrow}");
        let (wide, _) = drawn(&mut state, (200, 50), Colours::Some);
        assert!(wide.contains("not connected since ") && wide.contains("; what you see is of "), "{wide}");
    }

    #[test]
    fn an_open_run_shows_its_rail_its_tabs_and_what_it_waits_for() {
        let mut state = state();
        state.key(KeyEvent::from(KeyCode::Enter));
        let mut run = state.runs.iter().find(|run| run.id == "aaaaaa-1").cloned().unwrap();
        run.version += 1;
        state.take(News::Page(Box::new(Page::of(run))));
        let (text, _) = drawn(&mut state, (80, 24), Colours::Some);
        assert!(text.contains("● planning ─ ◐ implementation ×2 ─ ○ validation"), "{text}");
        assert!(text.contains(" 1 now   2 diff   3 session   4 spend   5 why"), "{text}");
        assert!(text.contains("Should the search ignore case?") && text.contains("2. Match case"), "{text}");
    }

    #[test]
    fn without_colours_there_are_none_and_the_chosen_row_is_still_seen() {
        let (_, buffer) = drawn(&mut state(), (80, 24), Colours::None);
        assert!(buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
        assert!(buffer.content[160..240].iter().all(|cell| cell.modifier.contains(Modifier::REVERSED)));
    }

    #[test]
    fn every_size_is_drawn_without_a_panic() {
        for size in [(1, 1), (39, 9), (40, 10), (60, 12), (139, 15), (300, 100)] {
            for keys in ["", "?", "/x", "\t", "\n", "x"] {
                let mut state = state();
                for key in keys.chars() {
                    let code = match key {
                        '\t' => KeyCode::Tab,
                        '\n' => KeyCode::Enter,
                        other => KeyCode::Char(other),
                    };
                    state.key(KeyEvent::from(code));
                }
                drawn(&mut state, size, Colours::Some);
            }
        }
    }
}
