//! From what we know to what is shown.

mod change;
mod fork;
mod goal;
mod talk;
mod task;
mod work;

use std::collections::BTreeMap;

use domain::{
    Artifact, AtDeadline, Effect, Event, Hold, Phase, Recorded, ResponseType, Run, RunId, SecretFinding, TaskWord, why,
};
use drivers::AgentEvent;
use engine::{QueueState, Row};
use runner::Activity;
use serde_json::Value;
use wire::{
    ArtifactView, DirectRoleView, EventView, HoldView, LiveMessage, LiveName, ProgramView, QueueView, RunView,
    SecretFindingView, SpendCall, SpendView, StageView, WhyView,
};

pub(crate) use change::{artifact_content, changes, diff, file_diff};
pub(crate) use fork::{forked_from, point as fork_point};
pub(crate) use talk::{channel, channel_activity, question, session, turn};
pub(crate) use task::{events, named, task_run, told};
pub(crate) use work::checkpoint;

use crate::queue;

/// A run as lists show it.
pub(crate) fn row(row: &Row) -> RunView {
    RunView {
        id: row.id.to_string(),
        project: row.project.clone(),
        request: row.request.clone(),
        playbook: row.playbook.clone(),
        priority: row.priority.word().to_owned(),
        status: row.status.word().to_owned(),
        task_status: task_status(row),
        stage: row.stage.clone(),
        branch: row.branch.clone(),
        base: row.base.clone(),
        commit: row.commit.clone(),
        created_at: row.created_at,
        updated_at: row.updated_at,
        completed_at: row.completed_at,
        clarification_count: row.clarification_count,
        hold: row.hold.as_ref().map(|held| hold(&row.id, held)),
        artifacts: row.artifacts.iter().map(artifact).collect(),
        spend: SpendView {
            usd: row.cost.usd(),
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            calls: row.calls,
            inherited_usd: row.forked_from.as_ref().map(|_| row.inherited.usd()),
            inherited_calls: row.forked_from.as_ref().map(|_| row.inherited_calls),
            limit_usd: None,
            estimate_usd: None,
            unpriced_calls: None,
            children_usd: None,
            reported_usd: None,
        },
        tier: row.tier.clone(),
        failure: row.failure.clone(),
        merged: None,
        stages: Vec::new(),
        parent: row.parent.as_ref().map(ToString::to_string),
        forked_from: row.forked_from.as_ref().map(forked_from),
        task: None,
        group: None,
        tasks: Vec::new(),
        groups: Vec::new(),
        overlaps: Vec::new(),
        assumptions: Vec::new(),
        conversation: Vec::new(),
        reflections: Vec::new(),
        goal: None,
        pull_request: None,
        attached: None,
        checkpoints: Vec::new(),
        strangers: Vec::new(),
        direct: Vec::new(),
        programs: Vec::new(),
        version: row.version,
    }
}

/// A run by itself, with what lists leave out.
pub(crate) fn run(run: &Run) -> RunView {
    let mut view = row(&Row::of(run));
    view.merged = run.merged.as_ref().map(ToString::to_string);
    view.stages = stages(run);
    view.spend.limit_usd = run.budget.map(domain::Micros::usd);
    view.spend.estimate_usd = run.opened().config.estimate.map(|estimate| estimate.likely.usd());
    view.spend.unpriced_calls = Some(run.spend.unpriced_calls);
    view.spend.children_usd = (run.spend.children.0 > 0).then(|| run.spend.children.usd());
    view.spend.reported_usd = (run.spend.reported_calls > 0).then(|| run.spend.reported.usd());
    let direct = run.opened().config.direct.iter();
    view.direct =
        direct.map(|role| DirectRoleView { role: role.clone(), program: run.program(role).to_string() }).collect();
    view.programs = run.programs.iter().map(program).collect();
    view.task = run.opened().parent.as_ref().map(|parent| parent.task.clone());
    view.group = run.opened().config.group.as_ref().map(work::group);
    work::add(&mut view, run);
    view.goal = goal::goal(run);
    view.strangers = run.taints.iter().map(|taint| work::strangers(run, taint)).collect();
    view
}

fn program((role, program): (&String, &domain::ProgramIdentity)) -> ProgramView {
    ProgramView {
        role: role.clone(),
        program: program.name.clone(),
        path: program.path.clone(),
        version: program.version.clone(),
        sha256: program.sha256.clone(),
        changed_from: program.changed_from.clone(),
    }
}

fn stages(run: &Run) -> Vec<StageView> {
    let current = run.current_stage();
    let all = run.opened().playbook.stages.iter().zip(&run.stages).enumerate();
    let view = |(index, (stage, known)): (usize, (&domain::Stage, &domain::StageState))| {
        let state = match (&run.phase, current == Some(index)) {
            (Phase::Holding { .. }, true) => "holding",
            (Phase::Working { .. }, true) => "active",
            (_, _) if known.completed_at.is_some() => "done",
            (_, true) => "active",
            (_, false) => "pending",
        };
        StageView {
            name: stage.name.clone(),
            role: stage.role.clone(),
            state: state.to_owned(),
            visits: known.visits,
            started_at: known.started_at,
            completed_at: known.completed_at,
        }
    };
    // A stage that waits for tasks nobody hands out is none of this run's.
    let unneeded = |index: usize| run.stages[index].visits == 0 && run.opened().playbook.is_on_demand(index);
    all.filter(|(index, _)| !unneeded(*index)).map(view).collect()
}

/// A hold; its id is unique over all runs.
pub(crate) fn hold(run: &RunId, hold: &Hold) -> HoldView {
    let question = hold.question.as_ref();
    HoldView {
        id: format!("{run}.{}", hold.id),
        run: run.to_string(),
        kind: hold.kind.word().to_owned(),
        stage: hold.stage.clone(),
        since: hold.since,
        digest: hold.digest.to_string(),
        summary: hold.summary.clone(),
        allowed: hold.allowed.iter().map(|kind| kind.word().to_owned()).collect(),
        artifact: hold.artifact.as_ref().map(artifact),
        memory: hold.memory.as_ref().map(|entry| entry.lines.clone()).unwrap_or_default(),
        question: question.map(|question| question.question.clone()),
        context: question.map(|question| question.context.clone()),
        options: question.map(|question| question.options.clone()),
        response_type: question.map(|question| response_type(question.response_type).to_owned()),
        attempt_number: question.map(|_| hold.attempt_number),
        default: question.map(|question| question.default.clone()).unwrap_or_default(),
        reversible: question.filter(|question| !question.default.is_empty()).map(|question| question.reversible),
        deadline: hold.deadline,
        purse: hold.purse.map(|purse| purse.word().to_owned()),
        at_deadline: hold.at_deadline.map(|rule| at_deadline(rule).to_owned()),
        asked: hold.asked.iter().map(work::asked).collect(),
        task: hold.task.clone(),
        strangers: hold.strangers.clone(),
        secret: question.is_some_and(|question| question.secret),
        findings: hold.findings.iter().map(finding).collect(),
    }
}

fn finding(found: &SecretFinding) -> SecretFindingView {
    SecretFindingView {
        kind: found.kind.clone(),
        known_as: found.known_as.clone(),
        path: found.path.clone(),
        line: found.line,
        column: found.column,
        excerpt: found.excerpt.clone(),
    }
}

fn at_deadline(rule: AtDeadline) -> &'static str {
    match rule {
        AtDeadline::Wait => "wait",
        AtDeadline::Escalate => "escalate",
        AtDeadline::Assume => "assume",
        AtDeadline::GoOn => "go_on",
    }
}

fn response_type(kind: ResponseType) -> &'static str {
    match kind {
        ResponseType::Text => "text",
        ResponseType::SingleChoice => "single_choice",
        ResponseType::MultipleChoice => "multiple_choice",
        ResponseType::FileUpload => "file_upload",
    }
}

/// An artifact, without its content.
pub(crate) fn artifact(artifact: &Artifact) -> ArtifactView {
    ArtifactView {
        kind: artifact.kind.word().to_owned(),
        stage: artifact.stage.clone(),
        version: artifact.version,
        path: artifact.path.clone(),
        commit: artifact.commit.to_string(),
        digest: artifact.digest.to_string(),
        title: artifact.title.clone(),
        files: artifact.files.clone(),
        risks: artifact.risks.iter().map(work::risk).collect(),
        created_at: artifact.created_at,
    }
}

/// An event.
pub(crate) fn event(run: &RunId, recorded: &Recorded) -> EventView {
    let stored =
        serde_json::to_value(recorded.event.without_secrets()).expect("events have text keys only, so they serialise");
    let part = |name: &str| stored.get(name).cloned();
    let kind = part("type").and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default();
    EventView {
        run: run.to_string(),
        sequence: recorded.sequence,
        kind,
        timestamp: recorded.at,
        payload: part("payload").unwrap_or_else(|| Value::Object(serde_json::Map::new())),
        task: None,
    }
}

/// The name an event goes by in live messages.
pub(crate) fn live_name(event: &Event) -> LiveName {
    match event {
        Event::RunStarted { .. } => LiveName::WorkflowCreated,
        Event::ApprovalRequested { .. } | Event::ClarificationRequested { .. } | Event::HoldPlaced { .. } => {
            LiveName::WorkflowApprovalNeeded
        }
        Event::StageStarted { .. } | Event::StageCompleted { .. } => LiveName::WorkflowStageChanged,
        Event::RunCompleted { .. } | Event::RunCancelled { .. } => LiveName::WorkflowCompleted,
        Event::RunFailed { .. } => LiveName::WorkflowError,
        Event::RunForked { .. } | Event::ForkOpened { .. } => LiveName::WorkflowStageChanged,
        Event::BranchCreated { .. }
        | Event::EffectRequested { .. }
        | Event::EffectFinished { .. }
        | Event::ArtifactCreated { .. }
        | Event::ApprovalGranted { .. }
        | Event::ApprovalRejected { .. }
        | Event::ClarificationAnswered { .. }
        | Event::DecisionMade { .. }
        | Event::DeadlinePassed { .. }
        | Event::AssumptionMade { .. }
        | Event::AssumptionOverturned { .. }
        | Event::GuidanceGiven { .. }
        | Event::PauseAsked { .. }
        | Event::SessionTaken { .. }
        | Event::ConversationAdvanced { .. }
        | Event::AgentAnswered { .. }
        | Event::TasksPlanned { .. }
        | Event::TaskAdded { .. }
        | Event::ChildStarted { .. }
        | Event::ChildEnded { .. }
        | Event::ChildMerged { .. }
        | Event::ChildConflicted { .. }
        | Event::TaskRetried { .. }
        | Event::TaskFailed { .. }
        | Event::TaskSkipped { .. }
        | Event::TaskStrayed { .. }
        | Event::PulseCompleted { .. }
        | Event::ReflectionRecorded { .. }
        | Event::GoalPhaseEntered { .. }
        | Event::GoalTasksPlanned { .. }
        | Event::GoalTaskUpdated { .. }
        | Event::PrOpened { .. }
        | Event::AutoAdvanced { .. }
        | Event::AgentCrashed { .. }
        | Event::ImplementationSucceeded { .. }
        | Event::ImplementationFailed { .. }
        | Event::ProofRecorded { .. }
        | Event::ValidationPassed { .. }
        | Event::ValidationFailed { .. }
        | Event::SpendRecorded { .. }
        | Event::MergeForced { .. }
        | Event::RecordWritten { .. }
        | Event::BranchPublished { .. }
        | Event::BranchMerged { .. }
        | Event::BaseMoved { .. }
        | Event::BranchPushed { .. }
        | Event::RunTainted { .. } => LiveName::WorkflowEvent,
    }
}

fn activity_name(event: &AgentEvent) -> LiveName {
    match event {
        AgentEvent::SessionStarted { .. } => LiveName::SessionStarted,
        AgentEvent::TurnStarted { .. } => LiveName::TurnStarted,
        AgentEvent::MessageDelta { .. } => LiveName::TurnMessageDelta,
        AgentEvent::ThoughtDelta { .. } => LiveName::TurnThoughtDelta,
        AgentEvent::ToolStarted { .. } => LiveName::TurnToolStarted,
        AgentEvent::ToolCompleted { .. } => LiveName::TurnToolCompleted,
        AgentEvent::TurnCompleted { .. } => LiveName::TurnCompleted,
        AgentEvent::Noted { .. } | AgentEvent::Pursued { .. } => LiveName::SessionNote,
        AgentEvent::Trouble { .. } => LiveName::SessionError,
        AgentEvent::Ended { .. } => LiveName::SessionCompleted,
    }
}

/// What an agent does right now.
pub(crate) fn activity(activity: &Activity) -> LiveMessage {
    let name = activity_name(&activity.event);
    let mut data = serde_json::to_value(&activity.event).expect("agent events have text keys only");
    if let Value::Object(fields) = &mut data {
        fields.insert("stage".to_owned(), Value::String(activity.stage.clone()));
        fields.insert("session".to_owned(), Value::String(activity.session.to_string()));
    }
    LiveMessage::Activity { run: activity.run.to_string(), name, data }
}

fn task_status(row: &Row) -> Option<String> {
    let hold = row.hold.as_ref().map(|hold| hold.kind);
    let word = TaskWord::told(&row.playbook, row.status, hold, row.stage.as_deref())?;
    Some(word.word().to_owned())
}

/// Why a run is not moving.
pub(crate) fn reason(run: &Run, state: Option<&QueueState>) -> WhyView {
    let answer = why(run);
    let (waits_for, unblocked_by) = match state {
        Some(state) => queue::words(&run.opened().by.name, run.id.short(), state),
        None => (answer.waits_for, answer.unblocked_by),
    };
    WhyView {
        run: run.id.to_string(),
        status: answer.status.word().to_owned(),
        waits_for,
        since: answer.since,
        unblocked_by,
        queue: state.map(|state| QueueView { ahead: state.ahead, active: state.active, waiting: state.waiting }),
        forked_from: run.opened().forked_from.as_ref().map(forked_from),
    }
}

/// The model calls of a run, oldest first; those before its fork are its origin's.
pub(crate) fn calls(log: &[Recorded]) -> Vec<SpendCall> {
    let mut stage_of = BTreeMap::new();
    let mut calls = Vec::new();
    let from = log.first().and_then(|first| match &first.event {
        Event::RunStarted { forked_from, .. } => forked_from.as_ref(),
        _ => None,
    });
    for recorded in log {
        if let Event::EffectRequested { number, effect: Effect::RunAgent(task) } = &recorded.event {
            stage_of.insert(*number, task.stage.clone());
        }
        if let Event::SpendRecorded { effect, model, input_tokens, output_tokens, cost, reported_by, .. } =
            &recorded.event
            && !from.is_some_and(|from| from.has(recorded.sequence))
        {
            calls.push(SpendCall {
                stage: stage_of.get(effect).cloned().unwrap_or_default(),
                model: model.clone(),
                input_tokens: *input_tokens,
                output_tokens: *output_tokens,
                usd: cost.map(domain::Micros::usd),
                source: if reported_by.is_some() { "reported" } else { "metered" }.to_owned(),
                reported_by: reported_by.clone(),
                at: recorded.at,
            });
        }
    }
    calls
}

/// A text's Mermaid diagrams drawn for a terminal, in their order; empty for one that cannot be drawn.
pub(crate) fn drawings(markdown: &str) -> Vec<String> {
    const WIDTH: usize = 100;
    let fences = spec::markdown::outline(markdown).fences;
    let diagrams = fences.iter().filter(|fence| fence.language == "mermaid");
    diagrams.map(|fence| spec::draw::terminal(&fence.body, WIDTH).unwrap_or_default()).collect()
}
