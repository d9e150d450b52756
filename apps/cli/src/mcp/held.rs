//! Holds and artifacts as the tools tell them, made harmless to print like everything strangers wrote.

use schemars::JsonSchema;
use serde::Serialize;
use wire::{ArtifactView, AskedView, HoldView, RiskView};

use crate::report::{clean, clean_line};

/// A hold: what a run waits for a person for.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Hold {
    id: String,
    run: String,
    /// `approval`, `clarification`, `review`, `fix`, `budget`, `permission`, …
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    since: String,
    /// Binds a decision to what is shown.
    digest: String,
    summary: String,
    /// The decisions it takes.
    allowed: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
    /// `text`, `single_choice`, `multiple_choice` or `file_upload`.
    #[serde(skip_serializing_if = "Option::is_none")]
    response_type: Option<String>,
    /// What the agent would choose itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    default: Vec<String>,
    /// When it ends by itself, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_deadline: Option<String>,
    /// What people asked about it, and the answers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    asked: Vec<Asked>,
    /// Text of strangers the run has read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    strangers: Vec<String>,
    /// Lines that are added to the project's memory if the code is approved.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    memory: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<Artifact>,
}

/// Something a run made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Artifact {
    /// For `get_artifact`, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<usize>,
    /// `spec`, `plan`, `code`, `handoff`, `validation_report`, …
    kind: String,
    stage: String,
    version: u32,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    files: Vec<String>,
    /// What of it a person should look at.
    risks: Vec<Risk>,
}

/// What a person asked about a hold.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Asked {
    question: String,
    answer: String,
}

/// Something a person should look at.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Risk {
    kind: String,
    summary: String,
    paths: Vec<String>,
}

/// A page of holds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Holds {
    pub(super) holds: Vec<Hold>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
}

/// A hold with what a person is shown before they decide.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct HoldDetail {
    pub(super) hold: Hold,
    /// The artifact's text, the diff, or the checks that fail.
    pub(super) shown: String,
    /// Whether `shown` is only the beginning.
    pub(super) truncated: bool,
    /// How to read the rest, when there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rest: Option<String>,
    /// What the person types to decide.
    pub(super) how_to_decide: String,
}

impl Hold {
    pub(super) fn of(hold: &HoldView) -> Self {
        let lines = |texts: &[String]| texts.iter().map(|text| clean(text)).collect();
        Self {
            id: hold.id.clone(),
            run: hold.run.clone(),
            kind: hold.kind.clone(),
            stage: hold.stage.clone(),
            task: hold.task.as_deref().map(clean_line),
            since: hold.since.to_string(),
            digest: hold.digest.clone(),
            summary: clean(&hold.summary),
            allowed: hold.allowed.clone(),
            question: hold.question.as_deref().map(clean),
            context: hold.context.as_deref().map(clean),
            options: lines(hold.options.as_deref().unwrap_or_default()),
            response_type: hold.response_type.clone(),
            default: lines(&hold.default),
            deadline: hold.deadline.map(|at| at.to_string()),
            at_deadline: hold.at_deadline.clone(),
            asked: hold.asked.iter().map(Asked::of).collect(),
            strangers: lines(&hold.strangers),
            memory: lines(&hold.memory),
            artifact: hold.artifact.as_ref().map(|made| Artifact::of(None, made)),
        }
    }
}

impl Artifact {
    pub(super) fn of(number: Option<usize>, made: &ArtifactView) -> Self {
        Self {
            number,
            kind: made.kind.clone(),
            stage: made.stage.clone(),
            version: made.version,
            title: clean_line(&made.title),
            path: made.path.as_deref().map(clean_line),
            files: made.files.iter().map(|file| clean_line(file)).collect(),
            risks: made.risks.iter().map(Risk::of).collect(),
        }
    }
}

impl Asked {
    fn of(asked: &AskedView) -> Self {
        Self { question: clean(&asked.question), answer: clean(&asked.answer) }
    }
}

impl Risk {
    fn of(risk: &RiskView) -> Self {
        let paths = risk.paths.iter().map(|path| clean_line(path)).collect();
        Self { kind: risk.kind.clone(), summary: clean(&risk.summary), paths }
    }
}
