//! Conversations of agents, as people read them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One agent's conversation. It goes on over restarts; another visit of the stage begins another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView {
    /// Its name, for `GET /api/sessions/{id}`.
    pub id: String,
    /// The run.
    pub run: Option<String>,
    /// The stage.
    pub stage: String,
    /// Who speaks.
    pub role: String,
    /// `active` while its process works, else `completed`, or `error` when the last thing it told was trouble.
    pub state: String,
    /// Processes that took part.
    pub attempts: u32,
    /// Model calls.
    pub turns: u32,
    /// When it began.
    #[schema(value_type = String)]
    pub started_at: Timestamp,
    /// When it was last heard of.
    #[schema(value_type = String)]
    pub updated_at: Timestamp,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// What it handed in last.
    pub ended: Option<String>,
    /// The last trouble it told.
    pub problem: Option<String>,
}

/// A conversation with its turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionHistory {
    /// Which.
    pub session: SessionView,
    /// Turns in order, after the one that was asked for.
    pub turns: Vec<TurnView>,
    /// Whether there are more: ask again with the last number.
    pub more: bool,
}

/// One model call and what followed from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnView {
    /// From 1.
    pub number: u32,
    /// When it began.
    #[schema(value_type = String)]
    pub started_at: Timestamp,
    /// When it was complete; absent while it streams.
    #[schema(value_type = Option<String>)]
    pub completed_at: Option<Timestamp>,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// What was said, thought and done, in order.
    pub items: Vec<TurnItemView>,
}

/// Something in a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum TurnItemView {
    /// Words; by a person where `by` is given, else by the agent.
    Message {
        /// Who.
        #[serde(default, skip_serializing_if = "Option::is_none")]
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
        /// Its input, shortened.
        input: String,
        /// What it gave, shortened; absent while it runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<String>,
        /// Whether it worked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ok: Option<bool>,
        /// Milliseconds it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        millis: Option<u64>,
    },
}
