//! Tables told from events, written in the transaction of the events: questions, artifacts, spend.

use domain::{Artifact, Decision, Event, Hold, HoldId, Recorded, ResponseType, RunId};
use engine::{Append, StoreError};
use rusqlite::{Connection, params};

use crate::encode::{int, millis};
use crate::fault::fault;
use crate::write::{inherited, json};

/// The moments a run's row keeps besides those of its state.
#[derive(Default)]
pub(crate) struct Marks {
    pub(crate) started: Option<i64>,
    pub(crate) paused: Option<i64>,
    pub(crate) resumed: Option<i64>,
}

impl Marks {
    pub(crate) fn of(append: &Append) -> Self {
        let mut marks = Self::default();
        let own = append.events.iter().filter(|recorded| !inherited(append, recorded.sequence));
        for recorded in own {
            let at = Some(millis(recorded.at));
            match &recorded.event {
                Event::StageStarted { .. } | Event::RunForked { .. } => marks.started = marks.started.or(at),
                Event::ApprovalRequested { .. } | Event::ClarificationRequested { .. } | Event::HoldPlaced { .. } => {
                    marks.paused = at;
                }
                Event::ApprovalGranted { .. }
                | Event::ApprovalRejected { .. }
                | Event::ClarificationAnswered { .. }
                | Event::DecisionMade { .. } => marks.resumed = at,
                Event::RunStarted { .. }
                | Event::ForkOpened { .. }
                | Event::BranchCreated { .. }
                | Event::StageCompleted { .. }
                | Event::EffectRequested { .. }
                | Event::EffectFinished { .. }
                | Event::ArtifactCreated { .. }
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
                | Event::RunCompleted { .. }
                | Event::RunFailed { .. }
                | Event::RunCancelled { .. }
                | Event::RunTainted { .. } => {}
            }
        }
        marks
    }
}

pub(crate) fn project(
    connection: &Connection,
    run: &RunId,
    number: i64,
    recorded: &Recorded,
    inherited: bool,
) -> Result<(), StoreError> {
    match &recorded.event {
        Event::ClarificationRequested { hold, .. } => asked(connection, run, hold, recorded),
        Event::ClarificationAnswered { hold, by, decision, secret, .. } => {
            // This table is for views: a secret is none of theirs.
            let hidden = Decision::Answer { answer: vec![domain::SECRET_ANSWER.to_owned()] };
            let shown = if *secret { &hidden } else { decision };
            answered(connection, run, *hold, &by.name, shown, recorded)
        }
        Event::ArtifactCreated { artifact, .. } => made(connection, (run, number), artifact, recorded),
        // It was paid for once, by another run.
        Event::SpendRecorded { .. } if inherited => Ok(()),
        Event::SpendRecorded { .. } => spent(connection, run, recorded),
        Event::RunFailed { .. } | Event::RunCancelled { .. } => unanswered(connection, run),
        Event::RunStarted { .. }
        | Event::RunForked { .. }
        | Event::ForkOpened { .. }
        | Event::BranchCreated { .. }
        | Event::StageStarted { .. }
        | Event::StageCompleted { .. }
        | Event::EffectRequested { .. }
        | Event::EffectFinished { .. }
        | Event::ApprovalRequested { .. }
        | Event::ApprovalGranted { .. }
        | Event::ApprovalRejected { .. }
        | Event::HoldPlaced { .. }
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
        | Event::MergeForced { .. }
        | Event::RecordWritten { .. }
        | Event::BranchPublished { .. }
        | Event::BranchMerged { .. }
        | Event::BaseMoved { .. }
        | Event::BranchPushed { .. }
        | Event::RunCompleted { .. }
        | Event::RunTainted { .. } => Ok(()),
    }
}

fn asked(connection: &Connection, run: &RunId, hold: &Hold, recorded: &Recorded) -> Result<(), StoreError> {
    let Some(question) = &hold.question else { return Ok(()) };
    let sql = "INSERT INTO clarification_requests (id, workflow_run_id, stage, question, context, options,
        response_type, status, attempt_number, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'pending', ?8, ?9)";
    let options = if question.options.is_empty() { None } else { Some(json(&question.options)?) };
    let response_type = match question.response_type {
        ResponseType::Text => "text",
        ResponseType::SingleChoice => "single_choice",
        ResponseType::MultipleChoice => "multiple_choice",
        ResponseType::FileUpload => "file_upload",
    };
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let columns = params![
        question_id(run, hold.id),
        run.as_str(),
        hold.stage.as_deref().unwrap_or(""),
        question.question,
        question.context,
        options,
        response_type,
        hold.attempt_number,
        millis(recorded.at),
    ];
    statement.execute(columns).map(drop).map_err(fault)
}

fn answered(
    connection: &Connection,
    run: &RunId,
    hold: HoldId,
    by: &str,
    decision: &Decision,
    recorded: &Recorded,
) -> Result<(), StoreError> {
    let (status, response) = match decision {
        Decision::Answer { answer } => ("answered", Some(json(answer)?)),
        Decision::Ignore
        | Decision::Approve { .. }
        | Decision::Reject { .. }
        | Decision::Suggest { .. }
        | Decision::ModifyPlan { .. }
        | Decision::Ask { .. }
        | Decision::Resolve
        | Decision::CreatePr
        | Decision::TakeOver
        | Decision::Resume
        | Decision::Retry { .. }
        | Decision::ApproveForRun
        | Decision::AcceptAnyway { .. }
        | Decision::Extend { .. }
        | Decision::Raise { .. }
        | Decision::Cancel { .. } => ("ignored", None),
    };
    let sql = "UPDATE clarification_requests SET status = ?2, response = ?3, answered_by = ?4, answered_at = ?5
        WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let columns = params![question_id(run, hold), status, response, by, millis(recorded.at)];
    statement.execute(columns).map(drop).map_err(fault)
}

/// The run is over: nobody will answer any more.
fn unanswered(connection: &Connection, run: &RunId) -> Result<(), StoreError> {
    let sql = "UPDATE clarification_requests SET status = 'cancelled'
        WHERE workflow_run_id = ?1 AND status = 'pending'";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    statement.execute([run.as_str()]).map(drop).map_err(fault)
}

fn question_id(run: &RunId, hold: HoldId) -> String {
    format!("{run}/{hold}")
}

fn made(
    connection: &Connection,
    (run, number): (&RunId, i64),
    artifact: &Artifact,
    recorded: &Recorded,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO artifacts (workflow_run_id, sequence, kind, stage, version, path, commit_id, digest, title,
        created_at, run) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let columns = params![
        run.as_str(),
        int(recorded.sequence),
        artifact.kind.word(),
        artifact.stage,
        artifact.version,
        artifact.path,
        artifact.commit.as_str(),
        artifact.digest.as_str(),
        artifact.title,
        millis(artifact.created_at),
        number,
    ];
    statement.execute(columns).map(drop).map_err(fault)
}

fn spent(connection: &Connection, run: &RunId, recorded: &Recorded) -> Result<(), StoreError> {
    let Event::SpendRecorded { effect, call, model, input_tokens, output_tokens, cost, .. } = &recorded.event else {
        return Ok(());
    };
    let sql = "INSERT INTO spend (workflow_run_id, effect, call, model, input_tokens, output_tokens, cost_micros,
        timestamp) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    let mut statement = connection.prepare_cached(sql).map_err(fault)?;
    let cost = cost.map(|cost| int(cost.0));
    let at = millis(recorded.at);
    let columns = params![run.as_str(), effect, call, model, int(*input_tokens), int(*output_tokens), cost, at];
    statement.execute(columns).map(drop).map_err(fault)
}
