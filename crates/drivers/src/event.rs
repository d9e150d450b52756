//! One vocabulary for what agents do while they work, whatever program they are.

use domain::PursuitStep;
use serde::{Deserialize, Serialize};

/// Tools of programs that are not ours by which they read the web: their makers do it for them, so no wall stops it.
pub const WEB_TOOLS: &[&str] =
    &["WebSearch", "WebFetch", "web_search", "web_fetch", "google_web_search", "websearch", "webfetch"];

/// Whether a tool of a program reads the web.
#[must_use]
pub fn is_web_tool(name: &str) -> bool {
    WEB_TOOLS.contains(&name)
}

/// Something an agent did; a line of JSON on our own agent's standard output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum AgentEvent {
    /// The conversation began, or goes on.
    SessionStarted {
        /// Complete turns found from earlier attempts.
        resumed_turns: u32,
    },
    /// A model call began.
    TurnStarted {
        /// From 1.
        turn: u32,
    },
    /// The model said something.
    MessageDelta {
        /// Which turn.
        turn: u32,
        /// The next piece of text.
        text: String,
    },
    /// The model thought something.
    ThoughtDelta {
        /// Which turn.
        turn: u32,
        /// The next piece of text.
        text: String,
    },
    /// A tool began.
    ToolStarted {
        /// Which turn.
        turn: u32,
        /// Which call.
        call: String,
        /// The tool's name.
        tool: String,
        /// Its input in one line, shortened.
        input: String,
    },
    /// A tool ended.
    ToolCompleted {
        /// Which turn.
        turn: u32,
        /// Which call.
        call: String,
        /// The tool's name.
        tool: String,
        /// Whether it worked.
        ok: bool,
        /// The end of its output, shortened.
        output: String,
        /// How long it took.
        millis: u64,
    },
    /// A turn is complete and stored.
    TurnCompleted {
        /// Which turn.
        turn: u32,
        /// Tokens sent.
        input_tokens: u64,
        /// Tokens received.
        output_tokens: u64,
    },
    /// It pursues a goal, and goes a step on.
    Pursued {
        /// What.
        step: PursuitStep,
    },
    /// Something about the conversation itself: a person was heard, older turns were condensed.
    Noted {
        /// What.
        text: String,
    },
    /// Something went wrong that the agent copes with.
    Trouble {
        /// What.
        message: String,
    },
    /// The agent hands in and ends.
    Ended {
        /// What, in a word: see `HandIn::word`.
        hand_in: String,
    },
}
