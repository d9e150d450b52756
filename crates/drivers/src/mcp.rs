//! MCP servers a job may use, as the agent is told about them. Never holds a secret: those stay with the broker.

use serde::{Deserialize, Serialize};

/// How the names of tools that come from MCP servers begin.
pub const MCP_PREFIX: &str = "mcp__";

/// An MCP server a job may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServer {
    /// Its name in the user's configuration.
    pub name: String,
    /// How it is reached.
    pub way: McpWay,
    /// Of its tools only these; `None`: all.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// How long one call may take.
    pub timeout_seconds: u64,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum McpWay {
    /// The agent starts it and speaks to its standard streams.
    Process {
        /// Program and arguments.
        command: Vec<String>,
        /// Whether the broker holds variables for it.
        variables: McpVariables,
    },
    /// Over HTTP, through the broker.
    Http,
}

/// Whether there are variables to be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum McpVariables {
    /// The broker hands them over, once.
    Asked,
    /// There are none.
    None,
}
