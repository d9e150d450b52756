//! The tools of our own agent: one file each, with what the model is told about it and what it does.

pub(crate) mod ask_questions;
pub(crate) mod clarify;
mod complete_handoff;
mod complete_pulse;
mod complete_review;
mod edit_file;
#[cfg(test)]
mod fixture;
mod glob_search;
mod grep;
mod list_directory;
mod near;
mod read_file;
mod reflect;
mod reply;
pub(crate) mod request_extension;
mod shell;
mod submit_plan;
mod submit_research;
mod submit_scope;
mod submit_tasks;
mod walk;
mod write_file;

use std::path::PathBuf;

use drivers::{HandIn, JobKind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::workspace::{PathError, Workspace};

/// Why a call did not work; the words go to the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    #[error("invalid input for `{tool}`: {source}")]
    Input { tool: &'static str, source: serde_json::Error },
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("{0}")]
    Refused(String),
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
}

/// What the model is told about a tool.
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: Value,
}

/// What tools work with.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) workspace: Workspace,
    /// Where the full output of long commands is kept.
    pub(crate) outputs: PathBuf,
}

/// A tool that does something and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkTool {
    ReadFile,
    ListDirectory,
    GlobSearch,
    Grep,
    WriteFile,
    EditFile,
    Shell,
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

const READING: &[WorkTool] = &[WorkTool::ReadFile, WorkTool::ListDirectory, WorkTool::GlobSearch, WorkTool::Grep];
const WRITING: &[WorkTool] = &[WorkTool::WriteFile, WorkTool::EditFile, WorkTool::Shell];
const ASKING: &[BlockTool] = &[BlockTool::AskQuestions, BlockTool::RequestExtension];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Work(WorkTool),
    Block(BlockTool),
}

impl Tool {
    /// The tools of a job. Only who is to change the code gets tools that write; who judges or answers may not ask.
    pub(crate) fn of(kind: JobKind) -> Vec<Tool> {
        let last: &[BlockTool] = match kind {
            JobKind::Spec => &[BlockTool::SubmitPlan],
            JobKind::Tasks => &[BlockTool::SubmitTasks],
            JobKind::Scope => &[BlockTool::SubmitScope],
            JobKind::Research => &[BlockTool::SubmitResearch],
            JobKind::Code => &[BlockTool::CompletePulse],
            JobKind::Handoff => &[BlockTool::CompleteHandoff],
            JobKind::Lead => &[BlockTool::SubmitTasks, BlockTool::CompleteHandoff],
            JobKind::Review => &[BlockTool::CompleteReview],
            JobKind::Converse => &[BlockTool::Clarify],
            JobKind::Answer => &[BlockTool::Reply],
            JobKind::Pursue => &[BlockTool::Reflect],
        };
        let (writing, asking): (&[WorkTool], &[BlockTool]) = match kind {
            JobKind::Code | JobKind::Handoff | JobKind::Lead | JobKind::Pursue => (WRITING, ASKING),
            JobKind::Spec | JobKind::Tasks | JobKind::Scope | JobKind::Research | JobKind::Converse => (&[], ASKING),
            JobKind::Review | JobKind::Answer => (&[], &[]),
        };
        let work = READING.iter().chain(writing).copied().map(Tool::Work);
        work.chain(asking.iter().chain(last).copied().map(Tool::Block)).collect()
    }

    /// The tool of that name, if the job has it.
    pub(crate) fn named(kind: JobKind, name: &str) -> Option<Tool> {
        Self::of(kind).into_iter().find(|tool| tool.definition().name == name)
    }

    pub(crate) fn definition(self) -> Definition {
        match self {
            Self::Work(WorkTool::ReadFile) => read_file::definition(),
            Self::Work(WorkTool::ListDirectory) => list_directory::definition(),
            Self::Work(WorkTool::GlobSearch) => glob_search::definition(),
            Self::Work(WorkTool::Grep) => grep::definition(),
            Self::Work(WorkTool::WriteFile) => write_file::definition(),
            Self::Work(WorkTool::EditFile) => edit_file::definition(),
            Self::Work(WorkTool::Shell) => shell::definition(),
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
    /// Whether it may change something; then it runs alone, in order, and never a second time after a crash.
    pub(crate) fn changes(self) -> bool {
        WRITING.contains(&self)
    }

    pub(crate) async fn run(self, desk: &Desk, input: &Value) -> Result<String, ToolError> {
        match self {
            Self::ReadFile => read_file::run(desk, parse("read_file", input)?),
            Self::ListDirectory => list_directory::run(desk, parse("list_directory", input)?),
            Self::GlobSearch => glob_search::run(desk, parse("glob_search", input)?),
            Self::Grep => grep::run(desk, parse("grep", input)?),
            Self::WriteFile => write_file::run(desk, parse("write_file", input)?),
            Self::EditFile => edit_file::run(desk, parse("edit_file", input)?),
            Self::Shell => shell::run(desk, parse("shell", input)?).await,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_changes_the_code_can_write_and_judges_cannot_ask() {
        let has = |kind, name: &str| Tool::named(kind, name).is_some();
        for kind in JobKind::ALL {
            let writes = matches!(kind, JobKind::Code | JobKind::Handoff | JobKind::Lead | JobKind::Pursue);
            for name in ["write_file", "edit_file", "shell"] {
                assert_eq!(has(kind, name), writes, "{kind:?} {name}");
            }
            let asks = !matches!(kind, JobKind::Review | JobKind::Answer);
            for name in ["ask_questions", "request_extension"] {
                assert_eq!(has(kind, name), asks, "{kind:?} {name}");
            }
            assert!(has(kind, "read_file") && has(kind, "grep"), "{kind:?}");
        }
    }

    #[test]
    fn every_job_has_its_ways_to_hand_in_and_no_name_twice() {
        for (kind, wanted) in [
            (JobKind::Spec, &["submit_plan"][..]),
            (JobKind::Tasks, &["submit_plan"][..]),
            (JobKind::Scope, &["submit_scope"][..]),
            (JobKind::Research, &["submit_research"][..]),
            (JobKind::Code, &["complete_pulse"][..]),
            (JobKind::Handoff, &["complete_pulse"][..]),
            (JobKind::Lead, &["submit_plan", "complete_pulse"]),
            (JobKind::Review, &["complete_review"][..]),
            (JobKind::Converse, &["clarify"][..]),
            (JobKind::Answer, &["reply"][..]),
            (JobKind::Pursue, &["reflect"][..]),
        ] {
            let tools = Tool::of(kind);
            let hand_in = |tool: &&Tool| matches!(tool, Tool::Block(block) if !ASKING.contains(block));
            let names: Vec<&str> = tools.iter().filter(hand_in).map(|tool| tool.definition().name).collect();
            assert_eq!(names, wanted, "{kind:?}");
            let all: std::collections::BTreeSet<&str> = tools.iter().map(|tool| tool.definition().name).collect();
            assert_eq!(all.len(), tools.len(), "{kind:?}");
        }
    }

    #[test]
    fn every_schema_is_a_closed_object_whose_required_fields_exist() {
        for kind in JobKind::ALL {
            for tool in Tool::of(kind) {
                let Definition { name, description, schema } = tool.definition();
                assert!(description.len() > 40, "{name}");
                assert_eq!(schema["type"], "object", "{name}");
                assert_eq!(schema["additionalProperties"], false, "{name}");
                for field in schema["required"].as_array().into_iter().flatten() {
                    assert!(schema["properties"][field.as_str().unwrap()].is_object(), "{name}: {field}");
                }
            }
        }
    }
}
