//! The tools of our own agent: one file each, with what the model is told about it and what it does.

pub(crate) mod ask_questions;
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
mod shell;
mod submit_plan;
mod walk;
mod write_file;

use std::path::PathBuf;

use drivers::{HandIn, JobKind};
use serde::de::DeserializeOwned;
use serde_json::Value;

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
    SubmitPlan,
    CompletePulse,
    CompleteReview,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Work(WorkTool),
    Block(BlockTool),
}

impl Tool {
    /// The tools of a job. Judges get none that writes and may not ask.
    pub(crate) fn of(kind: JobKind) -> &'static [Tool] {
        use BlockTool::{AskQuestions, CompletePulse, CompleteReview, SubmitPlan};
        use Tool::{Block, Work};
        use WorkTool::{EditFile, GlobSearch, Grep, ListDirectory, ReadFile, Shell, WriteFile};
        match kind {
            JobKind::Plan => &[
                Work(ReadFile),
                Work(ListDirectory),
                Work(GlobSearch),
                Work(Grep),
                Block(AskQuestions),
                Block(SubmitPlan),
            ],
            JobKind::Code => &[
                Work(ReadFile),
                Work(ListDirectory),
                Work(GlobSearch),
                Work(Grep),
                Work(WriteFile),
                Work(EditFile),
                Work(Shell),
                Block(AskQuestions),
                Block(CompletePulse),
            ],
            JobKind::Review => {
                &[Work(ReadFile), Work(ListDirectory), Work(GlobSearch), Work(Grep), Block(CompleteReview)]
            }
        }
    }

    /// The tool of that name, if the job has it.
    pub(crate) fn named(kind: JobKind, name: &str) -> Option<Tool> {
        Self::of(kind).iter().copied().find(|tool| tool.definition().name == name)
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
            Self::Block(BlockTool::SubmitPlan) => submit_plan::definition(),
            Self::Block(BlockTool::CompletePulse) => complete_pulse::definition(),
            Self::Block(BlockTool::CompleteReview) => complete_review::definition(),
        }
    }
}

impl WorkTool {
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
            Self::SubmitPlan => submit_plan::hand_in(parse("submit_plan", input)?),
            Self::CompletePulse => complete_pulse::hand_in(parse("complete_pulse", input)?),
            Self::CompleteReview => complete_review::hand_in(parse("complete_review", input)?),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_cannot_write_or_ask_and_planners_cannot_write() {
        let names = |kind| Tool::of(kind).iter().map(|tool| tool.definition().name).collect::<Vec<_>>();
        for name in ["write_file", "edit_file", "shell", "ask_questions"] {
            assert!(Tool::named(JobKind::Review, name).is_none(), "{name}");
        }
        for name in ["write_file", "edit_file", "shell", "complete_pulse"] {
            assert!(Tool::named(JobKind::Plan, name).is_none(), "{name}");
            assert!(names(JobKind::Code).contains(&name), "{name}");
        }
    }

    #[test]
    fn every_schema_is_a_closed_object_whose_required_fields_exist() {
        for kind in [JobKind::Plan, JobKind::Code, JobKind::Review] {
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
