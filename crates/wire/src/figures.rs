//! How runs went: figures over finished runs, and the repositories they are of.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How runs went that ended within some weeks. The run of a task counts as a part of the run it was started for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsView {
    /// The first moment that counts: a Monday in UTC.
    #[schema(value_type = String)]
    pub since: Timestamp,
    /// When this was told.
    #[schema(value_type = String)]
    pub until: Timestamp,
    /// The repository it is about; all unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Runs that have begun and not ended.
    pub open: u64,
    /// All of it.
    pub total: FiguresView,
    /// By playbook, the most used first.
    pub playbooks: Vec<NamedFigures>,
    /// By model, the dearest first. A run counts for every model it used; money is what that model cost.
    pub models: Vec<NamedFigures>,
    /// By the week in which runs ended, oldest first; weeks without any too.
    pub weeks: Vec<NamedFigures>,
    /// How long people were waited for, by what was asked, the most frequent first.
    pub holds: Vec<WaitView>,
}

/// Figures of some runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedFigures {
    /// Of which: a playbook, a model, or a week's Monday.
    pub name: String,
    /// How they went.
    pub figures: FiguresView,
}

/// How runs went. What cannot be told of none is absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FiguresView {
    /// Runs that ended.
    pub ended: u64,
    /// Well.
    pub completed: u64,
    /// Badly.
    pub failed: u64,
    /// By a person.
    pub cancelled: u64,
    /// Runs whose work is on the base branch.
    pub merged: u64,
    /// Completed of ended, from 0 to 1.
    pub success_rate: Option<f64>,
    /// From start to end of completed runs, waiting included: the middle one, in seconds.
    pub median_seconds: Option<i64>,
    /// Nine of ten were as quick.
    pub p90_seconds: Option<i64>,
    /// What they cost, in dollars.
    pub usd: f64,
    /// Per run that ended.
    pub usd_per_run: Option<f64>,
    /// All money over merged runs: what failed is paid by what was merged.
    pub usd_per_merged: Option<f64>,
    /// Decisions people made.
    pub decisions: u64,
    /// From question to decision: the middle one, in seconds.
    pub decision_median_seconds: Option<i64>,
    /// Nine of ten were as quick.
    pub decision_p90_seconds: Option<i64>,
    /// How often the most repeated stage was done, or a goal pursued, on average; 1 is right at once.
    pub iterations: Option<f64>,
    /// Runs in which nothing was done twice, of ended, from 0 to 1.
    pub first_time: Option<f64>,
}

/// How long people were waited for with one kind of hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitView {
    /// `approval`, `clarification` …
    pub kind: String,
    /// How often it was decided.
    pub decisions: u64,
    /// The middle wait, in seconds.
    pub median_seconds: i64,
    /// Nine of ten were as quick.
    pub p90_seconds: i64,
}

/// A repository that runs were started in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectView {
    /// Its path.
    pub path: String,
    /// Runs so far, without those of tasks.
    pub runs: u64,
    /// Of them, those that have not ended.
    pub open: u64,
    /// Whose work is on the base branch.
    pub merged: u64,
    /// What they cost, in dollars.
    pub usd: f64,
    /// When the last one was started.
    #[schema(value_type = String)]
    pub last_started_at: Timestamp,
    /// Whether a folder is there.
    pub present: bool,
}
