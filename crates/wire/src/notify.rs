//! Notices to whoever wants to be told, and how their delivery stands.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a webhook is sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// The same for every try: who has seen it may drop it.
    pub id: String,
    /// `hold.placed`, `budget.asked`, `run.completed`, `run.failed`, `run.cancelled` or `test`.
    pub event: String,
    /// When it happened.
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// Rises with every event of the server; the order of notices.
    pub position: u64,
    /// The run it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<NoticeRun>,
    /// The hold it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<NoticeHold>,
    /// Why the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Where a person can look at it.
    #[serde(default)]
    pub link: String,
}

/// The run a notice is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoticeRun {
    /// Its id.
    pub id: String,
    /// Path of the repository.
    pub project: String,
    /// The first line of the request, without control characters.
    pub request: String,
    /// Its playbook.
    pub playbook: String,
}

/// The hold a notice is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NoticeHold {
    /// Its id, as `/api/holds` has it.
    pub id: String,
    /// Why it waits.
    pub kind: String,
    /// One or two sentences, without control characters.
    pub summary: String,
    /// The decisions it takes.
    pub allowed: Vec<String>,
}

/// A place that notices go to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DestinationView {
    /// Its name.
    pub name: String,
    /// `webhook` or `desktop`.
    pub kind: String,
    /// For a webhook the scheme and host of its address, for the desktop the program. Never a path or a secret.
    pub to: String,
    /// The events it is told of.
    pub events: Vec<String>,
    /// Deliveries that wait, for their first or another try.
    pub waiting: u64,
    /// Deliveries that were given up.
    pub dead: u64,
    /// The newest deliveries, newest first; at most 20.
    pub recent: Vec<DeliveryView>,
}

/// What became of one notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryView {
    /// Its id, as the receiver sees it.
    pub id: String,
    /// What it is about.
    pub event: String,
    /// `waiting`, `delivered` or `dead`.
    pub state: String,
    /// How often it was tried.
    pub tries: u32,
    /// Since when it is known.
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// When it was delivered or given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub ended_at: Option<Timestamp>,
    /// When it is tried next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub due_at: Option<Timestamp>,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// A wish for a test notice, or for another try of what was given up.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotifyRequest {}

/// How many deliveries were put back into the line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevivedView {
    /// So many.
    pub revived: usize,
}
