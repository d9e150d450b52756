//! Channels: talk about a repository outside any run.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::LiveName;

/// Opens a channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewChannel {
    /// Path of the repository.
    pub project: String,
    /// What it is about.
    #[serde(default)]
    pub title: String,
}

/// A question to the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskRequest {
    /// What.
    pub text: String,
    /// `provider/model` that answers; the one of the role `discussion` unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A channel with what was said in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelView {
    /// Its id.
    pub id: String,
    /// Path of the repository.
    pub project: String,
    /// What it is about.
    pub title: String,
    /// Who opened it.
    pub created_by: String,
    /// When.
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// Questions in order. Left out in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionView>,
}

/// A question and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QuestionView {
    /// From 1.
    pub number: u32,
    /// The conversation in which it is answered, for `GET /api/sessions/{id}`.
    pub session: String,
    /// Who asked.
    pub by: String,
    /// What.
    pub text: String,
    /// The model that answers.
    pub model: String,
    /// When.
    #[schema(value_type = String)]
    pub asked_at: Timestamp,
    /// `open`, `answered` or `failed`.
    pub state: String,
    /// The answer, in Markdown, with references to files.
    pub answer: Option<String>,
    /// Why there is none.
    pub problem: Option<String>,
    /// When it was there.
    #[schema(value_type = Option<String>)]
    pub answered_at: Option<Timestamp>,
    /// What it cost; absent where a price is unknown.
    pub usd: Option<f64>,
}

/// What the server sends over `/api/channels/{id}/live`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "message", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ChannelMessage {
    /// The whole channel: first, and after every change.
    Channel {
        /// As it is now.
        channel: Box<ChannelView>,
    },
    /// Something the agent does right now; history has it too.
    Activity {
        /// Which question is being answered.
        session: String,
        /// What kind.
        name: LiveName,
        /// Details.
        #[schema(value_type = Object)]
        data: Value,
    },
}
