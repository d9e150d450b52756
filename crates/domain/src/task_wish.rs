//! Wishes about a task: the one decision that leads from what it is to what a person wants it to be, or why there is
//! none. Asks the map first; decides nothing itself.

use crate::{
    ArtifactKind, Decision, Hold, HoldKind, Phase, Run, Step, TaskArtifacts, TaskGate, TaskRefusal, TaskWord, Verdict,
};

/// What leads to what was wished for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskStep {
    /// A decision on the hold it waits on.
    Decide(Decision),
    /// The work is let wait.
    Pause,
    /// The task is ended.
    Cancel,
}

/// What a person says along with a wish.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskWords {
    /// What the task is about.
    pub summary: Option<String>,
    /// What else is to be known.
    pub notes: Option<String>,
}

impl TaskWords {
    fn text(&self) -> Option<String> {
        let said = [&self.summary, &self.notes].into_iter().flatten().map(|text| text.trim().to_owned());
        let said: Vec<String> = said.filter(|text| !text.is_empty()).collect();
        (!said.is_empty()).then(|| said.join("\n\n"))
    }
}

impl TaskArtifacts {
    /// What a run has handed in. While its agent is at work there is nothing of this visit yet.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let at_work = run.hold().is_none();
        let word = TaskWord::of(run);
        let review = run.review.as_ref().filter(|_| !(at_work && word == Some(TaskWord::AgentReview)));
        Self {
            has_handoff: !(at_work && word == Some(TaskWord::Working)) && run.latest(ArtifactKind::Handoff).is_some(),
            has_review: review.is_some(),
            verdict: review.map(|review| review.verdict),
        }
    }
}

/// What makes a task what a person wants it to be.
pub fn task_step(run: &Run, to: TaskWord, said: &TaskWords) -> Result<TaskStep, TaskRefusal> {
    let from = word(run)?;
    from.check(to, &TaskArtifacts::of(run))?;
    if to == TaskWord::Cancelled {
        return Ok(TaskStep::Cancel);
    }
    if let Some(hold) = run.hold() {
        let way = ways(run, hold, said).into_iter().find(|(leads, decision)| takes(hold, decision) && *leads == to);
        return way.map(|(_, decision)| TaskStep::Decide(decision)).ok_or_else(|| by_itself(run, hold, from, to));
    }
    match (from, to) {
        (TaskWord::Working | TaskWord::Delegated, TaskWord::Stuck) => Ok(TaskStep::Pause),
        (TaskWord::Pending, _) => Err(refused(from, to, "it begins when it is let in")),
        (_, TaskWord::Clarification) => Err(refused(from, to, "only its agent asks")),
        (TaskWord::Reviewing, _) => Err(refused(from, to, "somebody said where it goes, and it is on its way")),
        (_, _) => Err(refused(from, to, "what its agent hands in leads there")),
    }
}

/// What says that a worker's part is done.
pub fn task_complete(run: &Run) -> Result<TaskStep, TaskRefusal> {
    task_step(run, TaskWord::AgentReview, &TaskWords::default())
}

/// What lets a task go on that crashed or is stuck.
pub fn task_respawn(run: &Run, said: &TaskWords) -> Result<TaskStep, TaskRefusal> {
    let from = word(run)?;
    let again = match run.hold().map(|hold| hold.stage.as_deref()) {
        // What failed after the review is done again where it failed.
        Some(None) => return again(run, said).ok_or(TaskRefusal::NotAllowed { from, to: TaskWord::Working }),
        Some(Some(_)) if from == TaskWord::Stuck => again(run, said),
        Some(Some(_)) => return Err(refused(from, TaskWord::Working, "it waits for your answer, not for an agent")),
        None if from.ways().is_empty() => return Err(TaskRefusal::NotAllowed { from, to: TaskWord::Working }),
        None => return Err(refused(from, TaskWord::Working, "it is at work, and comes back by itself after a crash")),
    };
    again.ok_or_else(|| refused(from, TaskWord::Working, "what it waits for takes another decision"))
}

/// What merges a task that was reviewed.
pub fn task_merge(run: &Run) -> Result<TaskStep, TaskRefusal> {
    let from = word(run)?;
    match run.hold() {
        Some(hold) if hold.kind == HoldKind::Review => {
            let approve = Decision::Approve { notes: None };
            if takes(hold, &approve) { Ok(TaskStep::Decide(approve)) } else { Err(TaskRefusal::NotReviewed(from)) }
        }
        // It was said already, and did not work out.
        Some(hold) if hold.stage.is_none() => {
            let again = again(run, &TaskWords::default());
            again.ok_or(TaskRefusal::NotAllowed { from, to: TaskWord::Done })
        }
        None if from == TaskWord::Reviewing => Err(refused(from, TaskWord::Done, "it is on its way")),
        Some(_) | None if from.may_be_forced() => Err(TaskRefusal::NotReviewed(from)),
        Some(_) | None => Err(TaskRefusal::NotAllowed { from, to: TaskWord::Done }),
    }
}

fn word(run: &Run) -> Result<TaskWord, TaskRefusal> {
    TaskWord::of(run).ok_or_else(|| TaskRefusal::NotATask(run.opened().playbook.name.clone()))
}

fn refused(from: TaskWord, to: TaskWord, why: &str) -> TaskRefusal {
    TaskRefusal::ByItself { from, to, why: why.to_owned() }
}

fn takes(hold: &Hold, decision: &Decision) -> bool {
    hold.allowed.contains(&decision.kind())
}

/// The decision that tries again what a hold is about.
fn again(run: &Run, said: &TaskWords) -> Option<TaskStep> {
    let hold = run.hold()?;
    let retry = Decision::Retry { feedback: said.text(), model: None };
    [retry, Decision::Resume].into_iter().find(|decision| takes(hold, decision)).map(TaskStep::Decide)
}

/// Where the decisions lead that people make on a hold of a task.
fn ways(run: &Run, hold: &Hold, said: &TaskWords) -> Vec<(TaskWord, Decision)> {
    let text = said.text();
    let here = at_work(hold.stage.as_deref());
    let approve = || Decision::Approve { notes: text.clone() };
    let retry = || Decision::Retry { feedback: text.clone(), model: None };
    let back = || text.clone().unwrap_or_else(|| "look at it again".to_owned());
    let judged = here == TaskWord::AgentReview;
    match hold.kind {
        HoldKind::Clarification => {
            let answer = text.clone().map(|text| Decision::Answer { answer: vec![text] });
            vec![(here, answer.unwrap_or(Decision::Ignore))]
        }
        HoldKind::Approval | HoldKind::Confirm | HoldKind::Permission => vec![(here, approve())],
        HoldKind::Review => vec![(TaskWord::Done, approve())],
        HoldKind::Fix => {
            vec![(TaskWord::Working, retry()), (TaskWord::AgentReview, Decision::Suggest { text: back() })]
        }
        HoldKind::Stuck if judged => {
            vec![(here, retry()), (TaskWord::Working, Decision::Reject { feedback: back() })]
        }
        HoldKind::Stuck => {
            vec![(here, retry()), (TaskWord::AgentReview, Decision::AcceptAnyway { reason: text.clone() })]
        }
        HoldKind::Paused if run.taken_over.is_some() => vec![(TaskWord::AgentReview, Decision::Resume)],
        HoldKind::Paused => vec![(here, Decision::Resume)],
        HoldKind::Timeout
        | HoldKind::Model
        | HoldKind::Quota
        | HoldKind::Budget
        | HoldKind::Conflict
        | HoldKind::Credentials => vec![(here, retry())],
    }
}

/// The word of a stage while it is worked on.
fn at_work(stage: Option<&str>) -> TaskWord {
    let word = TaskWord::told(TaskWord::PLAYBOOK, crate::Status::Running, None, stage);
    word.unwrap_or(TaskWord::Reviewing)
}

fn by_itself(run: &Run, hold: &Hold, from: TaskWord, to: TaskWord) -> TaskRefusal {
    if to == TaskWord::AgentReview && run.latest(ArtifactKind::Handoff).is_none() {
        return TaskRefusal::Missing { from, to, missing: TaskGate::Handoff };
    }
    let takes: Vec<&str> = hold.allowed.iter().map(|kind| kind.word()).collect();
    refused(from, to, &format!("what it waits on ({}) takes {}", hold.kind.word(), takes.join(", ")))
}

/// How the agent of a task stands, from what is recorded and never from what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskSession {
    /// A process works.
    Active,
    /// It ended without handing anything in, and nobody has said how to go on.
    Crashed,
    /// None is expected.
    Inactive,
}

impl TaskSession {
    /// Of a run.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let crashed = run.current_stage().is_some_and(|index| run.stages[index].crashes > 0);
        match &run.phase {
            Phase::Working { step: Step::Agent, .. } => Self::Active,
            Phase::Delegating { .. } => Self::Active,
            Phase::Holding { .. } if run.sitting().is_some() => Self::Active,
            Phase::Holding { hold } if hold.kind == HoldKind::Stuck && crashed => Self::Crashed,
            Phase::Unopened
            | Phase::Opening { .. }
            | Phase::Working { .. }
            | Phase::Publishing { .. }
            | Phase::Holding { .. }
            | Phase::Finishing { .. }
            | Phase::Ended { .. } => Self::Inactive,
        }
    }

    /// As it is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Crashed => "crashed",
            Self::Inactive => "inactive",
        }
    }
}

/// A verdict as TASK.md has it.
#[must_use]
pub fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "PASS",
        Verdict::Fail => "FAIL",
    }
}
