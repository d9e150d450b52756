//! What an attempt tells goes into the diary, a little at a time. Nothing waits for it: what cannot be kept is warned of.

use std::time::{Duration, Instant};

use domain::AgentTask;
use drivers::AgentEvent;
use engine::{DiarySink, Job, Note, Page, SessionId};
use jiff::Timestamp;

use crate::steps;

/// Pieces of text are kept together for so long.
const PATIENCE: Duration = Duration::from_millis(250);

/// Takes down one attempt.
pub(crate) struct Scribe {
    sink: DiarySink,
    session: SessionId,
    stage: String,
    role: String,
    attempt: u32,
    line: u64,
    notes: Vec<(u64, Note)>,
    kept_at: Option<Instant>,
}

impl Scribe {
    pub(crate) fn new(sink: DiarySink, job: &Job, task: &AgentTask) -> Self {
        let session = SessionId::of_run(&job.id.run, &task.session);
        Self { attempt: job.id.number, ..Self::of_session(sink, session, &task.stage, &task.session.role) }
    }

    /// For a conversation outside any run.
    pub(crate) fn of_session(sink: DiarySink, session: SessionId, stage: &str, role: &str) -> Self {
        let (stage, role) = (stage.to_owned(), role.to_owned());
        Self { sink, session, stage, role, attempt: 1, line: 0, notes: Vec::new(), kept_at: None }
    }

    pub(crate) fn session(&self) -> &SessionId {
        &self.session
    }

    /// Another line was told, whatever it says.
    pub(crate) fn line(&mut self, event: Option<&AgentEvent>) {
        self.line += 1;
        self.notes.extend(event.and_then(note).map(|note| (self.line, note)));
    }

    /// Keeps what is worth a write by now.
    pub(crate) async fn rest(&mut self) {
        let streams = |note: &Note| matches!(note, Note::Said { .. } | Note::Thought { .. });
        let only_pieces = self.notes.iter().all(|(_, note)| streams(note));
        let recent = self.kept_at.is_some_and(|kept| kept.elapsed() < PATIENCE);
        if !(only_pieces && recent) {
            self.keep().await;
        }
    }

    /// Keeps all of it.
    pub(crate) async fn keep(&mut self) {
        if self.notes.is_empty() {
            return;
        }
        let page = Page {
            session: self.session.clone(),
            stage: self.stage.clone(),
            role: self.role.clone(),
            attempt: self.attempt,
            upto: self.line,
            at: Timestamp::now(),
            notes: std::mem::take(&mut self.notes),
        };
        let sink = self.sink.clone();
        let kept = tokio::task::spawn_blocking(move || sink.keep(&page)).await;
        if let Ok(Err(error)) = kept {
            tracing::warn!(session = %self.session, %error, "a part of a conversation could not be kept");
        }
        self.kept_at = Some(Instant::now());
    }
}

fn note(event: &AgentEvent) -> Option<Note> {
    Some(match event.clone() {
        AgentEvent::SessionStarted { .. } => return None,
        AgentEvent::TurnStarted { turn } => Note::TurnBegun { turn },
        AgentEvent::MessageDelta { turn, text } => Note::Said { turn, text },
        AgentEvent::ThoughtDelta { turn, text } => Note::Thought { turn, text },
        AgentEvent::ToolStarted { turn, call, tool, input } => Note::ToolBegun { turn, call, tool, input },
        AgentEvent::ToolCompleted { turn, call, ok, output, millis, .. } => {
            Note::ToolEnded { turn, call, ok, output, millis }
        }
        AgentEvent::TurnCompleted { turn, input_tokens, output_tokens } => {
            Note::TurnEnded { turn, input_tokens, output_tokens }
        }
        AgentEvent::Noted { text } => Note::Noted { text },
        AgentEvent::Pursued { step } => Note::Noted { text: steps::words(&step) },
        AgentEvent::Trouble { message } => Note::Trouble { message },
        AgentEvent::Ended { hand_in } => Note::Ended { word: hand_in },
    })
}
