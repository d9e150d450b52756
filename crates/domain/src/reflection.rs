//! Reflections: what an agent that pursues a goal says at the end of each iteration.

use serde::{Deserialize, Serialize};

/// The end of one iteration towards a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reflection {
    /// Whether the goal is met.
    pub goal_achieved: bool,
    /// How far it is, in percent.
    pub progress: u8,
    /// What was done and learnt.
    pub content: String,
    /// What comes next.
    #[serde(default)]
    pub next_action: String,
    /// Whether a person must help.
    #[serde(default)]
    pub requires_user_intervention: bool,
    /// What is in the way.
    #[serde(default)]
    pub issues: Vec<String>,
}
