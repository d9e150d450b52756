//! The three wire protocols agents speak, and how each of them says that something is wrong.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A protocol an agent can speak to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Protocol {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Chat Completions.
    Chat,
    /// OpenAI Responses.
    Responses,
}

impl Protocol {
    /// The path behind the version segment.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Chat => "chat/completions",
            Self::Responses => "responses",
        }
    }

    pub(crate) fn door(self) -> &'static str {
        match self {
            Self::Messages => "/anthropic/v1/messages",
            Self::Chat => "/openai/v1/chat/completions",
            Self::Responses => "/openai/v1/responses",
        }
    }

    /// The protocol whose error format fits a path that leads nowhere.
    pub(crate) fn nearest(path: &str) -> Self {
        let anthropic = path.starts_with("/anthropic") || path.starts_with("/v1/messages");
        if anthropic { Self::Messages } else { Self::Chat }
    }

    /// An error body as this protocol's clients expect it.
    pub(crate) fn error(self, code: &str, message: &str) -> Value {
        match self {
            Self::Messages => json!({
                "type": "error",
                "error": { "type": code, "message": message },
            }),
            Self::Chat | Self::Responses => json!({
                "error": { "message": message, "type": code, "param": null, "code": code },
            }),
        }
    }

    /// Whether a body is already an error of this protocol.
    pub(crate) fn is_error(self, body: &Value) -> bool {
        let message = body.pointer("/error/message");
        message.is_some_and(Value::is_string)
            && match self {
                Self::Messages => body["type"] == "error",
                Self::Chat | Self::Responses => true,
            }
    }
}
