//! Forks: new runs that begin where another one stood.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{HoldView, RunView};

/// A point of a run at which nothing was half done, so that another run can begin there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkPointView {
    /// Number of the event after which the run stood so.
    pub at: u64,
    /// When.
    #[schema(value_type = String)]
    pub time: Timestamp,
    /// `hold`: it waited for a person; `stage_started`: a stage was about to begin; `stage_completed`: one was done.
    pub kind: String,
    /// The stage; absent for a hold after the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// What happened, in a few words.
    pub what: String,
    /// What it waited for, with the decisions a fork may make there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldView>,
    /// The branch's tip then: where a fork's branch begins.
    pub commit: String,
    /// What had been spent until then, in dollars: what a fork does not pay again.
    pub usd: f64,
}

/// A wish for a run that begins where another one stood. Everything that is not said stays as it was there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkRequest {
    /// Number of an event: the fork begins at the last point at or before it. Unless said: the last point that takes
    /// the decision that is made along with it, or the last one of all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// A decision on the hold of that point, by its word: `answer`, `approve`, `reject` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ForkDecision>,
    /// Role to `provider/model`; `*` stands for every role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
    /// Role to the program that plays it; `*` stands for every role.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
    /// What the fork itself may spend, in dollars; what its origin was started with unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
}

/// What a fork decides at its point, in place of what was decided there before.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForkDecision {
    /// One of the `allowed` words of the point's hold.
    pub decision: String,
    /// Notes, feedback, hint, question, guidance or reason, as the decision takes it; for `modify_plan` the whole text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The answer, or the chosen options, for `answer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Vec<String>>,
    /// For `extend`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minutes: Option<u32>,
    /// For `raise`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// For `retry`: another `provider/model` for the role, from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A fork that was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkView {
    /// The new run.
    pub run: RunView,
    /// The point it begins at.
    pub point: ForkPointView,
}

/// Where a run comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkedFromView {
    /// The run it was forked from.
    pub run: String,
    /// The event after which it begins.
    pub at: u64,
}
