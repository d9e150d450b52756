//! What a run will probably cost, before it starts.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The answer to "what will it cost".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EstimateView {
    /// What it will probably cost; none where a price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likely_usd: Option<f64>,
    /// What it may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_usd: Option<f64>,
    /// What that is said from.
    pub basis: String,
    /// The run's own limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_usd: Option<f64>,
    /// Limits it shares with other runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<SharedLimitView>,
    /// What may not be enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A limit that runs share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SharedLimitView {
    /// Whose, as part of a sentence: "for the day".
    pub name: String,
    /// How much.
    pub limit_usd: f64,
    /// What is spent of it.
    pub spent_usd: f64,
    /// When it begins anew.
    #[schema(value_type = String, format = DateTime)]
    pub resets_at: Timestamp,
}
