//! Conversations as they are kept for people: who said what in which turn. No run depends on them; what an agent needs
//! to go on stands in its own session folder.

use std::sync::Arc;

use domain::{RunId, Session};
use jiff::Timestamp;

use crate::StoreError;

/// The name of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// The conversation of a role in a run. It goes on over attempts; another visit begins another one.
    #[must_use]
    pub fn of_run(run: &RunId, session: &Session) -> Self {
        Self(format!("{run}.{}-{}", session.role, session.visit))
    }

    /// A name that was given out before, or any other text: one that names nothing finds nothing.
    #[must_use]
    pub fn named(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The run it belongs to, if it belongs to one.
    #[must_use]
    pub fn run(&self) -> Option<RunId> {
        self.0.split_once('.')?.0.parse().ok()
    }

    /// As it is shown.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Some lines of what an attempt told, in order. Those that were taken in before change nothing.
#[derive(Debug, Clone)]
pub struct Page {
    /// The conversation.
    pub session: SessionId,
    /// The stage, or another word for what it is about.
    pub stage: String,
    /// Who speaks.
    pub role: String,
    /// Tells the attempts of a conversation apart; rises.
    pub attempt: u32,
    /// Lines of the attempt that are told with this page and those before it.
    pub upto: u64,
    /// When it was read.
    pub at: Timestamp,
    /// What they say, each with the number of its line, from 1.
    pub notes: Vec<(u64, Note)>,
}

/// One thing that happened in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// A model call began. One that was begun before and not completed is forgotten.
    TurnBegun {
        /// From 1.
        turn: u32,
    },
    /// The model said something.
    Said {
        /// Which turn.
        turn: u32,
        /// The next piece.
        text: String,
    },
    /// The model thought something.
    Thought {
        /// Which turn.
        turn: u32,
        /// The next piece.
        text: String,
    },
    /// A person, or Holdpoint in their name, said something.
    Told {
        /// The turn that follows it.
        turn: u32,
        /// Who.
        by: String,
        /// What.
        text: String,
    },
    /// A tool began.
    ToolBegun {
        /// Which turn.
        turn: u32,
        /// Which call.
        call: String,
        /// The tool.
        tool: String,
        /// Its input.
        input: String,
    },
    /// A tool ended.
    ToolEnded {
        /// Which turn.
        turn: u32,
        /// Which call.
        call: String,
        /// Whether it worked.
        ok: bool,
        /// What it gave, or why it failed.
        output: String,
        /// How long it took.
        millis: u64,
    },
    /// The turn is complete.
    TurnEnded {
        /// Which turn.
        turn: u32,
        /// Tokens sent.
        input_tokens: u64,
        /// Tokens received.
        output_tokens: u64,
    },
    /// Something about the conversation itself, in its newest turn.
    Noted {
        /// What.
        text: String,
    },
    /// Something went wrong.
    Trouble {
        /// What.
        message: String,
    },
    /// The attempt handed in and ended.
    Ended {
        /// What, in a word.
        word: String,
    },
}

/// A conversation in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its name.
    pub id: SessionId,
    /// The stage, or what it is about.
    pub stage: String,
    /// Who speaks.
    pub role: String,
    /// Attempts that took part.
    pub attempts: u32,
    /// Turns begun.
    pub turns: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was last heard of.
    pub updated_at: Timestamp,
    /// Tokens sent in all complete turns.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// What its last attempt handed in.
    pub ended: Option<String>,
    /// The last trouble.
    pub problem: Option<String>,
}

/// One turn with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRow {
    /// From 1.
    pub number: u32,
    /// When it began.
    pub started_at: Timestamp,
    /// When it was complete.
    pub completed_at: Option<Timestamp>,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// What was said, thought and done, in order.
    pub items: Vec<TurnItem>,
}

/// Something in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnItem {
    /// Words; by a person where `by` is given, else by the agent.
    Message {
        /// Who.
        by: Option<String>,
        /// What.
        text: String,
    },
    /// A thought.
    Thought {
        /// What.
        text: String,
    },
    /// A tool call.
    Tool {
        /// Which call.
        call: String,
        /// The tool.
        tool: String,
        /// Its input.
        input: String,
        /// What it gave; none while it runs.
        output: Option<String>,
        /// Whether it worked.
        ok: Option<bool>,
        /// How long it took.
        millis: Option<u64>,
    },
}

type Keep = dyn Fn(&Page) -> Result<(), StoreError> + Send + Sync;

/// Takes pages in. Blocks; what cannot be kept now is told again with the attempt's next adoption.
#[derive(Clone)]
pub struct DiarySink(pub Arc<Keep>);

impl DiarySink {
    /// Keeps a page.
    ///
    /// # Errors
    /// When it cannot be written; nothing of it is kept then.
    pub fn keep(&self, page: &Page) -> Result<(), StoreError> {
        (self.0)(page)
    }

    /// One that keeps nothing.
    #[must_use]
    pub fn none() -> Self {
        Self(Arc::new(|_| Ok(())))
    }
}
