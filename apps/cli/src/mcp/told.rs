//! What the tools answer, in the shape they promise. Text of agents and repositories is made harmless to print; it stays
//! material of strangers, and the server's instructions say so.

use schemars::JsonSchema;
use serde::Serialize;
use wire::{RunView, StageView, TaskView, WhyView};

use super::held::{Artifact, Hold};
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
