//! The agent's voice: one line of JSON per event, flushed at once, and kept with its time in the session folder.
//! Streamed pieces are gathered to readable sizes.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use drivers::AgentEvent;
use jiff::Timestamp;
use serde::Serialize;

use crate::lines;

const PIECE: usize = 160;
const PATIENCE: Duration = Duration::from_millis(100);

/// Where events go.
pub(crate) struct Events<'a> {
    out: &'a mut (dyn Write + Send),
    kept: Option<File>,
    turn: u32,
    pending: Pending,
    text: String,
    since: Instant,
    /// Of which sub-agent it tells.
    of: Option<&'static str>,
}

#[derive(Serialize)]
struct Kept<'a> {
    at: Timestamp,
    said: &'a AgentEvent,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    Message,
    Thought,
}

impl<'a> Events<'a> {
    pub(crate) fn new(out: &'a mut (dyn Write + Send)) -> Self {
        Self {
            out,
            kept: None,
            turn: 0,
            pending: Pending::Message,
            text: String::new(),
            since: Instant::now(),
            of: None,
        }
    }

    /// A voice for a sub-agent: what it does is told as notes of this conversation, and its pieces of text are not.
    pub(crate) fn of_sub_agent(&mut self, of: &'static str) -> Events<'_> {
        // Kept only while it can be: what is said matters more than the copy of it.
        let kept = self.kept.as_ref().and_then(|file| file.try_clone().ok());
        Events { kept, of: Some(of), ..Events::new(&mut *self.out) }
    }

    /// Keeps everything said from now on in a file, also what a cut answer had said.
    pub(crate) fn keep(&mut self, path: &Path) -> io::Result<()> {
        let mut file = lines::open(path)?;
        lines::take_in(&mut file)?;
        self.kept = Some(file);
        Ok(())
    }

    /// Says one thing now, after whatever was still gathered.
    pub(crate) fn say(&mut self, event: &AgentEvent) -> io::Result<()> {
        self.flush()?;
        match self.of {
            None => self.line(event),
            Some(of) => match told(event) {
                Some(words) => self.line(&AgentEvent::Noted { text: format!("sub-agent ({of}) {words}") }),
                None => Ok(()),
            },
        }
    }

    pub(crate) fn message(&mut self, turn: u32, piece: &str) -> io::Result<()> {
        self.gather(turn, Pending::Message, piece)
    }

    pub(crate) fn thought(&mut self, turn: u32, piece: &str) -> io::Result<()> {
        self.gather(turn, Pending::Thought, piece)
    }

    /// Waits until what was gathered is due to be said; for ever when nothing was.
    pub(crate) async fn due(&self) {
        if self.text.is_empty() {
            std::future::pending::<()>().await;
        }
        tokio::time::sleep(PATIENCE.saturating_sub(self.since.elapsed())).await;
    }

    /// Says what was gathered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.text);
        if self.of.is_some() {
            return Ok(());
        }
        let turn = self.turn;
        self.line(&match self.pending {
            Pending::Message => AgentEvent::MessageDelta { turn, text },
            Pending::Thought => AgentEvent::ThoughtDelta { turn, text },
        })
    }

    fn gather(&mut self, turn: u32, pending: Pending, piece: &str) -> io::Result<()> {
        if (self.turn, self.pending) != (turn, pending) {
            self.flush()?;
        }
        if self.text.is_empty() {
            self.since = Instant::now();
        }
        (self.turn, self.pending) = (turn, pending);
        self.text.push_str(piece);
        if self.text.len() >= PIECE || self.since.elapsed() >= PATIENCE { self.flush() } else { Ok(()) }
    }

    fn line(&mut self, event: &AgentEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(event).expect("an event is made of strings and numbers");
        line.push(b'\n');
        if let Some(file) = &mut self.kept {
            lines::append(file, &Kept { at: Timestamp::now(), said: event })?;
        }
        self.out.write_all(&line)?;
        self.out.flush()
    }
}

/// What of a sub-agent's doings is told.
fn told(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::SessionStarted { resumed_turns: 0 } => Some("begins".to_owned()),
        AgentEvent::SessionStarted { resumed_turns } => Some(format!("goes on after turn {resumed_turns}")),
        AgentEvent::TurnCompleted { turn, input_tokens, output_tokens } => {
            Some(format!("turn {turn}: {input_tokens} tokens in, {output_tokens} out"))
        }
        AgentEvent::ToolStarted { tool, input, .. } => Some(format!("calls {tool} {input}")),
        AgentEvent::ToolCompleted { tool, ok: false, output, .. } => Some(format!("{tool} failed: {output}")),
        AgentEvent::Noted { text } | AgentEvent::Trouble { message: text } => Some(text.clone()),
        AgentEvent::ToolCompleted { .. }
        | AgentEvent::TurnStarted { .. }
        | AgentEvent::MessageDelta { .. }
        | AgentEvent::ThoughtDelta { .. }
        | AgentEvent::Pursued { .. }
        | AgentEvent::Ended { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_become_one_line_and_nothing_is_lost_or_mixed() {
        let mut out = Vec::new();
        let mut events = Events::new(&mut out);
        events.thought(1, "hm").unwrap();
        for _ in 0..100 {
            events.message(1, "word ").unwrap();
        }
        events.say(&AgentEvent::TurnStarted { turn: 2 }).unwrap();
        let lines = String::from_utf8(out).unwrap();
        let lines: Vec<AgentEvent> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(lines.len() < 20, "{}", lines.len());
        assert_eq!(lines[0], AgentEvent::ThoughtDelta { turn: 1, text: "hm".into() });
        assert_eq!(lines.last(), Some(&AgentEvent::TurnStarted { turn: 2 }));
        let said: String = lines
            .iter()
            .filter_map(
                |event| if let AgentEvent::MessageDelta { text, .. } = event { Some(text.as_str()) } else { None },
            )
            .collect();
        assert_eq!(said, "word ".repeat(100));
    }
}
