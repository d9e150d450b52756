//! Checkpoints: nineteen named steps that a run passes on its way, told from what its log and its children's say.
//! Only a reading: no rule hangs on it, and nothing of it is stored.

use jiff::Timestamp;

use crate::{ArtifactKind, Decision, Effect, Event, Playbook, Recorded, RunConfig, Stage, Work};

/// A step that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which.
    pub step: CheckpointStep,
    /// When.
    pub at: Timestamp,
    /// The task whose child run took it; `None` for the run itself.
    pub task: Option<String>,
    /// One line for people.
    pub detail: String,
}

/// The steps, in the order in which a run of several agents takes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckpointStep {
    /// The run is recorded.
    Queued,
    /// The base is brought into the private repository.
    RepoSync,
    /// The first agent gets a workspace.
    WorkspaceCreated,
    /// The branch exists.
    BranchCreated,
    /// Agent and person talk.
    Clarifying,
    /// The person confirmed what is wanted.
    Clarified,
    /// A plan is being made.
    Planning,
    /// The plan stands.
    Planned,
    /// Tasks are handed out.
    AgentsSpawned,
    /// An agent works on a task.
    SubtaskImplementing,
    /// What it made is committed.
    SubtaskCommitting,
    /// The checks run on it.
    SubtaskTesting,
    /// Another agent judges it.
    SubtaskReviewing,
    /// What was found goes back.
    SubtaskFeedback,
    /// The task is done.
    SubtaskDone,
    /// A task's work is merged.
    MergingAgents,
    /// The branch is pushed for a pull request.
    CreatingPr,
    /// Ended well.
    Completed,
    /// Ended otherwise.
    Failed,
}

impl CheckpointStep {
    /// All of them, in order.
    pub const ALL: [Self; 19] = [
        Self::Queued,
        Self::RepoSync,
        Self::WorkspaceCreated,
        Self::BranchCreated,
        Self::Clarifying,
        Self::Clarified,
        Self::Planning,
        Self::Planned,
        Self::AgentsSpawned,
        Self::SubtaskImplementing,
        Self::SubtaskCommitting,
        Self::SubtaskTesting,
        Self::SubtaskReviewing,
        Self::SubtaskFeedback,
        Self::SubtaskDone,
        Self::MergingAgents,
        Self::CreatingPr,
        Self::Completed,
        Self::Failed,
    ];

    /// The name people know it by.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Queued => "QUEUED",
            Self::RepoSync => "REPO_SYNC",
            Self::WorkspaceCreated => "WORKSPACE_CREATED",
            Self::BranchCreated => "BRANCH_CREATED",
            Self::Clarifying => "CLARIFYING",
            Self::Clarified => "CLARIFIED",
            Self::Planning => "PLANNING",
            Self::Planned => "PLANNED",
            Self::AgentsSpawned => "AGENTS_SPAWNED",
            Self::SubtaskImplementing => "SUBTASK_IMPLEMENTING",
            Self::SubtaskCommitting => "SUBTASK_COMMITTING",
            Self::SubtaskTesting => "SUBTASK_TESTING",
            Self::SubtaskReviewing => "SUBTASK_REVIEWING",
            Self::SubtaskFeedback => "SUBTASK_FEEDBACK",
            Self::SubtaskDone => "SUBTASK_DONE",
            Self::MergingAgents => "MERGING_AGENTS",
            Self::CreatingPr => "CREATING_PR",
            Self::Completed => "COMPLETED",
            Self::Failed => "FAILED",
        }
    }
}

/// The steps of a run and of its children, each given with the task it works on, in the order of time. A run without
/// tasks is its own single task.
#[must_use]
pub fn checkpoints(log: &[Recorded], children: &[(&str, &[Recorded])]) -> Vec<Checkpoint> {
    let mut steps = Reader::new(None).read(log);
    for (task, log) in children {
        steps.extend(Reader::new(Some(task)).read(log));
    }
    // Stable: what has the same time stays in the order of its log, the run's own first.
    steps.sort_by_key(|step| step.at);
    steps
}

/// Reads one log.
struct Reader<'a> {
    task: Option<&'a str>,
    begun: Option<(&'a Playbook, &'a RunConfig)>,
    agents: u32,
    turns: u32,
    planned: Option<String>,
    wants_pr: bool,
    steps: Vec<Checkpoint>,
}

impl<'a> Reader<'a> {
    fn new(task: Option<&'a str>) -> Self {
        Self { task, begun: None, agents: 0, turns: 0, planned: None, wants_pr: false, steps: Vec::new() }
    }

    fn read(mut self, log: &'a [Recorded]) -> Vec<Checkpoint> {
        for recorded in log {
            if let Some((step, detail)) = self.step(&recorded.event) {
                let task = self.task.map(str::to_owned);
                self.steps.push(Checkpoint { step, at: recorded.at, task, detail });
            }
        }
        self.steps
    }

    fn step(&mut self, event: &'a Event) -> Option<(CheckpointStep, String)> {
        match event {
            Event::RunStarted { playbook, config, branch, .. } => {
                self.begun = Some((playbook, config));
                self.wants_pr = config.git.create_pr;
                self.task.is_none().then(|| (CheckpointStep::Queued, format!("{} on {branch}", playbook.name)))
            }
            Event::EffectRequested { effect, .. } => self.effect(effect),
            Event::StageStarted { stage, visit } => self.began(stage, *visit),
            Event::StageCompleted { stage } => self.ended(stage),
            Event::BranchCreated { base } if self.task.is_none() => {
                Some((CheckpointStep::BranchCreated, format!("from {}", base.short())))
            }
            Event::ConversationAdvanced { round, .. } => {
                self.turns = *round;
                None
            }
            Event::TasksPlanned { plan, .. } => {
                let (tasks, groups) = (plan.leaves().len(), plan.groups().len());
                self.planned = Some(format!("{tasks} tasks in {groups} groups"));
                None
            }
            Event::ImplementationSucceeded { commit } => {
                Some((CheckpointStep::SubtaskCommitting, commit.short().to_owned()))
            }
            Event::ValidationFailed { review, .. } => Some((CheckpointStep::SubtaskFeedback, review.summary.clone())),
            Event::TaskRetried { task, problem } => {
                Some((CheckpointStep::SubtaskFeedback, format!("{task} is tried again: {problem}")))
            }
            Event::DecisionMade { decision: Decision::CreatePr, .. } => {
                self.wants_pr = true;
                None
            }
            Event::RunCompleted { commit } if self.task.is_some() => {
                Some((CheckpointStep::SubtaskDone, commit.short().to_owned()))
            }
            Event::RunCompleted { commit } => Some((CheckpointStep::Completed, commit.short().to_owned())),
            Event::RunFailed { reason } if self.task.is_none() => Some((CheckpointStep::Failed, reason.clone())),
            Event::RunCancelled { by, .. } if self.task.is_none() => {
                Some((CheckpointStep::Failed, format!("cancelled by {}", by.name)))
            }
            Event::BranchCreated { .. }
            | Event::RunForked { .. }
            | Event::ForkOpened { .. }
            | Event::RunFailed { .. }
            | Event::RunCancelled { .. }
            | Event::EffectFinished { .. }
            | Event::ArtifactCreated { .. }
            | Event::ApprovalRequested { .. }
            | Event::ApprovalGranted { .. }
            | Event::ApprovalRejected { .. }
            | Event::ClarificationRequested { .. }
            | Event::ClarificationAnswered { .. }
            | Event::HoldPlaced { .. }
            | Event::DecisionMade { .. }
            | Event::DeadlinePassed { .. }
            | Event::AssumptionMade { .. }
            | Event::AssumptionOverturned { .. }
            | Event::GuidanceGiven { .. }
            | Event::PauseAsked { .. }
            | Event::SessionTaken { .. }
            | Event::AgentAnswered { .. }
            | Event::TaskAdded { .. }
            | Event::ChildStarted { .. }
            | Event::ChildEnded { .. }
            | Event::ChildMerged { .. }
            | Event::ChildConflicted { .. }
            | Event::TaskFailed { .. }
            | Event::TaskSkipped { .. }
            | Event::TaskStrayed { .. }
            | Event::PulseCompleted { .. }
            | Event::ReflectionRecorded { .. }
            | Event::GoalPhaseEntered { .. }
            | Event::GoalTasksPlanned { .. }
            | Event::GoalTaskUpdated { .. }
            | Event::AutoAdvanced { .. }
            | Event::AgentCrashed { .. }
            | Event::ImplementationFailed { .. }
            | Event::ProofRecorded { .. }
            | Event::ValidationPassed { .. }
            | Event::SpendRecorded { .. }
            | Event::MergeForced { .. }
            | Event::RecordWritten { .. }
            | Event::BranchPublished { .. }
            | Event::BranchMerged { .. }
            | Event::BaseMoved { .. }
            | Event::BranchPushed { .. }
            | Event::PrOpened { .. }
            | Event::RunTainted { .. } => None,
        }
    }

    fn effect(&mut self, effect: &Effect) -> Option<(CheckpointStep, String)> {
        match effect {
            Effect::OpenBranch => {
                let base = self.begun.map(|(_, config)| config.git.base_branch.clone()).unwrap_or_default();
                Some((CheckpointStep::RepoSync, format!("base {base}")))
            }
            Effect::RunAgent(task) => {
                self.agents += 1;
                let first = self.agents == 1 && self.task.is_none();
                first.then(|| (CheckpointStep::WorkspaceCreated, format!("for the {}", task.session.role)))
            }
            Effect::MergeChild(merge) => {
                Some((CheckpointStep::MergingAgents, format!("{} from run {}", merge.task, merge.child.short())))
            }
            Effect::PushRemote { .. } if self.wants_pr => {
                Some((CheckpointStep::CreatingPr, "the branch is pushed".to_owned()))
            }
            Effect::OpenPullRequest { commit } => Some((CheckpointStep::CreatingPr, format!("for {}", commit.short()))),
            Effect::OpenChildBranch
            | Effect::OpenFork { .. }
            | Effect::Prove { .. }
            | Effect::StopAgent { .. }
            | Effect::CommitArtifact { .. }
            | Effect::Adopt { .. }
            | Effect::StartChild(_)
            | Effect::TellChild { .. }
            | Effect::TellAgent { .. }
            | Effect::TellParent
            | Effect::Publish { .. }
            | Effect::WriteRecord
            | Effect::Land(_)
            | Effect::PushRemote { .. }
            | Effect::CleanUp => None,
        }
    }

    fn began(&mut self, name: &str, visit: u32) -> Option<(CheckpointStep, String)> {
        let again = if visit > 1 { format!("{name}, visit {visit}") } else { name.to_owned() };
        let (stage, config) = self.stage(name)?;
        match &stage.work {
            Work::Converse { .. } if config.skip_clarification => None,
            Work::Converse { .. } => Some((CheckpointStep::Clarifying, again)),
            Work::Produce { artifact, .. } if artifact.is_code() => Some((CheckpointStep::SubtaskImplementing, again)),
            Work::Produce { .. } if makes_plan(stage) => Some((CheckpointStep::Planning, again)),
            Work::Produce { .. } => None,
            Work::Pursue { .. } => Some((CheckpointStep::SubtaskImplementing, again)),
            Work::Judge { .. } => Some((CheckpointStep::SubtaskReviewing, again)),
            Work::Prove { .. } => Some((CheckpointStep::SubtaskTesting, again)),
            Work::Delegate { agents, .. } => {
                let most = config.max_concurrency.map_or(*agents, |most| most.min(*agents)).max(1);
                Some((CheckpointStep::AgentsSpawned, format!("at most {most} at once")))
            }
        }
    }

    fn ended(&mut self, name: &str) -> Option<(CheckpointStep, String)> {
        let (stage, config) = self.stage(name)?;
        match &stage.work {
            Work::Converse { .. } if !config.skip_clarification => {
                Some((CheckpointStep::Clarified, format!("after {} turns", self.turns)))
            }
            Work::Produce { .. } if makes_plan(stage) => {
                Some((CheckpointStep::Planned, self.planned.clone().unwrap_or_else(|| name.to_owned())))
            }
            Work::Converse { .. }
            | Work::Produce { .. }
            | Work::Judge { .. }
            | Work::Prove { .. }
            | Work::Delegate { .. }
            | Work::Pursue { .. } => None,
        }
    }

    fn stage(&self, name: &str) -> Option<(&'a Stage, &'a RunConfig)> {
        let (playbook, config) = self.begun?;
        playbook.stages.iter().find(|stage| stage.name == name).map(|stage| (stage, config))
    }
}

fn makes_plan(stage: &Stage) -> bool {
    matches!(stage.work.artifact(), Some(ArtifactKind::Plan | ArtifactKind::Spec))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, CommitId, Gate, GitPolicy, Parent, Review, RunId, Severity, Trust, Verdict};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn log(events: Vec<(i64, Event)>) -> Vec<Recorded> {
        let numbered = events.into_iter().zip(1..);
        numbered.map(|((second, event), sequence)| Recorded { sequence, at: at(second), event }).collect()
    }

    fn commit() -> CommitId {
        "c".repeat(40).parse().unwrap()
    }

    fn started(playbook: &str, skip: bool, parent: Option<Parent>) -> Event {
        let trust = Trust { planning: Gate::Manual, implementation: Gate::Auto, fixes: Gate::Auto };
        let git = GitPolicy {
            base_branch: "main".to_owned(),
            auto_merge: false,
            push: true,
            ask_push: false,
            create_pr: true,
            review: false,
        };
        let value = serde_json::json!({"trust": trust, "maxClarifications": 3, "models": {}, "git": git,
            "budget": null, "skipClarification": skip});
        Event::RunStarted {
            project: "/p".to_owned(),
            request: "x".to_owned(),
            playbook: Playbook::built_in(playbook).unwrap(),
            config: serde_json::from_value(value).unwrap(),
            branch: "autonomous/aaaaaa-x".to_owned(),
            by: Actor { name: "ada".to_owned(), channel: "cli".to_owned() },
            parent,
            forked_from: None,
        }
    }

    fn begins(stage: &str) -> Event {
        Event::StageStarted { stage: stage.to_owned(), visit: 1 }
    }

    fn done(stage: &str) -> Event {
        Event::StageCompleted { stage: stage.to_owned() }
    }

    fn wants(number: u32, effect: Effect) -> Event {
        Event::EffectRequested { number, effect }
    }

    fn failing() -> Event {
        let review = Review {
            verdict: Verdict::Fail,
            severity: Severity::Minor,
            summary: "one test fails".to_owned(),
            findings: Vec::new(),
        };
        Event::ValidationFailed { commit: commit(), review }
    }

    fn words(steps: &[Checkpoint]) -> Vec<String> {
        let word = |step: &Checkpoint| match &step.task {
            Some(task) => format!("{} {task}", step.step.word()),
            None => step.step.word().to_owned(),
        };
        steps.iter().map(word).collect()
    }

    fn agent() -> Effect {
        Effect::RunAgent(crate::AgentTask {
            stage: "clarifying".to_owned(),
            session: crate::Session { role: "architect".to_owned(), visit: 1, attempt: 1 },
            at: commit(),
            deadline: at(0),
            envelope: None,
            ask_after: None,
            waived: crate::Waived::default(),
            purpose: crate::Purpose::Stage,
            since: None,
        })
    }

    fn merge() -> Effect {
        Effect::MergeChild(crate::ChildMerge {
            task: "api".to_owned(),
            child: RunId::from_bits(7),
            attempt: 1,
            commit: commit(),
            onto: commit(),
            resolved: Vec::new(),
            look_first: false,
        })
    }

    #[test]
    fn a_run_of_several_agents_passes_every_step_but_failure() {
        let run = log(vec![
            (0, started("team", false, None)),
            (0, wants(1, Effect::OpenBranch)),
            (1, Event::BranchCreated { base: commit() }),
            (1, begins("clarifying")),
            (1, wants(2, agent())),
            (2, done("clarifying")),
            (2, begins("planning")),
            (3, done("planning")),
            (3, begins("execution")),
            (9, wants(5, merge())),
            (10, begins("testing")),
            (11, wants(7, Effect::PushRemote { commit: commit(), ask: false })),
            (11, Event::RunCompleted { commit: commit() }),
        ]);
        let child = log(vec![
            (4, started("subtask", false, None)),
            (4, begins("implementing")),
            (5, Event::ImplementationSucceeded { commit: commit() }),
            (6, begins("testing")),
            (7, failing()),
            (7, begins("reviewing")),
            (8, Event::RunCompleted { commit: commit() }),
        ]);
        let steps = checkpoints(&run, &[("api", &child)]);
        let expected = [
            "QUEUED",
            "REPO_SYNC",
            "BRANCH_CREATED",
            "CLARIFYING",
            "WORKSPACE_CREATED",
            "CLARIFIED",
            "PLANNING",
            "PLANNED",
            "AGENTS_SPAWNED",
            "SUBTASK_IMPLEMENTING api",
            "SUBTASK_COMMITTING api",
            "SUBTASK_TESTING api",
            "SUBTASK_FEEDBACK api",
            "SUBTASK_REVIEWING api",
            "SUBTASK_DONE api",
            "MERGING_AGENTS",
            "SUBTASK_TESTING",
            "CREATING_PR",
            "COMPLETED",
        ];
        assert_eq!(words(&steps), expected);
        let seen: std::collections::BTreeSet<CheckpointStep> = steps.iter().map(|step| step.step).collect();
        let missing: Vec<_> = CheckpointStep::ALL.into_iter().filter(|step| !seen.contains(step)).collect();
        assert_eq!(missing, [CheckpointStep::Failed]);
    }

    #[test]
    fn a_conversation_that_is_left_out_is_no_step_and_a_cancelled_run_ends_as_failed() {
        let by = Actor { name: "bob".to_owned(), channel: "cli".to_owned() };
        let run = log(vec![
            (0, started("team", true, None)),
            (1, begins("clarifying")),
            (1, done("clarifying")),
            (1, begins("planning")),
            (2, Event::RunCancelled { by, reason: None }),
        ]);
        let steps = checkpoints(&run, &[]);
        assert_eq!(words(&steps), ["QUEUED", "PLANNING", "FAILED"]);
        assert_eq!(steps[2].detail, "cancelled by bob");
    }

    #[test]
    fn the_steps_have_nineteen_different_names_in_order() {
        let names: std::collections::BTreeSet<&str> = CheckpointStep::ALL.map(CheckpointStep::word).into();
        assert_eq!(names.len(), 19);
        assert!(CheckpointStep::ALL.is_sorted());
    }
}
