//! Live messages: a snapshot, then everything after its position.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{EventView, RunView};

/// What the server sends over `/api/live`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "message", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum LiveMessage {
    /// All runs asked for, as of a position.
    Snapshot {
        /// Everything up to here is in it.
        position: u64,
        /// The runs.
        runs: Vec<RunView>,
    },
    /// A stored event, with the run as it is now.
    Event {
        /// Its global position.
        position: u64,
        /// What kind, in the words of the live contract.
        name: LiveName,
        /// The event.
        event: EventView,
        /// The run after it.
        run: Box<RunView>,
    },
    /// Something an agent does right now; not stored, may be missed.
    Activity {
        /// The run.
        run: String,
        /// What kind.
        name: LiveName,
        /// Details.
        #[schema(value_type = Object)]
        data: Value,
    },
    /// The client was too slow; a snapshot follows.
    Behind {
        /// Where the snapshot will start.
        position: u64,
    },
}

/// Names of live messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum LiveName {
    /// A run began.
    #[serde(rename = "workflow:created")]
    WorkflowCreated,
    /// A person is waited for.
    #[serde(rename = "workflow:approval_needed")]
    WorkflowApprovalNeeded,
    /// It moved.
    #[serde(rename = "workflow:stage_changed")]
    WorkflowStageChanged,
    /// It ended well or was cancelled.
    #[serde(rename = "workflow:completed")]
    WorkflowCompleted,
    /// It failed.
    #[serde(rename = "workflow:error")]
    WorkflowError,
    /// A task went on, and nobody said so; the event's `task` says from where to where.
    #[serde(rename = "auto.advanced")]
    AutoAdvanced,
    /// The agent of a task ended without handing anything in; the event's `task` says how often.
    #[serde(rename = "agent.crashed")]
    AgentCrashed,
    /// Any other stored event.
    #[serde(rename = "workflow:event")]
    WorkflowEvent,
    /// An agent began.
    #[serde(rename = "session:started")]
    SessionStarted,
    /// An agent ended.
    #[serde(rename = "session:completed")]
    SessionCompleted,
    /// An agent is in trouble.
    #[serde(rename = "session:error")]
    SessionError,
    /// Something about an agent's conversation: a person was heard, older turns were condensed.
    #[serde(rename = "session:note")]
    SessionNote,
    /// A model call began.
    #[serde(rename = "turn:started")]
    TurnStarted,
    /// A model call is complete.
    #[serde(rename = "turn:completed")]
    TurnCompleted,
    /// Text came.
    #[serde(rename = "turn:message_delta")]
    TurnMessageDelta,
    /// A thought came.
    #[serde(rename = "turn:thought_delta")]
    TurnThoughtDelta,
    /// A tool began.
    #[serde(rename = "turn:tool_started")]
    TurnToolStarted,
    /// A tool ended.
    #[serde(rename = "turn:tool_completed")]
    TurnToolCompleted,
}
