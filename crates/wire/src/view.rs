//! What is shown.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    AskedView, AssumptionView, ChangeTotals, CheckpointView, ForkedFromView, GoalView, GroupView, OverlapView,
    ReflectionView, RiskView, SaidView, TaskEventView, TaskView,
};

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// Its id.
    pub id: String,
    /// Path of the repository.
    pub project: String,
    /// What was asked.
    pub request: String,
    /// Name of the playbook.
    pub playbook: String,
    /// `low`, `normal` or `high`.
    #[serde(default = "normal")]
    pub priority: String,
    /// `queued`, `running`, `awaiting_approval` …
    pub status: String,
    /// The same as people who keep a list of tasks say it, for runs of the `task` playbook: `pending`,
    /// `clarification`, `working`, `delegated`, `agent-review`, `reviewing`, `stuck`, `done`, `cancelled`, `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_status: Option<String>,
    /// Stage it is in.
    pub stage: Option<String>,
    /// Its branch.
    pub branch: String,
    /// The branch it starts from.
    pub base: String,
    /// Merged commit, or the branch's tip.
    pub commit: Option<String>,
    /// When it was started.
    #[schema(value_type = String)]
    pub created_at: Timestamp,
    /// When anything last happened.
    #[schema(value_type = String)]
    pub updated_at: Timestamp,
    /// When it ended.
    #[schema(value_type = Option<String>)]
    pub completed_at: Option<Timestamp>,
    /// Questions put to people.
    pub clarification_count: u32,
    /// What it waits for.
    pub hold: Option<HoldView>,
    /// What was made.
    pub artifacts: Vec<ArtifactView>,
    /// Money and tokens.
    pub spend: SpendView,
    /// Isolation its agents ran in: `sandboxed`, `restricted`, `unsandboxed`.
    pub tier: Option<String>,
    /// Why it failed.
    pub failure: Option<String>,
    /// The commit on the base branch, once merged. Only in single views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<String>,
    /// The stages of its playbook. Only in single views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageView>,
    /// The run whose task it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The run it was forked from, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFromView>,
    /// That task. Only in single views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The runs it was started together with. Only in single views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<GroupView>,
    /// The tasks of its plan, in plan order. Only in single views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<TaskView>,
    /// Ids of the tasks that may be worked at once, the first group first. Only in single views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<Vec<String>>,
    /// Tasks that expect to touch the same files. Only in single views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overlaps: Vec<OverlapView>,
    /// What it went on with because nobody answered in time. Only in single views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<AssumptionView>,
    /// What agent and person said to each other before the work. Only in single views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversation: Vec<SaidView>,
    /// What was said at the end of each iteration towards a goal. Only in single views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reflections: Vec<ReflectionView>,
    /// How far its goal is, for a run that pursues one. Only in single views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<GoalView>,
    /// Where its pull request is. Only in single views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<String>,
    /// Who has an agent's session on a terminal of their own. Only in single views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attached: Option<AttachedView>,
    /// Named steps on its way, its children's too. Only where one run is asked for by its id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<CheckpointView>,
    /// Text of strangers it has read. Only in single views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strangers: Vec<StrangersView>,
    /// Roles whose program uses its own login, which is inside its sandbox. Only in single views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub direct: Vec<DirectRoleView>,
    /// Programs that are not Holdpoint's own and worked on it, as they were then. Only in single views.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<ProgramView>,
    /// Number of its last event.
    pub version: u64,
}

/// Text of strangers that a run has read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StrangersView {
    /// `issue`, `comment`, `page`, `search`, `mcp` or `other`.
    pub kind: String,
    /// Its address or name; empty where the kind says it all.
    pub source: String,
    /// Both, in words.
    pub words: String,
    /// Since when.
    #[schema(value_type = String)]
    pub since: Timestamp,
    /// The stage whose agent read it; none when the run began with it or a child run brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// Whether the user trusts it, so that nothing follows.
    pub trusted: bool,
}

/// A role whose program uses its own login at its own vendor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DirectRoleView {
    /// The role.
    pub role: String,
    /// Its program.
    pub program: String,
}

/// An agent program as it was when it worked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProgramView {
    /// The role it played.
    pub role: String,
    /// `claude`, `codex`, `acp` …
    pub program: String,
    /// Its file.
    pub path: String,
    /// The version its package names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Version and digest when it last ran on this server, if they were others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_from: Option<String>,
}

/// What a server that knows nothing else means.
fn metered() -> String {
    "metered".to_owned()
}

/// What a server that knows no priorities means.
fn normal() -> String {
    "normal".to_owned()
}

/// One stage of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageView {
    /// Its name.
    pub name: String,
    /// Who does it.
    pub role: String,
    /// `pending`, `active`, `holding`, `done`.
    pub state: String,
    /// How often it began.
    pub visits: u32,
    /// When it first began.
    #[schema(value_type = Option<String>)]
    pub started_at: Option<Timestamp>,
    /// When it was last done.
    #[schema(value_type = Option<String>)]
    pub completed_at: Option<Timestamp>,
}

/// A hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldView {
    /// Its id, unique over all runs.
    pub id: String,
    /// The run.
    pub run: String,
    /// `approval`, `clarification`, `fix` …
    pub kind: String,
    /// Stage it belongs to.
    pub stage: Option<String>,
    /// Since when.
    #[schema(value_type = String)]
    pub since: Timestamp,
    /// Binds a decision to what is shown.
    pub digest: String,
    /// One or two sentences.
    pub summary: String,
    /// The decisions it takes.
    pub allowed: Vec<String>,
    /// What is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactView>,
    /// Lines that are added to the project's memory if this code is approved; the digest covers them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<String>,
    /// The question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Why it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What may be chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
    /// `text`, `single_choice`, `multiple_choice`, `file_upload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_type: Option<String>,
    /// Which question of the run this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_number: Option<u32>,
    /// What the agent would choose itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default: Vec<String>,
    /// Whether a wrong guess can be mended later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversible: Option<bool>,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub deadline: Option<Timestamp>,
    /// Whose limit a `budget` hold is about: `run`, `project` or `day`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purse: Option<String>,
    /// How it ends then: `wait`, `escalate`, `assume`, `go_on`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_deadline: Option<String>,
    /// What people asked about it, and the answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<AskedView>,
    /// The task it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Text of strangers the run has read, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strangers: Vec<String>,
    /// Whether the answer is a secret: it is hidden while typed, and nobody but the agent that asks is told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// What looks like a secret in what is decided on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<SecretFindingView>,
}

/// A place where something looks like a secret; nothing of it but its first letters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretFindingView {
    /// What it looks like: `GitHub token`, `private key` …
    pub kind: String,
    /// The setting it is the value of, where Holdpoint knows the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
    /// The file.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// In bytes, from 1.
    pub column: u32,
    /// Its first letters and its length.
    pub excerpt: String,
}

/// An artifact, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactView {
    /// `spec`, `code`, `validation_report`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Stage that made it.
    pub stage: String,
    /// 1, 2, 3 …
    pub version: u32,
    /// File in the commit.
    pub path: Option<String>,
    /// Commit that holds it.
    pub commit: String,
    /// Digest of its content.
    pub digest: String,
    /// One line.
    pub title: String,
    /// Changed files, for code.
    pub files: Vec<String>,
    /// What of it a person should look at, whatever the gates say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub risks: Vec<RiskView>,
    /// When it was made.
    #[schema(value_type = String)]
    pub created_at: Timestamp,
}

/// An artifact with its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactContent {
    /// What it is.
    pub artifact: ArtifactView,
    /// The text: the file, or for code the unified diff.
    pub content: String,
    /// The spec's diagrams drawn for a terminal, in their order; empty for one that cannot be drawn.
    pub drawings: Vec<String>,
    /// Of code: whether the diff in `content` was cut, because it is very long. `/artifacts/{number}/files`, `/file` and
    /// `/text` have all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Of code: files that `content` does not have whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Of code: counts over all files, whether `content` has them or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<ChangeTotals>,
    /// Of code: the words its agent wrote beside it, if any; they stand before the diff in `content`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Money and tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpendView {
    /// What is known to be spent.
    pub usd: f64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Model calls.
    pub calls: u64,
    /// What was spent before its fork, by the runs it comes from; in no sum and under no limit of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited_usd: Option<f64>,
    /// Model calls before its fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inherited_calls: Option<u64>,
    /// The limit. Only in single views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_usd: Option<f64>,
    /// What it was thought to cost when it started. Only in single views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_usd: Option<f64>,
    /// Calls whose price is not known. Only in single views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpriced_calls: Option<u64>,
    /// What child runs spent, of those that are over. Only in single views of runs that have some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children_usd: Option<f64>,
    /// What of it programs with their own login report, and nobody metered. Only in single views of runs with some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_usd: Option<f64>,
}

/// One model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpendCall {
    /// Stage that made it.
    pub stage: String,
    /// `provider/model`.
    pub model: String,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Cost; absent when the price is not known.
    pub usd: Option<f64>,
    /// `metered`, or `reported` by a program with its own login.
    #[serde(default = "metered")]
    pub source: String,
    /// The program whose word it is, of one that was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_by: Option<String>,
    /// When it was counted.
    #[schema(value_type = String)]
    pub at: Timestamp,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventView {
    /// The run.
    pub run: String,
    /// 1, 2, 3 … per run.
    pub sequence: u64,
    /// `RUN_STARTED` …
    #[serde(rename = "type")]
    pub kind: String,
    /// When.
    #[schema(value_type = String)]
    pub timestamp: Timestamp,
    /// What.
    #[schema(value_type = Object)]
    pub payload: Value,
    /// What it means to a list of tasks, for runs that stand for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskEventView>,
}

/// Changed files and the diff of a run's branch against its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffView {
    /// From.
    pub base: String,
    /// To.
    pub head: String,
    /// Per file.
    pub files: Vec<FileChangeView>,
    /// Unified diff; cut when very long. `/diff/files`, `/diff/file` and `/diff/text` have all of it.
    pub diff: String,
    /// Whether it was cut.
    pub truncated: bool,
    /// Counts over all files, whether `diff` has them or not.
    #[serde(default)]
    pub total: ChangeTotals,
    /// Files that `diff` does not have whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeView {
    /// Path.
    pub path: String,
    /// `A`, `M`, `D`, `T`, `R`.
    pub status: String,
    /// Added lines; absent for binary files.
    pub added: Option<u64>,
    /// Deleted lines; absent for binary files.
    pub deleted: Option<u64>,
}

/// Why a run is not moving.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WhyView {
    /// The run.
    pub run: String,
    /// Its status.
    pub status: String,
    /// What it waits for.
    pub waits_for: String,
    /// Since when.
    #[schema(value_type = String)]
    pub since: Timestamp,
    /// What unblocks it.
    pub unblocked_by: Vec<String>,
    /// How it stands in the queue; only for a run that waits to be let in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueView>,
    /// The run it was forked from, and where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFromView>,
}

/// How a queued run stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueView {
    /// Queued runs of the same user that go first.
    pub ahead: u64,
    /// Runs of the user that were let in and have not ended.
    pub active: u64,
    /// Runs of the user that wait for a person.
    pub waiting: u64,
}

/// A playbook that runs can be started with, or a file that should be one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaybookView {
    /// Its name.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// Its stages, in order.
    pub stages: Vec<String>,
    /// Roles that need a model.
    pub roles: Vec<String>,
    /// The project's file it comes from; none for a built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Its stages in words.
    #[serde(default)]
    pub steps: Vec<StepView>,
    /// Its diagram, as Mermaid source; empty if it cannot be used.
    #[serde(default)]
    pub diagram: String,
    /// What is wrong with it; with an `error` among them it cannot be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<PlaybookProblem>,
}

/// One stage of a playbook, in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepView {
    /// Its name.
    pub name: String,
    /// What is done.
    pub work: String,
    /// Who does it; empty where no agent works.
    pub role: String,
    /// `auto`, `manual`, `review` or a trust switch.
    pub gate: String,
    /// What bounds it.
    pub limits: String,
    /// Where it goes back to, how often, and what happens then.
    pub loops: String,
}

/// Something wrong with a playbook's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlaybookProblem {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The key at fault, where one is.
    pub key: Option<String>,
    /// `error` or `warning`.
    pub weight: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// `server.json`: where the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// Its address.
    pub url: String,
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
}

/// An agent's conversation on a person's own terminal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachView {
    /// Socket of the terminal on the server's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// Name of its window: `worker`, `review-1`, `worker-2`, …
    pub window: String,
    /// The run.
    pub run: RunView,
}

/// Who has an agent's session on a terminal of their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachedView {
    /// Who.
    pub by: String,
    /// Since when.
    pub since: String,
    /// Whether the session is there, or was left and not handed back.
    pub active: bool,
}
