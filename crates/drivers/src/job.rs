//! What our own agent is given: a file in the attempt's session folder.

use std::collections::BTreeMap;

use domain::{AgentProgram, GoalTask, Reach};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{McpServer, RoleSettings, Skill};

/// The job, written by Holdpoint before each attempt.
pub const JOB_FILE: &str = "job.json";
/// The conversation, appended by the agent turn by turn.
pub const TURNS_FILE: &str = "turns.jsonl";

/// The whole change under judgement, where the job shows only its beginning. Written by Holdpoint.
pub const DIFF_FILE: &str = "diff.patch";
/// What the agent wants to know again later, a [`KeptNote`] a line. Written by the agent, so never trusted.
pub const NOTES_FILE: &str = "notes.jsonl";
/// The index of the repository for searches by meaning, kept by the agent.
pub const INDEX_FILE: &str = "index.db";
/// What each tool call came to: one line of JSON each, appended by the agent.
pub const OBSERVATIONS_FILE: &str = "observations.jsonl";
/// Everything the agent says, piece by piece, with times.
pub const STREAM_FILE: &str = "stream.jsonl";

/// What one tool call came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// `tool_execution`, `subagent_result`, or `refusal` when the agent answered instead of a tool.
    #[serde(rename = "type")]
    pub kind: ObservationKind,
    /// The tool.
    pub source: String,
    /// What it was given.
    pub input: Value,
    /// What it said, shortened.
    pub output: Option<String>,
    /// Whether it worked.
    pub success: bool,
    /// What went wrong, shortened.
    pub error: Option<String>,
    /// How long it took.
    pub execution_time_ms: u64,
    /// When it was there.
    #[serde(default)]
    pub at: Option<Timestamp>,
}

/// Where an observation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ObservationKind {
    /// A tool ran.
    ToolExecution,
    /// A sub-agent worked.
    SubagentResult,
    /// No tool ran: unknown, interrupted, repeated or one too many.
    Refusal,
}

/// A protocol in which the broker is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelDoor {
    /// Anthropic Messages.
    Messages,
    /// OpenAI Chat Completions.
    Chat,
    /// Gemini.
    Gemini,
}

/// One attempt's job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    /// The run's id.
    pub run: String,
    /// `planner`, `implementer`, `validator` …: the name it works under.
    pub role: String,
    /// What the stage wants: picks prompt and tools.
    pub kind: JobKind,
    /// The program that does it.
    #[serde(default)]
    pub program: AgentProgram,
    /// `provider/model`; empty for a program with its own login that chooses for itself.
    pub model: String,
    /// Models to go to, in this order, when one is unavailable.
    #[serde(default)]
    pub fallbacks: Vec<String>,
    /// How providers are spoken to that do not say it by their name.
    #[serde(default)]
    pub doors: BTreeMap<String, ModelDoor>,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// The person's request.
    pub request: String,
    /// What a person and an agent settled before the work, and the person confirmed.
    #[serde(default)]
    pub requirement: Option<String>,
    /// What they said to each other, oldest first, each with who said it; older ones shortened.
    #[serde(default)]
    pub conversation: Vec<String>,
    /// What is in scope and what is not.
    #[serde(default)]
    pub scope: Option<String>,
    /// What was found out about the repository.
    #[serde(default)]
    pub research: Option<String>,
    /// The spec, for roles that work from one.
    pub spec: Option<String>,
    /// The plan of tasks and how they stand, for roles that work from one.
    #[serde(default)]
    pub plan: Option<String>,
    /// The task of the plan to be done now, of a stage that works through it one by one.
    #[serde(default)]
    pub pulse: Option<PulseJob>,
    /// Which iteration towards the goal this is.
    #[serde(default)]
    pub iteration: Option<IterationJob>,
    /// What a person wants to know about what the stage made.
    #[serde(default)]
    pub question: Option<String>,
    /// The project's memory file.
    pub memory: Option<String>,
    /// Earlier requests like this one and what came of them, in a few lines each.
    #[serde(default)]
    pub past: Vec<String>,
    /// What was made in earlier tries, oldest first, in a line each.
    #[serde(default)]
    pub tried: Vec<String>,
    /// What people and validators said about earlier tries, oldest first, each with who said it; older ones shortened.
    pub notes: Vec<String>,
    /// What the agent itself noted when it worked on this before, oldest first.
    #[serde(default)]
    pub own_notes: Vec<String>,
    /// The last version of what this stage made, when it is done again or asked about.
    pub previous: Option<String>,
    /// The unified diff that is judged or asked about.
    pub diff: Option<String>,
    /// Results of the checks Holdpoint ran, for judges.
    pub proof: Option<String>,
    /// Answers to what this conversation asked, in the order it was asked.
    pub answers: Vec<PastAnswer>,
    /// Why the last thing handed in by this conversation was refused, when it was.
    #[serde(default)]
    pub refusal: Option<String>,
    /// How often this conversation asked for more time and got it.
    #[serde(default)]
    pub extensions: u32,
    /// What people said to requests for permission, oldest first: see `permission` for the words.
    #[serde(default)]
    pub permissions: Vec<String>,
    /// What the user and the project say about the role.
    #[serde(default)]
    pub settings: RoleSettings,
    /// Skills of the project that fit.
    #[serde(default)]
    pub skills: Vec<Skill>,
    /// Paths that are changed only with a person's yes: files, folders and globs.
    #[serde(default)]
    pub protected: Vec<String>,
    /// Minutes the attempt has.
    #[serde(default)]
    pub minutes: Option<u32>,
    /// Model calls before the agent gives up.
    pub max_turns: u32,
    /// Whether the broker can look words up on the web.
    #[serde(default)]
    pub web_search: bool,
    /// The model the broker asks for vectors of texts, if the user named one.
    #[serde(default)]
    pub embeddings: Option<String>,
    /// MCP servers the user lets this role use.
    #[serde(default)]
    pub mcp: Vec<McpServer>,
    /// Tokens the model can take in at once; `None`: what is known of its family.
    #[serde(default)]
    pub context_tokens: Option<u64>,
    /// What is left to the run after the text of strangers it has read.
    #[serde(default)]
    pub reach: Reach,
    /// Where the text of strangers comes from that the run began with, in words.
    #[serde(default)]
    pub strangers: Vec<String>,
    /// That text, where it does not stand in the request.
    #[serde(default)]
    pub strangers_texts: Vec<String>,
    /// How the names of tools begin that bring in text of strangers.
    #[serde(default)]
    pub strange_tools: Vec<String>,
    /// How the names of tools begin behind which the user's secrets are.
    #[serde(default)]
    pub secret_tools: Vec<String>,
    /// How the program reaches its model.
    #[serde(default)]
    pub way: Way,
}

/// How an agent program reaches its model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Through the broker, which has the keys and counts.
    #[default]
    Broker,
    /// By itself, with its own login, through a proxy that lets it reach listed hosts only.
    Direct {
        /// Its login files, below the session folder.
        login: Vec<String>,
        /// Where it may go.
        hosts: Vec<String>,
    },
}

/// What a stage wants from its agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// A design in Markdown with diagrams: `submit_plan`.
    Spec,
    /// A plan of tasks: `submit_plan`.
    Tasks,
    /// What is in scope and what is not: `submit_scope`.
    Scope,
    /// What the repository says about the request: `submit_research`.
    Research,
    /// Code in the workspace: `complete_pulse`.
    Code,
    /// Code in the workspace and a note for who looks at it next: `complete_pulse`.
    Handoff,
    /// As a handoff, or tasks for others to do instead: `complete_pulse` or `submit_plan`.
    Lead,
    /// A verdict: `complete_review`.
    Review,
    /// A conversation with the person: `clarify`.
    Converse,
    /// An answer to a person's question: `reply`.
    Answer,
    /// An answer to a question about the repository, outside any run: `reply`.
    Discuss,
    /// One iteration towards a goal: `reflect`.
    Pursue,
}

impl JobKind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Spec,
        Self::Tasks,
        Self::Scope,
        Self::Research,
        Self::Code,
        Self::Handoff,
        Self::Lead,
        Self::Review,
        Self::Converse,
        Self::Answer,
        Self::Discuss,
        Self::Pursue,
    ];

    /// The word prompts use.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Tasks => "tasks",
            Self::Scope => "scope",
            Self::Research => "research",
            Self::Code => "code",
            Self::Handoff => "handoff",
            Self::Lead => "lead",
            Self::Review => "review",
            Self::Converse => "converse",
            Self::Answer => "answer",
            Self::Discuss => "discuss",
            Self::Pursue => "pursue",
        }
    }
}

/// The task of a plan that is to be done now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PulseJob {
    /// Which, from 1.
    pub number: u32,
    /// Of how many.
    pub of: u32,
    /// Its title.
    pub title: String,
    /// All that the plan says about it.
    pub text: String,
    /// What the pulses before it did, in a line each.
    #[serde(default)]
    pub done: Vec<String>,
}

/// Which iteration towards a goal is to be done now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationJob {
    /// Which, from 1.
    pub number: u32,
    /// How many there may be.
    pub of: u32,
    /// What was said at the end of the earlier ones, oldest first; older ones shortened.
    #[serde(default)]
    pub earlier: Vec<String>,
    /// What the last calls of the iteration before came to, oldest first, in a line each.
    #[serde(default)]
    pub observations: Vec<String>,
    /// The tree of tasks as it stands.
    #[serde(default)]
    pub tasks: Vec<GoalTask>,
}

/// A note an agent took for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptNote {
    /// Its words.
    pub text: String,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_named_in_files_as_in_prompts() {
        for kind in JobKind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.word()));
        }
    }
}
