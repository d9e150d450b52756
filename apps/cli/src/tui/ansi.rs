//! The coloured lines of `report` as lines of a screen. Only colours get here: what strangers wrote was cleaned before.
//! Pure.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// Columns of a tab, which a screen does not know.
const TAB: &str = "    ";

/// One line of a screen per line of text. No escape survives: one that is no colour is left out.
pub(super) fn lines(text: &str) -> Vec<Line<'static>> {
    let mut style = Style::new();
    text.lines().map(|line| spans(line, &mut style)).collect()
}

/// The same, with what does not fit on further lines instead of behind the right edge.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<Line<'static>> {
    lines(text).into_iter().flat_map(|line| broken(line, width.max(1))).collect()
}

fn broken(line: Line<'static>, width: usize) -> Vec<Line<'static>> {
    if line.width() <= width {
        return vec![line];
    }
    let (mut rows, mut row, mut room) = (Vec::new(), Vec::new(), width);
    for span in line.spans {
        let mut piece = String::new();
        for letter in span.content.chars() {
            let columns = Span::raw(letter.to_string()).width();
            if columns > room {
                row.push(Span::styled(std::mem::take(&mut piece), span.style));
                rows.push(Line::from(std::mem::take(&mut row)));
                room = width;
            }
            piece.push(letter);
            room = room.saturating_sub(columns);
        }
        row.push(Span::styled(piece, span.style));
    }
    rows.push(Line::from(row));
    rows
}

fn spans(line: &str, style: &mut Style) -> Line<'static> {
    let mut spans = Vec::new();
    let mut pieces = line.split('\u{1b}');
    let mut push = |text: &str, style: Style| {
        if !text.is_empty() {
            spans.push(Span::styled(text.replace('\t', TAB), style));
        }
    };
    push(pieces.next().unwrap_or_default(), *style);
    for piece in pieces {
        let (codes, rest) = piece.strip_prefix('[').and_then(|body| body.split_once('m')).unwrap_or(("", piece));
        codes.split(';').for_each(|code| *style = with(*style, code));
        push(rest, *style);
    }
    Line::from(spans)
}

fn with(style: Style, code: &str) -> Style {
    match code {
        "0" => Style::new(),
        "1" => style.add_modifier(Modifier::BOLD),
        "2" => style.add_modifier(Modifier::DIM),
        "31" => style.fg(Color::Red),
        "32" => style.fg(Color::Green),
        "33" => style.fg(Color::Yellow),
        "36" => style.fg(Color::Cyan),
        _ => style,
    }
}

/// The same colour in the words of a screen.
pub(super) fn style(of: anstyle::Style) -> Style {
    let text = format!("{of}");
    text.split('\u{1b}')
        .filter_map(|piece| piece.strip_prefix('[')?.strip_suffix('m'))
        .fold(Style::new(), |style, codes| codes.split(';').fold(style, with))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::style::{BAD, DIM, GOOD};

    #[test]
    fn colours_become_styles_and_end_where_they_end() {
        let all = lines(&format!("a {GOOD}good{GOOD:#} b\n{BAD}bad{BAD:#}"));
        assert_eq!(all[0].spans[1], Span::styled("good", Style::new().fg(Color::Green)));
        assert_eq!(all[0].spans[2], Span::raw(" b"));
        assert_eq!(all[1].spans[0].style, Style::new().fg(Color::Red).add_modifier(Modifier::BOLD));
        assert_eq!(style(DIM), Style::new().add_modifier(Modifier::DIM));
    }

    #[test]
    fn tabs_take_room_and_no_escape_survives() {
        let all = lines("\tx\u{1b}]0;evil");
        assert_eq!(all[0].to_string(), "    x]0;evil");
    }
}
