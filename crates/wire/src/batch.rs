//! Several runs started together, and several runs compared.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{ForkedFromView, HoldView, NewRun, Problem};

/// Several requests, each a run of its own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BatchRequest {
    /// The runs; at most 200.
    pub runs: Vec<NewRun>,
}

/// Several ways to one end, of which a person chooses one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VariantsRequest {
    /// The run that is tried in several ways.
    pub run: NewRun,
    /// How many; as many as there are approaches unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// What is particular about each way; the rest is left to the agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approaches: Vec<String>,
}

/// What became of each request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchView {
    /// The group's name: the id of its first run; absent when none was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// One per request, in their order.
    pub items: Vec<BatchItem>,
}

/// What became of one request: a run, or a problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchItem {
    /// Which, from 1.
    pub index: u32,
    /// What was asked.
    pub request: String,
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// Runs side by side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompareView {
    /// The runs, in the order asked for.
    pub runs: Vec<ComparedRun>,
    /// Files that all of them change.
    pub common: Vec<String>,
    /// Files that two of them change, for every two that have some.
    pub pairs: Vec<SharedFiles>,
}

/// What two runs both change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedFiles {
    /// One run.
    pub first: String,
    /// The other.
    pub second: String,
    /// What both change.
    pub files: Vec<String>,
}

/// One run, as it is compared. The record under `.autonomous/` does not count as changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComparedRun {
    /// Its id.
    pub id: String,
    /// What was asked.
    pub request: String,
    /// Which of its group, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// `running`, `awaiting_approval` …
    pub status: String,
    /// Title of its newest plan or spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Tasks of its plan; 0 when it has none.
    pub tasks: u32,
    /// Paths it changes.
    pub files: Vec<String>,
    /// Added lines.
    pub added: u64,
    /// Deleted lines.
    pub deleted: u64,
    /// Checks of the last proof that passed.
    pub checks_passed: u32,
    /// Checks of the last proof that failed.
    pub checks_failed: u32,
    /// `pass` or `fail`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// What the reviewer said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<String>,
    /// What it spent, its tasks included, in dollars.
    pub usd: f64,
    /// The run it was forked from, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFromView>,
    /// What was spent before its fork, by the runs it comes from; not in `usd`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited_usd: Option<f64>,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Seconds from its start to its end, or to now.
    pub seconds: i64,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldView>,
}
