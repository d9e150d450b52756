//! Everything that can happen to a run next: each end of the effect at its head, each decision its hold takes, the
//! clock, its children, and what people may do at any time. The search tries all of them, random walks some.

use domain::{
    AgentEnd, AgentTask, ArtifactKind, AtDeadline, ChildReport, Command, Decide, Decision, DecisionKind, EarlierTests,
    Effect, Ending, GoalPhase, GoalTask, GoalTaskStatus, Mark, Micros, Outcome, Proof, Purpose, Purse, PursuitReport,
    PursuitStep, Question, Report, Risk, RiskKind, Run, RunId, Severity, Shortage, Submission, TaintReport,
    TaintSource, TaskState, TaskStatus, Verdict, Work,
};

use crate::{agree, samples};

/// All commands that make sense for a run as it stands.
#[must_use]
pub fn moves(run: &Run) -> Vec<Command> {
    let mut all: Vec<Command> = ends(run).into_iter().map(|(effect, outcome)| report(effect, outcome)).collect();
    all.extend(decisions(run).into_iter().map(|decision| decide(run, decision)));
    // One stop, one word at a time: they end before anything else of the run, and only then comes another. Nor is
    // paused in the instant a child is begun or merged; the random walks of the simulation do that.
    let settling = run.open_effects.values().any(is_short);
    let timer = run.timer().filter(|_| !settling);
    all.extend(timer.map(|timer| Command::TimerFired { timer: timer.id }));
    all.extend(children(run).into_iter().map(Command::ChildEnded));
    let by = samples::actor("bob");
    if !run.is_ended() && !settling {
        all.push(Command::Pause { by: by.clone(), reason: None });
    }
    // Taken from a pause it leads where it leads from the agent at work.
    let paused = run.hold().is_some_and(|hold| hold.kind == domain::HoldKind::Paused);
    if !run.is_ended() && !settling && !paused {
        all.push(Command::Attach { by: by.clone() });
    }
    if !run.is_ended() && !settling && run.opened().playbook.may_be_forced() {
        all.push(Command::ForceMerge { by: by.clone(), reason: None, shown: None });
    }
    if !run.is_ended() {
        all.push(Command::Cancel { by: by.clone(), reason: None });
    }
    for assumption in run.assumptions.iter().filter(|assumption| !assumption.overturned) {
        let answer = vec!["the other one".to_owned()];
        all.push(Command::Overturn { assumption: assumption.number, answer, by: by.clone() });
    }
    all
}

fn is_short(effect: &Effect) -> bool {
    match effect {
        Effect::StopAgent { .. } | Effect::TellChild { .. } | Effect::StartChild(_) | Effect::MergeChild(_) => true,
        Effect::OpenBranch
        | Effect::OpenChildBranch
        | Effect::OpenFork { .. }
        | Effect::RunAgent(_)
        | Effect::Prove { .. }
        | Effect::CommitArtifact { .. }
        | Effect::Adopt { .. }
        | Effect::TellAgent { .. }
        | Effect::TellParent
        | Effect::Publish { .. }
        | Effect::WriteRecord
        | Effect::Land(_)
        | Effect::PushRemote { .. }
        | Effect::OpenPullRequest { .. }
        | Effect::CleanUp => false,
    }
}

fn report(effect: u32, outcome: Outcome) -> Command {
    Command::Report(Report { effect, outcome })
}

/// A decision on the hold as it is shown now.
#[must_use]
pub fn decide(run: &Run, decision: Decision) -> Command {
    let hold = run.hold().expect("decisions are only made on holds");
    Command::Decide(Decide { hold: hold.id, digest: hold.digest.clone(), decision, by: samples::actor("ada") })
}

/// Each way the run's first open effect can end: effects of one run are worked on one after the other.
#[must_use]
pub fn ends(run: &Run) -> Vec<(u32, Outcome)> {
    let Some((number, effect)) = run.open_effects.first_key_value() else { return Vec::new() };
    outcomes(run, *number, effect).into_iter().map(|outcome| (*number, outcome)).collect()
}

/// Each way an effect can end, the good one first.
#[must_use]
pub fn outcomes(run: &Run, number: u32, effect: &Effect) -> Vec<Outcome> {
    let mut outcomes = vec![agree(run, number, effect)];
    // Words between runs are said until they are heard.
    if !matches!(effect, Effect::TellChild { .. } | Effect::TellAgent { .. } | Effect::TellParent) {
        outcomes.push(Outcome::Failed { message: "the disk is away".to_owned(), hint: None });
    }
    outcomes.extend(others(run, number, effect));
    outcomes
}

fn others(run: &Run, number: u32, effect: &Effect) -> Vec<Outcome> {
    let paths = || vec!["src/login.rs".to_owned()];
    let text = || "no".to_owned();
    let n = u64::from(number);
    match effect {
        Effect::RunAgent(AgentTask { purpose: Purpose::Answer { .. } | Purpose::Sit, .. }) => {
            vec![agent(crashed())]
        }
        Effect::RunAgent(task) => agent_ends(run, number, task),
        Effect::Prove { commit, .. } => {
            let doubted = EarlierTests { files: paths(), checks: samples::proof(n, 1).checks };
            let (commit, failed, passed) = (commit.clone(), samples::proof(n, 1), samples::proof(n, 0));
            vec![
                Outcome::Proved { proof: Proof { commit: commit.clone(), ..failed } },
                Outcome::Proved { proof: Proof { commit, earlier_tests: Some(doubted), ..passed } },
            ]
        }
        Effect::CommitArtifact { .. } => vec![Outcome::ArtifactRefused { reason: text() }],
        Effect::Adopt { .. } => vec![Outcome::NotAdopted { reason: text() }],
        Effect::MergeChild(_) => vec![
            Outcome::ChildConflicts { paths: paths(), marked: Some(samples::commit(n)) },
            Outcome::ChildConflicts { paths: paths(), marked: None },
        ],
        Effect::Land(_) => vec![
            Outcome::NotLanded { reason: text(), paths: paths() },
            Outcome::LandingUnproven { proof: samples::proof(n, 1) },
            Outcome::BaseMoved { base: samples::commit(88) },
            Outcome::SecretsFound { findings: vec![samples::finding("src/login.rs")] },
        ],
        Effect::PushRemote { ask, .. } => {
            let secrets = Outcome::SecretsFound { findings: vec![samples::finding("src/login.rs")] };
            let unasked = ask.then(|| Outcome::PushUnasked { remote: "origin".to_owned() });
            let others = [Outcome::PushRefused { reason: text() }, Outcome::Pushed { remote: None }, secrets];
            others.into_iter().chain(unasked).collect()
        }
        Effect::OpenPullRequest { .. } => vec![Outcome::PullRequestRefused { reason: text() }],
        Effect::OpenBranch
        | Effect::OpenChildBranch
        | Effect::OpenFork { .. }
        | Effect::StopAgent { .. }
        | Effect::StartChild(_)
        | Effect::TellChild { .. }
        | Effect::TellAgent { .. }
        | Effect::TellParent
        | Effect::Publish { .. }
        | Effect::WriteRecord
        | Effect::CleanUp => Vec::new(),
    }
}

fn agent(end: AgentEnd) -> Outcome {
    Outcome::AgentEnded { end, tier: None, program: None, wip: Some(samples::commit(77)) }
}

/// The day's limit, which begins anew in an hour.
fn days_end(run: &Run) -> Shortage {
    let at = run.updated_at.saturating_add(jiff::SignedDuration::from_hours(1)).ok();
    Shortage { purse: Purse::Day, mark: Mark::Limit, resets_at: at }
}

fn crashed() -> AgentEnd {
    AgentEnd::Crashed { reason: "it is gone".to_owned() }
}

fn agent_ends(run: &Run, number: u32, task: &AgentTask) -> Vec<Outcome> {
    let reason = || "overloaded".to_owned();
    let mut ends = vec![
        crashed(),
        AgentEnd::ModelFailed { reason: reason() },
        AgentEnd::QuotaSpent { reason: reason(), resets_at: None },
        AgentEnd::BudgetSpent { reason: reason(), shortage: Shortage::default() },
        AgentEnd::BudgetSpent { reason: reason(), shortage: Shortage { mark: Mark::Ask, ..Shortage::default() } },
        AgentEnd::BudgetSpent { reason: reason(), shortage: days_end(run) },
        AgentEnd::NeedsTime { minutes: 5, reason: reason() },
        AgentEnd::NeedsPermission { request: "rm -r target".to_owned() },
        AgentEnd::Asked { questions: vec![question(AtDeadline::Assume)] },
        AgentEnd::Asked { questions: vec![question(AtDeadline::Escalate), question(AtDeadline::Assume)] },
    ];
    let index = run.opened().playbook.index_of(&task.stage).expect("effects name stages of their playbook");
    let progress = u8::try_from(run.reflections.len() % 90).unwrap_or(0);
    match &run.stage(index).work {
        Work::Converse { .. } => ends.push(AgentEnd::Said { ready: false, message: "which one?".to_owned() }),
        Work::Pursue { .. } => {
            ends.push(AgentEnd::Reflected { reflection: samples::reflection(progress), tree: None });
            let helpless = domain::Reflection { requires_user_intervention: true, ..samples::reflection(progress) };
            ends.push(AgentEnd::Reflected { reflection: helpless, tree: None });
        }
        Work::Produce { may_delegate: true, .. } => ends.push(handed_out(number, &task.stage)),
        Work::Produce { .. } | Work::Judge { .. } | Work::Prove { .. } | Work::Delegate { .. } => {}
    }
    let code = run.stage(index).work.artifact().is_some_and(ArtifactKind::is_code);
    ends.extend(code.then(|| AgentEnd::HoldsSecrets { findings: vec![samples::finding("src/login.rs")] }));
    let good = agree(run, number, &Effect::RunAgent(task.clone()));
    let mut outcomes: Vec<Outcome> = ends.into_iter().map(agent).collect();
    outcomes.extend(verdicts(&good));
    outcomes.extend(risky(&good));
    outcomes.extend(doubtful(&good));
    outcomes
}

/// Tasks for others in place of the work.
fn handed_out(number: u32, stage: &str) -> AgentEnd {
    AgentEnd::Submitted(Box::new(Submission {
        artifact: samples::artifact(ArtifactKind::Plan, stage, 1, u64::from(number)),
        summary: "too much for one".to_owned(),
        decisions: Vec::new(),
        review: None,
        plan: Some(samples::plan()),
        reflection: None,
    }))
}

/// The verdict FAIL, minor and major, in place of a PASS.
fn verdicts(good: &Outcome) -> Vec<Outcome> {
    let fail = |severity: Severity| {
        let mut outcome = good.clone();
        if let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut outcome {
            submission.review = Some(samples::review(Verdict::Fail, severity));
        }
        outcome
    };
    let judged = |end: &AgentEnd| matches!(end, AgentEnd::Submitted(submission) if submission.review.is_some());
    if matches!(good, Outcome::AgentEnded { end, .. } if judged(end)) {
        vec![fail(Severity::Minor), fail(Severity::Major)]
    } else {
        Vec::new()
    }
}

/// The same code with something in it that a person should see.
fn risky(good: &Outcome) -> Option<Outcome> {
    let mut outcome = good.clone();
    let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut outcome else { return None };
    if submission.artifact.kind != ArtifactKind::Code {
        return None;
    }
    submission.artifact.risks = vec![risk()];
    Some(outcome)
}

/// The same code, said to be less than all of it.
fn doubtful(good: &Outcome) -> Option<Outcome> {
    let mut outcome = good.clone();
    let Outcome::AgentEnded { end: AgentEnd::Submitted(submission), .. } = &mut outcome else { return None };
    submission.reflection.as_mut()?.progress = 60;
    Some(outcome)
}

/// A change to a pipeline.
#[must_use]
pub fn risk() -> Risk {
    Risk { kind: RiskKind::Ci, paths: vec![".github/workflows/ci.yml".to_owned()], summary: "CI changes".to_owned() }
}

/// A question with an answer the agent would choose itself, and a rule for when nobody answers.
#[must_use]
pub fn question(at_deadline: AtDeadline) -> Question {
    Question {
        default: vec!["the first".to_owned()],
        deadline_minutes: Some(30),
        reversible: true,
        at_deadline: Some(at_deadline),
        ..samples::question("which one?")
    }
}

/// One decision of each kind that the hold takes; cancelling is a move of its own.
#[must_use]
pub fn decisions(run: &Run) -> Vec<Decision> {
    let Some(hold) = run.hold() else { return Vec::new() };
    let kind = hold.artifact.as_ref().map(|artifact| artifact.kind);
    let index = hold.stage.as_deref().and_then(|name| run.opened().playbook.index_of(name));
    let pursues = index.is_some_and(|index| matches!(run.stage(index).work, Work::Pursue { .. }));
    let made = |allowed: &DecisionKind| {
        if *allowed == DecisionKind::ModifyPlan && pursues {
            return Decision::ModifyPlan { plan: samples::goal_plan() };
        }
        decision(*allowed, kind)
    };
    hold.allowed.iter().map(made).collect()
}

/// A decision of a kind, about an artifact.
#[must_use]
pub fn decision(kind: DecisionKind, shown: Option<ArtifactKind>) -> Decision {
    let text = "think again".to_owned();
    match kind {
        DecisionKind::Approve => Decision::Approve { notes: Some(text) },
        DecisionKind::Reject => Decision::Reject { feedback: text },
        DecisionKind::Suggest => Decision::Suggest { text },
        DecisionKind::Answer => Decision::Answer { answer: vec![text] },
        DecisionKind::Ignore => Decision::Ignore,
        DecisionKind::Retry => Decision::Retry { feedback: Some(text), model: None },
        DecisionKind::ApproveForRun => Decision::ApproveForRun,
        DecisionKind::AcceptAnyway => Decision::AcceptAnyway { reason: None },
        DecisionKind::Extend => Decision::Extend { minutes: 5 },
        DecisionKind::Raise => Decision::Raise { by: Micros(1_000_000) },
        DecisionKind::ModifyPlan => {
            let plan = if shown == Some(ArtifactKind::Plan) { samples::plan_text(&samples::plan()) } else { text };
            Decision::ModifyPlan { plan }
        }
        DecisionKind::Ask => Decision::Ask { question: text },
        DecisionKind::Resolve => Decision::Resolve,
        DecisionKind::CreatePr => Decision::CreatePr,
        DecisionKind::TakeOver => Decision::TakeOver,
        DecisionKind::Resume => Decision::Resume,
        DecisionKind::Cancel => Decision::Cancel { reason: None },
    }
}

/// Something the agent at work may say of itself; not all of it makes sense.
#[must_use]
pub fn pursuit(run: &Run, which: usize) -> Option<Command> {
    let (effect, _) = run.agent()?;
    let phases = [GoalPhase::Planning, GoalPhase::Acting, GoalPhase::Observing, GoalPhase::Reflecting];
    let step = match which % 6 {
        0 => PursuitStep::Planned { tasks: samples::goal_tasks() },
        1 => PursuitStep::Updated {
            task: GoalTask { status: GoalTaskStatus::Completed, ..samples::goal_tasks().remove(which % 2) },
        },
        other => PursuitStep::Phase { phase: phases[other - 2] },
    };
    let last = run.goal.counted.filter(|counted| counted.0 == effect).map_or(0, |counted| counted.1);
    let number = (last + 1).saturating_sub(u32::from(which.is_multiple_of(7)));
    Some(Command::Pursue(PursuitReport { effect, number, step }))
}

/// Text of strangers that an agent reads, now or, of one that was stopped, late.
#[must_use]
pub fn taint(run: &Run, which: usize) -> Command {
    let sources = [TaintSource::search(), TaintSource::mcp("docs"), TaintSource::named("https://example.com/page")];
    let working = run.agent().map(|(number, _)| number).filter(|_| !which.is_multiple_of(5));
    let effect = working.unwrap_or(run.effects_requested.saturating_sub(1));
    Command::Taint(TaintReport { effect, source: sources[which % 3].clone() })
}

/// Each way each child at work can end; one whose start is not known yet may have ended well already.
#[must_use]
pub fn children(run: &Run) -> Vec<ChildReport> {
    let endings = |task: &TaskState| match task.status {
        TaskStatus::Working => vec![Ending::Completed, Ending::Failed, Ending::Cancelled],
        TaskStatus::Starting if starts_now(run, task) => vec![Ending::Completed],
        TaskStatus::Starting
        | TaskStatus::Waiting
        | TaskStatus::Ready
        | TaskStatus::Merging
        | TaskStatus::Conflicted
        | TaskStatus::Merged
        | TaskStatus::Failed
        | TaskStatus::Skipped => Vec::new(),
    };
    run.tasks.iter().flat_map(|task| endings(task).into_iter().map(|ending| child_report(run, task, ending))).collect()
}

fn starts_now(run: &Run, task: &TaskState) -> bool {
    let first = run.open_effects.first_key_value().map(|(_, effect)| effect);
    matches!(first, Some(Effect::StartChild(child)) if child.task == task.task.id)
}

/// How the newest child of a task ended.
#[must_use]
pub fn child_report(run: &Run, task: &TaskState, ending: Ending) -> ChildReport {
    let n = u64::from(run.effects_requested) + 1000;
    ChildReport {
        task: task.task.id.clone(),
        child: RunId::child_of(&run.id, &task.task.id, task.attempt, 0),
        ending,
        commit: (ending == Ending::Completed).then(|| samples::commit(n)),
        files: task.task.files.clone(),
        cost: Micros(1000),
        problem: (ending == Ending::Failed).then(|| "the checks failed".to_owned()),
        taints: Vec::new(),
    }
}
