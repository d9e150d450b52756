//! What the tools answer, in the shape they promise. Text of agents and repositories is made harmless to print; it stays
//! material of strangers, and the server's instructions say so.

use schemars::JsonSchema;
use serde::Serialize;
use wire::{ArtifactView, HoldView, RunView, StageView, TaskView, WhyView};

use crate::report::{clean, clean_line, hold, plain};

/// A run in short.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Run {
    id: String,
    project: String,
    request: String,
    playbook: String,
    /// `queued`, `running`, `awaiting_approval`, `awaiting_clarification`, `paused`, `stuck`, `completed`, `failed` or
    /// `cancelled`.
    status: String,
    /// The same in the words of a list of tasks, for the playbook `task`.
    #[serde(skip_serializing_if = "Option::is_none")]
    task_status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<String>,
    branch: String,
    base: String,
    created_at: String,
    updated_at: String,
    spent_usd: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// The run whose task it works on.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pull_request: Option<String>,
    /// What it waits for a person for.
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<Hold>,
    /// What to do now.
    next: String,
}

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
    asked: Vec<serde_json::Value>,
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
    risks: Vec<serde_json::Value>,
}

/// A run with its way and why it stands where it stands.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunDetail {
    run: Run,
    why: Why,
    stages: Vec<Stage>,
    tasks: Vec<Task>,
    artifacts: Vec<Artifact>,
}

/// Why a run is not moving.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Why {
    run: String,
    status: String,
    waits_for: String,
    since: String,
    unblocked_by: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Stage {
    name: String,
    role: String,
    /// `pending`, `active`, `holding` or `done`.
    state: String,
    visits: u32,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Task {
    id: String,
    title: String,
    status: String,
    depends_on: Vec<String>,
    /// Its run, for `get_run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    child: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// A page of runs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Runs {
    pub(super) runs: Vec<Run>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_cursor: Option<String>,
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
    /// Where the rest is, if it is longer.
    pub(super) truncated: bool,
    /// What the person types to decide.
    pub(super) how_to_decide: String,
}

/// How watching ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Watched {
    /// `ended`, `waits_for_a_person`, `moved_on` or `time_is_up`.
    pub(super) outcome: String,
    pub(super) run: Run,
    /// A hold of one of its tasks' runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) task_hold: Option<Hold>,
    /// What happened meanwhile.
    pub(super) happened: Vec<String>,
}

/// A part of a long text.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    /// What it is.
    pub(super) title: String,
    pub(super) text: String,
    /// For the next call, if there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) next_offset: Option<usize>,
}

impl Run {
    pub(super) fn of(run: &RunView) -> Self {
        Self {
            id: run.id.clone(),
            project: run.project.clone(),
            request: clean(&run.request),
            playbook: run.playbook.clone(),
            status: run.status.clone(),
            task_status: run.task_status.clone(),
            stage: run.stage.clone(),
            branch: run.branch.clone(),
            base: run.base.clone(),
            created_at: run.created_at.to_string(),
            updated_at: run.updated_at.to_string(),
            spent_usd: run.spend.usd,
            failure: run.failure.as_deref().map(clean),
            parent: run.parent.clone(),
            pull_request: run.pull_request.clone(),
            hold: run.hold.as_ref().map(Hold::of),
            next: next(run),
        }
    }
}

/// What an orchestrator does about a run.
fn next(run: &RunView) -> String {
    let id = &run.id;
    match (&run.hold, run.status.as_str()) {
        (Some(held), _) => {
            let how = plain(&hold::how_to_decide(held));
            format!("tell the user that it needs them; look at it with `get_hold`. {how}")
        }
        (None, "completed") => {
            format!("it is done: tell the user; `get_diff` shows what it changed on branch {}", run.branch)
        }
        (None, "failed") => "it failed: tell the user why, and ask whether to try again in another way".to_owned(),
        (None, "cancelled") => "it was cancelled: start nothing in its place unless the user asks".to_owned(),
        (None, "queued") => format!("it waits for its turn; `why` says what is ahead, `watch_run` waits for {id}"),
        (None, _) => format!("it goes on by itself; `watch_run` waits until {id} needs somebody or ends"),
    }
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
            asked: hold.asked.iter().filter_map(|asked| serde_json::to_value(asked).ok()).collect(),
            artifact: hold.artifact.as_ref().map(|made| Artifact::of(None, made)),
        }
    }
}

impl Artifact {
    fn of(number: Option<usize>, made: &ArtifactView) -> Self {
        Self {
            number,
            kind: made.kind.clone(),
            stage: made.stage.clone(),
            version: made.version,
            title: clean_line(&made.title),
            path: made.path.as_deref().map(clean_line),
            files: made.files.iter().map(|file| clean_line(file)).collect(),
            risks: made.risks.iter().filter_map(|risk| serde_json::to_value(risk).ok()).collect(),
        }
    }
}

impl RunDetail {
    pub(super) fn of(run: &RunView, why: &WhyView) -> Self {
        let stage = |stage: &StageView| Stage {
            name: stage.name.clone(),
            role: stage.role.clone(),
            state: stage.state.clone(),
            visits: stage.visits,
        };
        let task = |task: &TaskView| Task {
            id: clean_line(&task.id),
            title: clean_line(&task.title),
            status: task.status.clone(),
            depends_on: task.depends_on.clone(),
            child: task.child.clone(),
            problem: task.problem.as_deref().map(clean),
        };
        Self {
            run: Run::of(run),
            why: Why::of(why),
            stages: run.stages.iter().map(stage).collect(),
            tasks: run.tasks.iter().map(task).collect(),
            artifacts: run.artifacts.iter().enumerate().map(|(at, made)| Artifact::of(Some(at + 1), made)).collect(),
        }
    }
}

impl Why {
    pub(super) fn of(why: &WhyView) -> Self {
        Self {
            run: why.run.clone(),
            status: why.status.clone(),
            waits_for: clean(&why.waits_for),
            since: why.since.to_string(),
            unblocked_by: why.unblocked_by.iter().map(|way| clean(way)).collect(),
        }
    }
}
