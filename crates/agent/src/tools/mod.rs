//! The tools of our own agent: one file each, with what the model is told about it and what it does.

pub(crate) mod ask_questions;
mod changes;
pub(crate) mod clarify;
mod comments;
mod complete_handoff;
mod complete_pulse;
mod complete_review;
pub(crate) mod delegate;
mod desk;
mod edit;
mod edit_file;
mod embedder;
#[cfg(test)]
mod fixture;
mod get_diff;
mod get_scope_card;
mod glob_search;
mod grep;
mod kept;
mod list_directory;
mod multi_edit;
mod near;
pub(crate) mod observe;
mod offer;
mod patch;
pub(crate) mod plan_tasks;
mod read_file;
mod reflect;
mod reply;
pub(crate) mod request_extension;
mod searcher;
mod semantic_search;
mod shell;
mod submit_plan;
mod submit_research;
mod submit_scope;
mod submit_tasks;
mod take_note;
mod text;
pub(crate) mod update_task;
mod views;
mod walk;
mod web_code_search;
mod write_file;

use drivers::HandIn;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::workspace::PathError;

pub(crate) use desk::Desk;
pub(crate) use offer::Offer;

/// Why a call did not work; the words go to the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    #[error("invalid input for `{tool}`: {source}")]
    Input { tool: &'static str, source: serde_json::Error },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Sub(String),
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
}

/// What the model is told about a tool.
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: Value,
}

/// A tool that does something and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkTool {
    ReadFile,
    ListDirectory,
    GlobSearch,
    Grep,
    SemanticSearch,
    WebCodeSearch,
    TakeNote,
    WriteFile,
    EditFile,
    MultiEdit,
    Shell,
    GetDiff,
    GetScopeCard,
    AddLineComment,
    AddFileComment,
    AddReviewComment,
}

/// A tool that ends the attempt by handing something in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockTool {
    AskQuestions,
    RequestExtension,
    SubmitPlan,
    SubmitTasks,
    SubmitScope,
    SubmitResearch,
    CompletePulse,
    CompleteHandoff,
    CompleteReview,
    Clarify,
    Reply,
    Reflect,
}

/// A tool of an agent that pursues a goal, which works on the conversation itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GoalTool {
    PlanTasks,
    UpdateTask,
    Observe,
    Delegate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Work(WorkTool),
    Goal(GoalTool),
    Block(BlockTool),
}

impl Tool {
    /// The tools of a job.
    pub(crate) fn of(offer: impl Into<Offer>) -> Vec<Tool> {
        offer.into().tools()
    }

    /// The tool of that name, if the job has it.
    pub(crate) fn named(offer: impl Into<Offer>, name: &str) -> Option<Tool> {
        Self::of(offer).into_iter().find(|tool| tool.definition().name == name)
    }

    pub(crate) fn definition(self) -> Definition {
        match self {
            Self::Work(WorkTool::ReadFile) => read_file::definition(),
            Self::Work(WorkTool::ListDirectory) => list_directory::definition(),
            Self::Work(WorkTool::GlobSearch) => glob_search::definition(),
            Self::Work(WorkTool::Grep) => grep::definition(),
            Self::Work(WorkTool::WriteFile) => write_file::definition(),
            Self::Work(WorkTool::EditFile) => edit_file::definition(),
            Self::Work(WorkTool::SemanticSearch) => semantic_search::definition(),
            Self::Work(WorkTool::WebCodeSearch) => web_code_search::definition(),
            Self::Work(WorkTool::TakeNote) => take_note::definition(),
            Self::Work(WorkTool::MultiEdit) => multi_edit::definition(),
            Self::Work(WorkTool::Shell) => shell::definition(),
            Self::Work(WorkTool::GetDiff) => get_diff::definition(),
            Self::Work(WorkTool::GetScopeCard) => get_scope_card::definition(),
            Self::Work(WorkTool::AddLineComment) => comments::on_line(),
            Self::Work(WorkTool::AddFileComment) => comments::on_file(),
            Self::Work(WorkTool::AddReviewComment) => comments::on_review(),
            Self::Goal(GoalTool::PlanTasks) => plan_tasks::definition(),
            Self::Goal(GoalTool::UpdateTask) => update_task::definition(),
            Self::Goal(GoalTool::Observe) => observe::definition(),
            Self::Goal(GoalTool::Delegate) => delegate::definition(),
            Self::Block(BlockTool::AskQuestions) => ask_questions::definition(),
            Self::Block(BlockTool::RequestExtension) => request_extension::definition(),
            Self::Block(BlockTool::SubmitPlan) => submit_plan::definition(),
            Self::Block(BlockTool::SubmitTasks) => submit_tasks::definition(),
            Self::Block(BlockTool::SubmitScope) => submit_scope::definition(),
            Self::Block(BlockTool::SubmitResearch) => submit_research::definition(),
            Self::Block(BlockTool::CompletePulse) => complete_pulse::definition(),
            Self::Block(BlockTool::CompleteHandoff) => complete_handoff::definition(),
            Self::Block(BlockTool::CompleteReview) => complete_review::definition(),
            Self::Block(BlockTool::Clarify) => clarify::definition(),
            Self::Block(BlockTool::Reply) => reply::definition(),
            Self::Block(BlockTool::Reflect) => reflect::definition(),
        }
    }
}

impl WorkTool {
    /// Whether it may change something; then it runs alone and in order.
    pub(crate) fn changes(self) -> bool {
        match self {
            Self::WriteFile
            | Self::EditFile
            | Self::MultiEdit
            | Self::Shell
            | Self::TakeNote
            | Self::AddLineComment
            | Self::AddFileComment
            | Self::AddReviewComment => true,
            Self::ReadFile
            | Self::ListDirectory
            | Self::GlobSearch
            | Self::Grep
            | Self::SemanticSearch
            | Self::WebCodeSearch
            | Self::GetDiff
            | Self::GetScopeCard => false,
        }
    }

    /// Whether a call that a crash broke off may be run again: edits find their plan, and are not made twice.
    pub(crate) fn repeats(self) -> bool {
        matches!(self, Self::WriteFile | Self::EditFile | Self::MultiEdit) || !self.changes()
    }

    pub(crate) async fn run(self, desk: &Desk, input: &Value) -> Result<String, ToolError> {
        match self {
            Self::ReadFile => read_file::run(desk, parse("read_file", input)?),
            Self::ListDirectory => list_directory::run(desk, parse("list_directory", input)?),
            Self::GlobSearch => glob_search::run(desk, parse("glob_search", input)?),
            Self::Grep => grep::run(desk, parse("grep", input)?),
            Self::WriteFile => write_file::run(desk, parse("write_file", input)?),
            Self::EditFile => edit_file::run(desk, parse("edit_file", input)?),
            Self::SemanticSearch => semantic_search::run(desk, parse("semantic_search", input)?).await,
            Self::WebCodeSearch => web_code_search::run(desk, parse("web_code_search", input)?).await,
            Self::TakeNote => take_note::run(desk, parse("take_note", input)?),
            Self::MultiEdit => multi_edit::run(desk, parse("multi_edit", input)?),
            Self::Shell => shell::run(desk, parse("shell", input)?).await,
            Self::GetDiff => get_diff::run(desk, parse("get_diff", input)?),
            Self::GetScopeCard => get_scope_card::run(desk, parse("get_scope_card", input)?),
            Self::AddLineComment => comments::add_to_line(desk, parse("add_line_comment", input)?),
            Self::AddFileComment => comments::add_to_file(desk, parse("add_file_comment", input)?),
            Self::AddReviewComment => comments::add_to_review(desk, parse("add_review_comment", input)?),
        }
    }
}

impl BlockTool {
    /// What the call hands in, when its input is good.
    pub(crate) fn hand_in(self, input: &Value) -> Result<HandIn, ToolError> {
        match self {
            Self::AskQuestions => ask_questions::hand_in(parse("ask_questions", input)?),
            Self::RequestExtension => request_extension::hand_in(parse("request_extension", input)?),
            Self::SubmitPlan => submit_plan::hand_in(parse("submit_plan", input)?),
            Self::SubmitTasks => submit_tasks::hand_in(parse("submit_plan", input)?),
            Self::SubmitScope => submit_scope::hand_in(parse("submit_scope", input)?),
            Self::SubmitResearch => submit_research::hand_in(parse("submit_research", input)?),
            Self::CompletePulse => complete_pulse::hand_in(parse("complete_pulse", input)?),
            Self::CompleteHandoff => complete_handoff::hand_in(parse("complete_pulse", input)?),
            Self::CompleteReview => complete_review::hand_in(parse("complete_review", input)?),
            Self::Clarify => clarify::hand_in(parse("clarify", input)?),
            Self::Reply => reply::hand_in(parse("reply", input)?),
            Self::Reflect => reflect::hand_in(parse("reflect", input)?),
        }
    }
}

fn parse<T: DeserializeOwned>(tool: &'static str, input: &Value) -> Result<T, ToolError> {
    if let Value::String(text) = input {
        return Err(ToolError::Refused(format!(
            "the input of `{tool}` is not a JSON object ({} characters, perhaps cut off by the output limit); \
             send the whole object, in smaller pieces if it is long",
            text.chars().count()
        )));
    }
    T::deserialize(input).map_err(|source| ToolError::Input { tool, source })
}

/// Text that must say something.
fn required(tool: &str, field: &str, text: &str) -> Result<String, ToolError> {
    match text.trim() {
        "" => Err(ToolError::Refused(format!("`{field}` of `{tool}` is empty"))),
        text => Ok(text.to_owned()),
    }
}

const MOST_ENTRIES: usize = 200;

/// A list whose entries all say something.
fn entries(tool: &str, field: &str, list: Vec<String>) -> Result<Vec<String>, ToolError> {
    if list.len() > MOST_ENTRIES {
        return Err(ToolError::Refused(format!("`{field}` of `{tool}` has at most {MOST_ENTRIES} entries")));
    }
    let list: Vec<String> = list.iter().map(|entry| entry.trim().to_owned()).collect();
    if list.iter().any(String::is_empty) {
        return Err(ToolError::Refused(format!("`{field}` of `{tool}` has an empty entry")));
    }
    Ok(list)
}

fn list_schema(description: &str) -> Value {
    json!({"type": "array", "items": {"type": "string"}, "description": description})
}
