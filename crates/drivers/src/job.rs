//! What our own agent is given, and what it hands in. Both are files in the attempt's session folder.

use domain::{DecisionNote, Question, Review};
use serde::{Deserialize, Serialize};

/// The job, written by Holdpoint before each attempt.
pub const JOB_FILE: &str = "job.json";
/// The conversation, appended by the agent turn by turn.
pub const TURNS_FILE: &str = "turns.jsonl";
/// What the agent hands in, published by rename. Holdpoint removes an old one before an attempt starts.
pub const RESULT_FILE: &str = "result.json";

/// One attempt's job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// The run's id.
    pub run: String,
    /// `planner`, `implementer`, `validator` …: picks prompt and tools.
    pub role: String,
    /// What the stage wants.
    pub kind: JobKind,
    /// `provider/model`.
    pub model: String,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// The person's request.
    pub request: String,
    /// The approved spec, for roles that work from one.
    pub spec: Option<String>,
    /// The project's memory file.
    pub memory: Option<String>,
    /// What people and validators said about earlier tries, oldest first, each with who said it.
    pub notes: Vec<String>,
    /// The last version of what this stage made, when it is done again.
    pub previous: Option<String>,
    /// The unified diff under judgement, for judges.
    pub diff: Option<String>,
    /// Results of the checks Holdpoint ran, for judges.
    pub proof: Option<String>,
    /// Answers to the questions of this conversation, in the order they were asked.
    pub answers: Vec<PastAnswer>,
    /// Why the last thing handed in by this conversation was refused, when it was.
    #[serde(default)]
    pub refusal: Option<String>,
    /// Model calls before the agent gives up.
    pub max_turns: u32,
}

/// What a stage wants from its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// `submit_plan`.
    Plan,
    /// `complete_pulse`.
    Code,
    /// `complete_review`.
    Review,
}

/// An answered question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PastAnswer {
    /// What was asked.
    pub question: String,
    /// `None`: the person chose not to answer.
    pub answer: Option<Vec<String>>,
}

/// What an agent hands in when it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum HandIn {
    /// A plan.
    Plan(PlanHandIn),
    /// Code in the workspace.
    Pulse(PulseHandIn),
    /// A verdict.
    Review(Review),
    /// Questions; the conversation goes on when they are answered.
    Questions {
        /// At least one.
        questions: Vec<Question>,
    },
    /// The model could not be reached or refused, after all retries.
    ModelFailed {
        /// What it said.
        reason: String,
    },
    /// The broker refused: the envelope is spent.
    BudgetSpent {
        /// What it said.
        reason: String,
    },
    /// The turn limit was reached, or the model stopped without handing anything in.
    GaveUp {
        /// What is known.
        reason: String,
    },
}

/// A plan: Markdown with at least one Mermaid diagram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanHandIn {
    /// One line.
    pub title: String,
    /// The whole Markdown.
    pub body: String,
    /// Choices worth remembering.
    #[serde(default)]
    pub decisions: Vec<DecisionNote>,
}

/// Finished code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PulseHandIn {
    /// What was done.
    pub summary: String,
    /// Choices worth remembering.
    #[serde(default)]
    pub decisions: Vec<DecisionNote>,
}
