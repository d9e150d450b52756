//! The row of a run: what lists and inboxes show without folding its log.

use domain::{Artifact, ForkedFrom, Hold, Micros, Priority, Run, RunId, Status};
use jiff::Timestamp;

/// The projection of a run, written in the transaction of its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The run's id.
    pub id: RunId,
    /// The run whose task it works on; none for a run that a person started.
    pub parent: Option<RunId>,
    /// The run it was forked from, and where.
    pub forked_from: Option<ForkedFrom>,
    /// Sequence number of the last event it shows.
    pub version: u64,
    /// Path of the user's repository.
    pub project: String,
    /// Who started it.
    pub user: String,
    /// The request.
    pub request: String,
    /// Name of the playbook.
    pub playbook: String,
    /// Its place among the user's queued runs.
    pub priority: Priority,
    /// Derived status.
    pub status: Status,
    /// Stage it is in.
    pub stage: Option<String>,
    /// The run's branch.
    pub branch: String,
    /// The base branch.
    pub base: String,
    /// Merged commit, or the branch's tip.
    pub commit: Option<String>,
    /// When it was started.
    pub created_at: Timestamp,
    /// When the last event was recorded.
    pub updated_at: Timestamp,
    /// When it ended.
    pub completed_at: Option<Timestamp>,
    /// Questions put to people.
    pub clarification_count: u32,
    /// The hold it waits on.
    pub hold: Option<Hold>,
    /// What was made.
    pub artifacts: Vec<Artifact>,
    /// What is known to be spent.
    pub cost: Micros,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Model calls.
    pub calls: u64,
    /// What was spent before its fork, by the runs it comes from.
    pub inherited: Micros,
    /// Model calls before its fork.
    pub inherited_calls: u64,
    /// Isolation its agents ran in.
    pub tier: Option<String>,
    /// Why it failed.
    pub failure: Option<String>,
}

impl Row {
    /// The row of a run that has begun.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let opened = run.opened();
        let stage = run.current_stage().map(|index| run.stage(index).name.clone());
        Self {
            id: run.id.clone(),
            parent: opened.parent.as_ref().map(|parent| parent.run.clone()),
            forked_from: opened.forked_from.clone(),
            version: run.version,
            project: opened.project.clone(),
            user: opened.by.name.clone(),
            request: opened.request.clone(),
            playbook: opened.playbook.name.clone(),
            priority: opened.config.priority,
            status: Status::of(run),
            stage,
            branch: opened.branch.clone(),
            base: opened.config.git.base_branch.clone(),
            commit: run.merged.as_ref().or(run.head.as_ref()).map(ToString::to_string),
            created_at: opened.at,
            updated_at: run.updated_at,
            completed_at: run.ended_at,
            clarification_count: run.questions_asked,
            hold: run.hold().cloned(),
            artifacts: run.artifacts.clone(),
            cost: run.cost(),
            input_tokens: run.spend.input_tokens,
            output_tokens: run.spend.output_tokens,
            calls: run.spend.calls,
            inherited: run.inherited.cost.plus(run.inherited.children),
            inherited_calls: run.inherited.calls,
            tier: run.tier.clone(),
            failure: run.failure.clone(),
        }
    }
}
