//! Holds and decisions: why a run waits, and what a person may answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Artifact, Digest, HoldId, Micros};

/// Why a run waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldKind {
    /// Something is ready and a person wanted a say; or the questions ran out.
    Approval,
    /// The agent asks.
    Clarification,
    /// Validation failed and a person must choose.
    Fix,
    /// A stage ran out of time.
    Timeout,
    /// The model failed after all retries.
    Model,
    /// The spend limit is reached.
    Budget,
    /// The branch does not merge into its base, or the base's checkout is dirty.
    Conflict,
    /// The remote refused a push.
    Credentials,
    /// Crashes or repairs are spent.
    Stuck,
}

impl HoldKind {
    /// The word used in views.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Approval => "approval",
            Self::Clarification => "clarification",
            Self::Fix => "fix",
            Self::Timeout => "timeout",
            Self::Model => "model",
            Self::Budget => "budget",
            Self::Conflict => "conflict",
            Self::Credentials => "credentials",
            Self::Stuck => "stuck",
        }
    }
}

/// What shape an answer takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseType {
    /// Free text.
    Text,
    /// One of the options.
    SingleChoice,
    /// Some of the options.
    MultipleChoice,
    /// The name and content of a file.
    FileUpload,
}

/// A question of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// What it wants to know.
    pub question: String,
    /// Why it asks.
    #[serde(default)]
    pub context: String,
    /// What may be chosen, for choices.
    #[serde(default)]
    pub options: Vec<String>,
    /// What shape the answer takes.
    pub response_type: ResponseType,
}

/// The one reason why a run waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// Sequence number of the event that placed it.
    pub id: HoldId,
    /// Why.
    pub kind: HoldKind,
    /// Stage it belongs to; `None` while opening or finishing.
    pub stage: Option<String>,
    /// Since when.
    pub since: Timestamp,
    /// One or two sentences for people.
    pub summary: String,
    /// What is shown.
    #[serde(default)]
    pub artifact: Option<Artifact>,
    /// The question, for clarifications and for approvals that questions grew into.
    #[serde(default)]
    pub question: Option<Question>,
    /// Which question of the run this is, from 1; 0 for other holds.
    #[serde(default)]
    pub attempt_number: u32,
    /// Binds a decision to what was shown.
    pub digest: Digest,
    /// The decisions it takes.
    pub allowed: Vec<DecisionKind>,
}

/// Who decided, and through which door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    /// The authenticated name.
    pub name: String,
    /// `cli`, `http`, `demo` …
    pub channel: String,
}

/// The name of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionKind {
    /// Yes, to exactly this.
    Approve,
    /// No, with feedback; the stage is done again.
    Reject,
    /// A hint; the stage is done again with it.
    Suggest,
    /// The answer to a question.
    Answer,
    /// No answer: the agent shall decide itself.
    Ignore,
    /// Try again.
    Retry,
    /// Go on although validation failed.
    AcceptAnyway,
    /// More time.
    Extend,
    /// More money.
    Raise,
    /// End the run.
    Cancel,
}

impl DecisionKind {
    /// The word used in views and on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Suggest => "suggest",
            Self::Answer => "answer",
            Self::Ignore => "ignore",
            Self::Retry => "retry",
            Self::AcceptAnyway => "accept_anyway",
            Self::Extend => "extend",
            Self::Raise => "raise",
            Self::Cancel => "cancel",
        }
    }
}

/// What a person answers to a hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Decision {
    /// Yes, to exactly this.
    Approve {
        /// Notes that go along to the next stage.
        notes: Option<String>,
    },
    /// No; the stage is done again with the feedback.
    Reject {
        /// What to change.
        feedback: String,
    },
    /// A hint; the stage is done again with it.
    Suggest {
        /// The hint.
        text: String,
    },
    /// The answer to a question.
    Answer {
        /// The text, or the chosen options.
        answer: Vec<String>,
    },
    /// No answer: the agent shall decide itself.
    Ignore,
    /// Try again.
    Retry {
        /// Guidance for the next try.
        feedback: Option<String>,
    },
    /// Go on although validation failed.
    AcceptAnyway {
        /// Why.
        reason: Option<String>,
    },
    /// More time for the stage.
    Extend {
        /// How much more.
        minutes: u32,
    },
    /// More money for the run.
    Raise {
        /// Added to the limit.
        by: Micros,
    },
    /// End the run.
    Cancel {
        /// Why.
        reason: Option<String>,
    },
}

impl Decision {
    /// Its name.
    #[must_use]
    pub fn kind(&self) -> DecisionKind {
        match self {
            Self::Approve { .. } => DecisionKind::Approve,
            Self::Reject { .. } => DecisionKind::Reject,
            Self::Suggest { .. } => DecisionKind::Suggest,
            Self::Answer { .. } => DecisionKind::Answer,
            Self::Ignore => DecisionKind::Ignore,
            Self::Retry { .. } => DecisionKind::Retry,
            Self::AcceptAnyway { .. } => DecisionKind::AcceptAnyway,
            Self::Extend { .. } => DecisionKind::Extend,
            Self::Raise { .. } => DecisionKind::Raise,
            Self::Cancel { .. } => DecisionKind::Cancel,
        }
    }
}
