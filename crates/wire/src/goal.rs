//! A goal, as it is shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How far a goal is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoalView {
    /// The iteration that is worked on, or the last one.
    pub iteration: u32,
    /// How many there may be.
    pub of: u32,
    /// `planning`, `acting`, `observing` or `reflecting`; absent between iterations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// In percent, as last said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<u8>,
    /// All of it in a line: `iteration 3 of 15 · acting · 4 of 7 tasks · 60 %`.
    pub line: String,
    /// The tree of tasks; parts name their whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<GoalTaskView>,
    /// Milliseconds spent in each phase so far.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub phase_millis: BTreeMap<String, u64>,
}

/// A task on the way to a goal; a list of them is what `modify_plan` takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GoalTaskView {
    /// Unique in the goal.
    pub id: String,
    /// What is to be done.
    pub description: String,
    /// The task it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Tasks that come before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// `pending`, `running`, `completed` or `failed`.
    pub status: String,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
