//! Channels: talk about a repository outside any run. Facts of their own, kept beside the conversations.

use domain::Micros;
use jiff::Timestamp;

use crate::SessionId;

/// A place to ask about one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Channel {
    /// Its id.
    pub id: String,
    /// Path of the repository.
    pub project: String,
    /// What it is about.
    pub title: String,
    /// Who opened it.
    pub created_by: String,
    /// When.
    pub created_at: Timestamp,
}

impl Channel {
    /// What an id begins with; a run's never does.
    pub const PREFIX: &'static str = "ch-";
    /// Bytes of one question.
    pub const MAX_QUESTION: usize = 16 * 1024;

    /// The conversation in which a question is answered.
    #[must_use]
    pub fn session(channel: &str, number: u32) -> SessionId {
        SessionId::named(&format!("{channel}.discussion-{number}"))
    }
}

/// Something that was asked in a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The channel.
    pub channel: String,
    /// From 1, without gaps.
    pub number: u32,
    /// Who asked.
    pub asked_by: String,
    /// What.
    pub text: String,
    /// The model that is to answer.
    pub model: String,
    /// When.
    pub asked_at: Timestamp,
    /// What came of it; none while it is open.
    pub answered: Option<Answered>,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The answer, or why there is none.
    pub answer: Result<String, String>,
    /// When.
    pub at: Timestamp,
    /// What it cost; none where a price is unknown.
    pub cost: Option<Micros>,
}
