//! The keys, in words. Pure.

use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Paragraph};

use super::prompt::Prompt;
use super::state::{List, State};
use crate::report::words::fit;

pub(super) const WIDTH: u16 = 66;
pub(super) const HEIGHT: u16 = 23;

const KEYS: [(&str, &str); 20] = [
    ("j k ↓ ↑", "move; space, PgDn, PgUp: ten rows"),
    ("g G", "first, last"),
    ("Tab", "inbox / runs"),
    ("Enter", "open the run"),
    ("1 … 5 ← →", "now, diff, session, spend, why (of an open run)"),
    ("q Esc", "back; q in a list leaves"),
    ("", ""),
    ("a", "approve what is shown; in a list: look at it first"),
    ("r", "reject it, and say what shall be different"),
    ("s", "answer the question, or suggest something"),
    ("d", "any other decision the hold takes"),
    ("e", "change the plan in your editor"),
    ("p", "open a pull request"),
    ("m", "merge"),
    ("x", "cancel the run (asks first)"),
    ("A", "attach: the agent's session in tmux"),
    ("", ""),
    ("/", "filter; Esc forgets it"),
    ("?", "this"),
    ("Ctrl-C", "leave"),
];

/// All keys on one sheet.
pub(super) fn sheet() -> Paragraph<'static> {
    let lines: Vec<Line<'static>> = KEYS.iter().map(|(key, does)| Line::raw(format!(" {key:<10} {does}"))).collect();
    let last = Line::raw(" ● an agent works   ✗ it crashed   ○ none is at work");
    let frame = Block::new().borders(Borders::ALL).title(" keys ");
    Paragraph::new([lines, vec![last]].concat()).block(frame)
}

/// The keys that matter now.
pub(super) fn hint(state: &State, width: u16) -> String {
    let said = match (&state.prompt, &state.open, state.list) {
        (Some(Prompt::Line { .. }), _, _) => " Enter send   Esc leave".to_owned(),
        (Some(Prompt::Sure { .. }), _, _) => " y yes   n no".to_owned(),
        (None, Some(_), _) => format!(" {}1-5 tab  j/k scroll  ? help  q back", decisions(state)),
        (None, None, List::Inbox) => format!(" {}Enter open  Tab runs  ? help  q quit", decisions(state)),
        (None, None, List::Runs) => {
            " Enter open  A attach  p pull request  m merge  x cancel  Tab inbox  ? help".to_owned()
        }
    };
    fit(&said, usize::from(width))
}

/// Only what the shown hold takes.
fn decisions(state: &State) -> String {
    let Some(hold) = state.hold() else { return String::new() };
    let known =
        [("approve", "a approve  "), ("reject", "r reject  "), ("answer", "s answer  "), ("suggest", "s suggest  ")];
    let allowed = |word: &str| hold.allowed.iter().any(|allowed| allowed == word);
    let taken: Vec<&str> = known.iter().filter(|(word, _)| allowed(word)).map(|(_, said)| *said).collect();
    format!("{}d more  ", taken.concat())
}
