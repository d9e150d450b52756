//! The wire protocols agents speak, and how each of them says that something is wrong.

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
    /// Gemini `generateContent`.
    Gemini,
    /// OpenAI embeddings.
    Embeddings,
}

impl Protocol {
    pub(crate) fn door(self) -> &'static str {
        match self {
            Self::Messages => "/anthropic/v1/messages",
            Self::Chat => "/openai/v1/chat/completions",
            Self::Responses => "/openai/v1/responses",
            Self::Gemini => "/gemini/v1beta/models",
            Self::Embeddings => "/embeddings",
        }
    }

    /// The protocol whose error format fits a path that leads nowhere.
    pub(crate) fn nearest(path: &str) -> Self {
        let begins = |starts: &[&str]| starts.iter().any(|start| path.starts_with(start));
        if begins(&["/anthropic", "/v1/messages"]) {
            Self::Messages
        } else if begins(&["/gemini", "/v1beta"]) {
            Self::Gemini
        } else {
            Self::Chat
        }
    }

    /// An error body as this protocol's clients expect it.
    pub(crate) fn error(self, status: u16, code: &str, message: &str) -> Value {
        match self {
            Self::Messages => json!({
                "type": "error",
                "error": { "type": code, "message": message },
            }),
            Self::Chat | Self::Responses | Self::Embeddings => json!({
                "error": { "message": message, "type": code, "param": null, "code": code },
            }),
            Self::Gemini => json!({
                "error": { "code": status, "message": message, "status": code },
            }),
        }
    }

    /// Whether a body is already an error of this protocol.
    pub(crate) fn is_error(self, body: &Value) -> bool {
        let message = body.pointer("/error/message");
        message.is_some_and(Value::is_string)
            && match self {
                Self::Messages => body["type"] == "error",
                Self::Chat | Self::Responses | Self::Gemini | Self::Embeddings => true,
            }
    }
}
