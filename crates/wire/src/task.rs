//! What is shown of a plan's tasks, and of the way a run took.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One task of a plan, as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// Its id in the plan.
    pub id: String,
    /// One line.
    pub title: String,
    /// `waiting`, `starting`, `working`, `ready`, `merging`, `conflicted`, `merged`, `failed`, `skipped`.
    pub status: String,
    /// Tasks that must be merged before it starts.
    pub depends_on: Vec<String>,
    /// Its group, from 1; absent for a task that was added later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// Its newest child run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<String>,
    /// Child runs it has had.
    pub attempt: u32,
    /// What its child runs that are over spent, in dollars.
    pub cost: f64,
    /// What went wrong last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Files it changed without having named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strayed: Vec<String>,
    /// Files in which it conflicts with what is merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}

/// Two tasks that expect to touch the same files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverlapView {
    /// The earlier in the plan.
    pub first: String,
    /// The later.
    pub second: String,
    /// Where they meet.
    pub files: Vec<String>,
}

/// A choice that was made because nobody answered in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssumptionView {
    /// Which of the run, from 1.
    pub number: u32,
    /// The stage that goes on with it.
    pub stage: String,
    /// What was asked.
    pub question: String,
    /// What is assumed.
    pub answer: Vec<String>,
    /// Whether a person said that it is wrong.
    pub overturned: bool,
}

/// Something said in a clarifying conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SaidView {
    /// `agent`, or the person's name.
    pub by: String,
    /// What.
    pub text: String,
}

/// The end of one iteration towards a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReflectionView {
    /// Whether the goal is met.
    pub goal_achieved: bool,
    /// How far it is, in percent.
    pub progress: u8,
    /// What was done and learnt.
    pub content: String,
    /// What comes next.
    pub next_action: String,
    /// Whether it said that a person must help.
    #[serde(default)]
    pub requires_user_intervention: bool,
    /// What is in the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub issues: Vec<String>,
}

/// A named step on a run's way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointView {
    /// `QUEUED`, `REPO_SYNC` … `COMPLETED`, `FAILED`.
    pub step: String,
    /// When.
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// The task whose child run took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// One line.
    pub detail: String,
}

/// The runs that a run was started together with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct GroupView {
    /// The group's name: the id of its first run.
    pub id: String,
    /// Which of them, from 1.
    pub index: u32,
    /// Of how many.
    pub of: u32,
    /// Whether they are different ways to the same end, of which one is chosen.
    pub variants: bool,
}

/// A person's question about what a hold shows, and the agent's answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AskedView {
    /// What the person wanted to know.
    pub question: String,
    /// What the agent said.
    pub answer: String,
}

/// Something of a change that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RiskView {
    /// `protected_path`, `size`, `deletions`, `migration` …
    pub kind: String,
    /// One line, with the full count.
    pub summary: String,
    /// Where; not all when there are many.
    pub paths: Vec<String>,
}

/// A run that stands for one task, as a list of tasks shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskRunView {
    /// The run's id.
    pub id: String,
    /// A short name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is about.
    pub summary: String,
    /// `pending`, `clarification`, `working`, `delegated`, `agent-review`, `reviewing`, `stuck`, `done`, `cancelled`,
    /// `failed`.
    pub status: String,
    /// What it may become.
    pub may_become: Vec<String>,
    /// How its agent stands: `active`, `crashed` or `inactive`. Told from its process, never from what it shows.
    pub session: String,
    /// Crashes in this status.
    pub crash_count: u32,
    /// Reviews so far.
    pub review_round: u32,
    /// Path of the repository.
    pub project: String,
    /// Its branch.
    pub branch: String,
    /// The newest code that was handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Its pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pr_url: Option<String>,
    /// What it waits for, when it waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// When it was created.
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// When anything last happened.
    #[schema(value_type = String)]
    pub updated_at: Timestamp,
}

/// What an event means to a list of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum TaskEventView {
    /// It became something else, and nobody said so.
    #[serde(rename = "auto.advanced")]
    AutoAdvanced {
        /// What it was.
        from: String,
        /// What it is.
        to: String,
        /// Why.
        reason: String,
    },
    /// Its agent ended without handing anything in.
    #[serde(rename = "agent.crashed")]
    AgentCrashed {
        /// What it is.
        status: String,
        /// Crashes in this status so far.
        crash_count: u32,
        /// What is known.
        reason: String,
    },
}
