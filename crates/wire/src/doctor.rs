//! What is there, what is missing, and every setting with where it came from.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The state of an installation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorView {
    /// What was looked at.
    pub findings: Vec<FindingView>,
    /// Every setting.
    pub settings: Vec<SettingView>,
}

/// How a finding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    /// As it should be.
    Good,
    /// It works, and could be better.
    Warning,
    /// It does not work without.
    Missing,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingView {
    /// What.
    pub name: String,
    /// How it stands.
    pub state: FindingState,
    /// What was found.
    pub value: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// A setting and where its value came from. Never a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingView {
    /// Its name.
    pub name: String,
    /// Its value, or what holds without one.
    pub value: String,
    /// `environment`, `config.toml` or `default`.
    pub source: String,
}
