//! `why`: what a run that is not moving waits for, since when, and what unblocks it.

use jiff::Timestamp;

use crate::{DecisionKind, FinishStep, Phase, Run, Status, Step, TaskStatus};

/// The answer to "why is this run not moving?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// What the run is doing.
    pub status: Status,
    /// What it waits for, in a sentence.
    pub waits_for: String,
    /// Since when.
    pub since: Timestamp,
    /// What unblocks it.
    pub unblocked_by: Vec<String>,
}

/// Answers for any run.
#[must_use]
pub fn why(run: &Run) -> Why {
    let status = Status::of(run);
    let (waits_for, since, unblocked_by) = match &run.phase {
        Phase::Unopened => ("it has not begun".to_owned(), run.updated_at, Vec::new()),
        Phase::Opening { .. } => ("its branch is being made".to_owned(), run.updated_at, nobody()),
        Phase::Working { stage, step, .. } => (working(run, *stage, *step), run.updated_at, agent_or_clock(run)),
        Phase::Delegating { .. } => (delegating(run), run.updated_at, children(run)),
        Phase::Publishing { .. } => {
            ("its branch is being put into your repository".to_owned(), run.updated_at, nobody())
        }
        Phase::Holding { hold } => {
            let decisions = hold.allowed.iter().map(|kind| suggestion(run, *kind)).collect();
            (format!("a person: {}", hold.summary), hold.since, decisions)
        }
        Phase::Finishing { step, .. } => (finishing(*step).to_owned(), run.updated_at, nobody()),
        Phase::Ended { .. } => {
            let reason = run.failure.as_ref().map(|failure| format!(": {failure}")).unwrap_or_default();
            (format!("nothing, it is {}{reason}", status.word()), run.ended_at.unwrap_or(run.updated_at), Vec::new())
        }
    };
    Why { status, waits_for, since, unblocked_by }
}

fn nobody() -> Vec<String> {
    vec!["it goes on by itself".to_owned()]
}

fn working(run: &Run, stage: usize, step: Step) -> String {
    let stage = run.stage(stage);
    match step {
        Step::Begin => format!("{} begins", stage.name),
        Step::TakeIn => "what you wrote is being taken in".to_owned(),
        Step::Agent => {
            let far = run.goal_stand().map(|stand| format!(" ({})", stand.words())).unwrap_or_default();
            format!("the {} works on {}{far}", stage.role, stage.name)
        }
        Step::Prove => "the declared checks run".to_owned(),
    }
}

fn delegating(run: &Run) -> String {
    let named = |wanted: TaskStatus| {
        let tasks = run.tasks.iter().filter(|task| task.status == wanted);
        tasks.map(|task| task.task.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let done = run.tasks.iter().filter(|task| task.status == TaskStatus::Merged).count();
    let mut text = format!("its tasks: {done} of {} merged", run.tasks.len());
    for status in [TaskStatus::Working, TaskStatus::Merging, TaskStatus::Ready, TaskStatus::Waiting] {
        let names = named(status);
        if !names.is_empty() {
            text = format!("{text}; {}: {names}", status.word());
        }
    }
    text
}

fn children(run: &Run) -> Vec<String> {
    let mut ways = vec!["it goes on by itself when a task ends".to_owned()];
    let working = run.tasks.iter().filter(|task| task.status == TaskStatus::Working);
    let children = working.filter_map(|task| task.child.as_ref().map(|child| (child, &task.task.id)));
    ways.extend(children.map(|(child, task)| format!("`holdpoint why {}` tells of task {task}", child.short())));
    ways.push(format!("`holdpoint cancel {}` ends it and all its tasks", run.id.short()));
    ways
}

fn agent_or_clock(run: &Run) -> Vec<String> {
    let clock = run.timer().map(|timer| format!("or it is stopped at {} and you are asked", timer.at));
    let mut ways = vec!["it goes on by itself when that ends".to_owned()];
    ways.extend(clock);
    ways.push(format!("`holdpoint cancel {}` ends it", run.id.short()));
    ways
}

fn finishing(step: FinishStep) -> &'static str {
    match step {
        FinishStep::Record => "its record is being committed",
        FinishStep::Publish => "its branch is being put into your repository",
        FinishStep::Land => "its work is being merged into the base branch",
        FinishStep::Push => "its branch is being pushed to the remote",
        FinishStep::PullRequest => "its pull request is being opened",
        FinishStep::CleanUp => "its workspace is being given back",
    }
}

fn suggestion(run: &Run, kind: DecisionKind) -> String {
    let id = run.id.short();
    match kind {
        DecisionKind::Approve => format!("holdpoint approve {id}"),
        DecisionKind::Reject => format!("holdpoint reject {id} \"what to change\""),
        DecisionKind::Suggest => format!("holdpoint decide {id} suggest --text \"a hint\""),
        DecisionKind::ModifyPlan => format!("holdpoint decide {id} modify_plan --file plan.json"),
        DecisionKind::Ask => format!("holdpoint decide {id} ask --text \"your question\""),
        DecisionKind::Answer => format!("holdpoint answer {id} \"your answer\""),
        DecisionKind::Ignore => format!("holdpoint decide {id} ignore"),
        DecisionKind::Retry => format!("holdpoint decide {id} retry"),
        DecisionKind::ApproveForRun => format!("holdpoint decide {id} approve_for_run"),
        DecisionKind::AcceptAnyway => format!("holdpoint decide {id} accept_anyway"),
        DecisionKind::Extend => format!("holdpoint decide {id} extend --minutes 30"),
        DecisionKind::Raise => format!("holdpoint decide {id} raise --usd 1"),
        DecisionKind::Resolve => format!("holdpoint decide {id} resolve"),
        DecisionKind::CreatePr => format!("holdpoint decide {id} create_pr"),
        DecisionKind::TakeOver => format!("holdpoint decide {id} take_over"),
        DecisionKind::Resume => format!("holdpoint resume {id}"),
        DecisionKind::Cancel => format!("holdpoint cancel {id}"),
    }
}
