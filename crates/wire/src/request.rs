//! What may be asked. Unknown fields are refused by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new run. Everything but `project` and `request` has a default.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewRun {
    /// Absolute path of the repository (or of a folder in it).
    pub project: String,
    /// What shall be done.
    pub request: String,
    /// Name of the playbook; `autonomous` unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub playbook: Option<String>,
    /// `planning`, `implementation`, `fixes` to `auto` or `manual`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub trust: BTreeMap<String, String>,
    /// Role to `provider/model`; `*` stands for every role without one of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
    /// Role to the program that plays it: `own`, `claude`, `codex`, `gemini`, `opencode`, `acp:COMMAND` or
    /// `command:COMMAND`; `*` stands for every role without one of its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub programs: BTreeMap<String, String>,
    /// Questions before a full approval is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_clarifications: Option<u32>,
    /// Minutes per stage.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timeout_minutes: BTreeMap<String, u32>,
    /// Branch to start from; the checked-out one unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    /// Squash-merge into the base when every gate passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<bool>,
    /// Push the branch to the remote, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<bool>,
    /// What the run may spend, in dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_usd: Option<f64>,
    /// Commands that prove a commit; the project's own unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Vec<CheckSpec>>,
    /// `low`, `normal` or `high`: its place among your queued runs; `normal` unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// Agents of this run at once; at most as many as the playbook says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents: Option<u32>,
    /// What happens when a task fails: `retry`, `continue` or `stop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<String>,
    /// Leave the clarifying conversation out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skip_clarification: Option<bool>,
    /// Turns of the clarifying conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_clarification_rounds: Option<u32>,
    /// Ask a person before anything is merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<bool>,
    /// Open a pull request when the work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create_pr: Option<bool>,
    /// Says that it stands for a task, with what is said besides its summary; for the playbook `task`. The request may
    /// then be empty: the person is asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<NewTask>,
    /// Text of strangers it comes from. A run that begins with some reaches nothing but its models, gets no secrets, and
    /// waits for a person before its work goes anywhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<StrangersText>,
    /// Trust such text, in this run, whatever it is and whoever reads it; recorded under your name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_sources: Option<bool>,
}

/// Text that strangers wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StrangersText {
    /// Where it comes from: an address, or a few words.
    pub source: String,
    /// `issue`, `comment`, `page` or `other`; told from the address unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The text itself, where it is not the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What is said with a task besides its summary.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewTask {
    /// A short name, which its branch has too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The plan, and what else the worker should know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
}

/// What a task shall become, and what is said along with it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskUpdate {
    /// The status it shall have; left out when only something is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// What the task is about: the answer, where that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What else the agent should know; the reason, where the task is cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// The merge of a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskMerge {
    /// Merge it although it was not reviewed; that is recorded under your name.
    #[serde(default)]
    pub force: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The code you were shown; a forced merge of any other is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// A command that proves a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckSpec {
    /// What people call it.
    pub name: String,
    /// Shell command.
    pub command: String,
}

/// A decision on the hold a run waits on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecideRequest {
    /// One of the hold's `allowed` words.
    pub decision: String,
    /// Digest of what was shown.
    pub digest: String,
    /// The hold's id; the current one unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// Notes, feedback, hint, question, guidance or reason, as the decision takes it; for `modify_plan` the whole text
    /// that takes the place of what is shown.
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

/// Yes, to exactly what was shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApproveRequest {
    /// Digest of what was shown.
    pub digest: String,
    /// Notes for the next stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
}

/// No, with what to change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestChanges {
    /// Digest of what was shown.
    pub digest: String,
    /// What to change.
    pub feedback: String,
}

/// Where exactly what was shown shall go.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WayOutRequest {
    /// Digest of what was shown.
    pub digest: String,
}

/// The answer to a clarification; its id in the path names the exact question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerRequest {
    /// One text, or the chosen options; for `file_upload` the file's name and its content.
    pub answer: Vec<String>,
    /// Digest of what was shown, if the client wants it checked as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelRequest {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A pause.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PauseRequest {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A wish for an agent's conversation on one's own terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttachRequest {}

/// The end of a pause.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResumeRequest {
    /// Digest of the pause that was shown; the current one unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A word to an agent at work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageRequest {
    /// What.
    pub text: String,
}

/// A word against an assumption.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OverturnRequest {
    /// Which, by its number.
    pub assumption: u32,
    /// What is right.
    pub answer: Vec<String>,
}
