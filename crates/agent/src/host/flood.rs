//! How much of what a program says is told on: what comes after is left out, with one note about it. Pure.

use std::cmp::Ordering;

use drivers::AgentEvent;
use drivers::driver::head;

use crate::shorten;

/// Bytes of everything that is told of one attempt; its raw output is kept apart from this.
const MOST: usize = 16 << 20;
/// Bytes of one piece of text.
const LONGEST_PIECE: usize = 16 << 10;
/// Lines that are not understood and are told all the same.
const MOST_UNKNOWN: u32 = 100;
/// Bytes an event has besides its text.
const AROUND: usize = 120;

/// What may still be told.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    told: usize,
    unknown: u32,
}

impl Flood {
    /// The event as it is told; `None` when nothing more of the kind is.
    pub(super) fn pass(&mut self, event: AgentEvent) -> Option<AgentEvent> {
        let event = cut(event);
        let before = self.told;
        self.told = self.told.saturating_add(size(&event));
        match (before < MOST, self.told < MOST) {
            (true, true) => Some(event),
            (true, false) => {
                let text = "it says more than is kept here; what it does from now on is not told".to_owned();
                Some(AgentEvent::Noted { text })
            }
            (false, _) => None,
        }
    }

    /// A line that is not understood, as it is told.
    pub(super) fn unknown(&mut self, line: &str) -> Option<String> {
        self.unknown = self.unknown.saturating_add(1);
        match self.unknown.cmp(&(MOST_UNKNOWN + 1)) {
            Ordering::Less => Some(format!("it said: {}", shorten::one_line(line, 300))),
            Ordering::Equal => Some("it says more that is not understood; the rest is not told".to_owned()),
            Ordering::Greater => None,
        }
    }
}

fn cut(event: AgentEvent) -> AgentEvent {
    match event {
        AgentEvent::MessageDelta { turn, text } => AgentEvent::MessageDelta { turn, text: head(&text, LONGEST_PIECE) },
        AgentEvent::ThoughtDelta { turn, text } => AgentEvent::ThoughtDelta { turn, text: head(&text, LONGEST_PIECE) },
        other => other,
    }
}

fn size(event: &AgentEvent) -> usize {
    AROUND
        + match event {
            AgentEvent::MessageDelta { text, .. } | AgentEvent::ThoughtDelta { text, .. } => text.len(),
            AgentEvent::ToolStarted { input, .. } => input.len(),
            AgentEvent::ToolCompleted { output, .. } => output.len(),
            AgentEvent::Noted { text } | AgentEvent::Trouble { message: text } => text.len(),
            AgentEvent::SessionStarted { .. }
            | AgentEvent::TurnStarted { .. }
            | AgentEvent::TurnCompleted { .. }
            | AgentEvent::Pursued { .. }
            | AgentEvent::Ended { .. } => 0,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_text_ends_in_one_note() {
        let mut flood = Flood::default();
        let piece = || AgentEvent::MessageDelta { turn: 1, text: "x".repeat(1 << 20) };
        let told: Vec<AgentEvent> = (0..5_000).filter_map(|_| flood.pass(piece())).collect();
        let bytes: usize = told.iter().map(size).sum();
        assert!(bytes < MOST + LONGEST_PIECE, "{bytes}");
        let notes = told.iter().filter(|event| matches!(event, AgentEvent::Noted { .. })).count();
        assert_eq!((notes, matches!(told.last(), Some(AgentEvent::Noted { .. }))), (1, true));
    }

    #[test]
    fn lines_that_are_not_understood_are_told_up_to_a_number() {
        let mut flood = Flood::default();
        assert_eq!((0..10_000).filter_map(|_| flood.unknown("eh")).count(), 101);
    }
}
