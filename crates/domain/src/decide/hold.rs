//! Placing holds. Every one of them can be left by a decision it takes.

mod act;

use super::{Draft, delegate, stage};
use crate::{
    Artifact, ArtifactKind, AtDeadline, CommitId, DecisionKind, Digest, EarlierTests, Event, Hold, HoldKind, Mark,
    MemoryEntry, Purse, Question, Run, SecretFinding, Severity, Shortage, StageGate, TaintSource, TaskStatus, Work,
};

pub(super) use act::decide;

/// So often a person may ask about what is shown before they must decide.
const ASKS: u32 = 20;

/// A hold on the run as it stands, bound to its own place in the log.
pub(super) fn new(
    draft: &Draft,
    kind: HoldKind,
    index: Option<usize>,
    summary: String,
    allowed: Vec<DecisionKind>,
) -> Hold {
    Hold {
        id: draft.next_hold(),
        kind,
        stage: index.map(|index| draft.run.stage(index).name.clone()),
        since: draft.now,
        digest: Digest::of([stamp(draft).as_str(), kind.word(), summary.as_str()]),
        summary,
        artifact: None,
        memory: None,
        question: None,
        attempt_number: 0,
        asked: Vec::new(),
        task: None,
        deadline: None,
        at_deadline: None,
        purse: None,
        strangers: draft.run.strangers().map(TaintSource::words).collect(),
        findings: Vec::new(),
        allowed,
    }
}

/// Puts a question on a hold and binds it to what is asked.
pub(super) fn show(hold: &mut Hold, draft: &Draft, question: Question) {
    let parts = [question.question.as_str(), question.context.as_str(), &question.options.join("\u{0}")];
    hold.digest = Digest::of([stamp(draft).as_str()].into_iter().chain(parts));
    hold.question = Some(question);
}

/// So many minutes from now.
pub(super) fn later(draft: &Draft, minutes: u32) -> jiff::Timestamp {
    let span = jiff::SignedDuration::from_mins(i64::from(minutes));
    draft.now.saturating_add(span).unwrap_or(jiff::Timestamp::MAX)
}

/// What a stage made waits for a yes to exactly it.
pub(super) fn ask_approval(draft: &mut Draft, index: usize) {
    let stage = draft.run.stage(index).clone();
    let artifact = draft.run.artifacts.last().cloned();
    let title = artifact.as_ref().map(|artifact| artifact.title.clone()).unwrap_or_default();
    let risks = artifact.iter().flat_map(|artifact| &artifact.risks).map(|risk| risk.summary.clone());
    let risks: Vec<String> = risks.collect();
    let mut summary = format!("{} is done: {title}", stage.name);
    if !risks.is_empty() {
        summary = format!("{summary}; look closely: {}", risks.join("; "));
    }
    let pursues = matches!(stage.work, Work::Pursue { .. });
    if let Some(doubt) = crate::goal::doubt(&draft.run).filter(|_| pursues) {
        summary = format!("{summary}; look closely: {doubt}");
    }
    summary = with_strangers(draft, summary);
    let mut allowed = vec![DecisionKind::Approve];
    if draft.run.stages[index].revisions < stage.revisions {
        allowed.extend([DecisionKind::Reject, DecisionKind::Suggest]);
        allowed.extend(pursues.then_some(DecisionKind::ModifyPlan));
    }
    if artifact.as_ref().is_some_and(|made| made.stage == stage.name && made.kind.can_be_written()) {
        allowed.push(DecisionKind::ModifyPlan);
    }
    if stage.work.has_agent() && draft.run.stages[index].asks < ASKS {
        allowed.push(DecisionKind::Ask);
    }
    allowed.push(DecisionKind::Cancel);
    let mut hold = new(draft, HoldKind::Approval, Some(index), summary, allowed);
    match artifact {
        Some(artifact) => show_artifact(&mut hold, draft, artifact, None),
        None => hold.digest = Digest::of([stamp(draft).as_str()]),
    }
    hold.asked = draft.run.asked.clone();
    draft.record(Event::ApprovalRequested { hold, pending: Vec::new() });
}

/// The agent answered a person's question, or could not: the same artifact waits again, with the answer.
pub(super) fn answered(draft: &mut Draft, index: usize, question: String, answer: &str) {
    let stage = draft.run.stage(index).name.clone();
    draft.record(Event::AgentAnswered { stage, question, answer: answer.to_owned() });
    match draft.run.goal.waits.clone() {
        Some(why) => ask_goal(draft, index, &why),
        None => ask_approval(draft, index),
    }
}

/// The work is done and a person says where it goes.
pub(super) fn ask_review(draft: &mut Draft, index: Option<usize>) {
    ask_way_out(draft, index, None, None);
}

/// The base has moved, and nothing proves the work on it: a person may say that it is merged onto exactly this one.
pub(super) fn ask_moved(draft: &mut Draft, base: &CommitId) {
    let branch = &draft.run.opened().config.git.base_branch;
    let at: String = base.as_str().chars().take(10).collect();
    let why = format!(
        "`{branch}` has moved to {at} since the work was validated, and no checks are declared that could prove the two \
         together; approve to merge onto it all the same, or declare checks"
    );
    ask_way_out(draft, None, Some(why), Some(base));
}

/// Tests that the run changed fail as they were before.
pub(super) fn ask_tests(draft: &mut Draft, tests: &EarlierTests) {
    let failed = tests.checks.iter().filter(|check| !check.passed()).map(|check| format!("`{}`", check.name));
    let why = format!(
        "the run changed tests, and as they were before, {} fails on this code; look at the changed tests",
        failed.collect::<Vec<_>>().join(", ")
    );
    ask_way_out(draft, None, Some(with_paths(&why, &tests.files)), None);
}

/// Code that nobody said yes to is about to be pushed.
pub(super) fn ask_push(draft: &mut Draft, remote: &str) {
    let why = format!("approve to push it to `{remote}`; nobody has approved this code yet");
    ask_way_out(draft, None, Some(why), None);
}

fn ask_way_out(draft: &mut Draft, index: Option<usize>, why: Option<String>, base: Option<&CommitId>) {
    let missing = draft.run.tasks.iter().filter(|task| matches!(task.status, TaskStatus::Failed | TaskStatus::Skipped));
    let missing: Vec<&str> = missing.map(|task| task.task.id.as_str()).collect();
    let artifact = draft.run.code().cloned();
    let title = artifact.as_ref().map(|artifact| artifact.title.clone()).unwrap_or_default();
    let mut summary = format!("the work is done: {title}");
    if !missing.is_empty() {
        summary = format!("{summary}; not done: {}", missing.join(", "));
    }
    if let Some(why) = why {
        summary = format!("{summary}; {why}");
    }
    summary = with_strangers(draft, summary);
    let mut allowed = Vec::new();
    if draft.run.validated.is_some() || index.is_none() {
        allowed.push(DecisionKind::Approve);
    }
    allowed.push(DecisionKind::CreatePr);
    if let Some(index) = index
        && draft.run.stages[index].revisions < draft.run.stage(index).revisions
    {
        allowed.push(DecisionKind::Reject);
    }
    allowed.push(DecisionKind::Cancel);
    let mut hold = new(draft, HoldKind::Review, index, summary, allowed);
    if let Some(artifact) = artifact {
        show_artifact(&mut hold, draft, artifact, base);
    }
    draft.place(hold);
}

/// Puts an artifact on a hold, with the memory entry that is written if it is code and approved, and binds the hold to
/// both. A child writes no memory: its parent does.
fn show_artifact(hold: &mut Hold, draft: &Draft, artifact: Artifact, base: Option<&CommitId>) {
    let root = draft.run.opened().parent.is_none();
    hold.memory = (root && artifact.kind.is_code()).then(|| draft.run.memory_entry());
    let (stamp, memory) = (stamp(draft), hold.memory.as_ref().map(MemoryEntry::text));
    let base = base.map(CommitId::as_str);
    let parts = [stamp.as_str(), artifact.commit.as_str(), artifact.digest.as_str()];
    hold.digest = Digest::of(parts.into_iter().chain(base).chain(memory.as_deref()));
    hold.artifact = Some(artifact);
}

/// Who decides is told what else speaks out of the work.
fn with_strangers(draft: &Draft, summary: String) -> String {
    match draft.run.told_of_strangers() {
        Some(told) => format!("{summary}; {told}"),
        None => summary,
    }
}

/// Validation failed and a person must choose.
pub(super) fn ask_fix(draft: &mut Draft, index: usize, rounds_left: bool) {
    let review = draft.run.review.clone();
    let severity = review.as_ref().map_or(Severity::Major, |review| review.severity);
    let said = review.map(|review| review.summary).unwrap_or_default();
    let why = match (severity, rounds_left) {
        (Severity::Major, true) => "the failure is major",
        (Severity::Minor | Severity::Major, false) => "the fix rounds are spent",
        (Severity::Minor, true) => "fixes are set to manual",
    };
    let mut allowed = vec![DecisionKind::Retry];
    if !reviewed(draft, index) {
        allowed.push(DecisionKind::AcceptAnyway);
    } else if may_revise(draft, index) {
        allowed.push(DecisionKind::Suggest);
    }
    allowed.push(DecisionKind::Cancel);
    place(draft, HoldKind::Fix, Some(index), format!("validation failed ({why}): {said}"), allowed);
}

/// An agent wants to do something that needs a yes.
pub(super) fn ask_permission(draft: &mut Draft, index: usize, request: String) {
    use DecisionKind::{Approve, ApproveForRun, Cancel, Reject, Suggest};
    let allowed = vec![Approve, ApproveForRun, Reject, Suggest, Cancel];
    place(draft, HoldKind::Permission, Some(index), request, allowed);
}

/// Where what looks like secrets was found.
#[derive(Debug, Clone, Copy)]
pub(super) enum SecretsIn {
    /// What the agent of a stage handed in.
    HandIn { stage: usize },
    /// What is about to be merged into the base.
    Merge,
    /// What is about to be pushed.
    Push,
}

/// Asks for a permission to go on with what looks like secrets. What is in commits already cannot be sent back: their
/// history would hold it still.
pub(super) fn ask_secrets(draft: &mut Draft, found: SecretsIn, mut findings: Vec<SecretFinding>) {
    use DecisionKind::{Approve, Cancel, Reject};
    findings.truncate(SecretFinding::MOST);
    let places: Vec<String> = findings.iter().take(5).map(SecretFinding::words).collect();
    let more = findings.len().saturating_sub(places.len());
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let (index, what, then) = match found {
        SecretsIn::HandIn { stage } => {
            let role = &draft.run.stage(stage).role;
            let then = "approve to commit exactly these, or reject to send it back";
            (Some(stage), format!("what the {role} made"), then)
        }
        SecretsIn::Merge => (None, "what is to be merged".to_owned(), "approve to merge exactly these"),
        SecretsIn::Push => (None, "what is to be pushed".to_owned(), "approve to push exactly these"),
    };
    let summary = format!("{what} holds what looks like secrets; {then}: {}{more}", places.join("; "));
    let allowed = if index.is_some() { vec![Approve, Reject, Cancel] } else { vec![Approve, Cancel] };
    let mut hold = new(draft, HoldKind::Permission, index, summary, allowed);
    let stamp = stamp(draft);
    let parts = findings.iter().flat_map(|finding| [finding.path.as_str(), finding.fingerprint.as_str()]);
    hold.digest = Digest::of([stamp.as_str()].into_iter().chain(parts));
    hold.findings = findings;
    draft.place(hold);
}

/// A stage ran out of time, or its agent asks for more.
pub(super) fn ask_timeout(draft: &mut Draft, index: usize, asked: Option<(u32, &str)>) {
    let name = draft.run.stage(index).name.clone();
    let summary = match asked {
        Some((minutes, reason)) => format!("{name} asks for {minutes} more minutes: {reason}"),
        None => format!("{name} did not end in its time ({} min)", stage::timeout_minutes(draft, index)),
    };
    let allowed = vec![DecisionKind::Extend, DecisionKind::Retry, DecisionKind::Cancel];
    place(draft, HoldKind::Timeout, Some(index), summary, allowed);
}

/// The model failed after all retries.
pub(super) fn ask_model(draft: &mut Draft, index: usize, reason: &str) {
    let allowed = vec![DecisionKind::Retry, DecisionKind::Cancel];
    place(draft, HoldKind::Model, Some(index), format!("the model is unavailable: {reason}"), allowed);
}

/// The provider's window is spent; the run goes on by itself when it opens.
pub(super) fn ask_quota(draft: &mut Draft, index: usize, reason: &str, resets_at: Option<jiff::Timestamp>) {
    let allowed = vec![DecisionKind::Retry, DecisionKind::Cancel];
    let summary = format!("the provider's usage window is spent: {reason}");
    let mut hold = new(draft, HoldKind::Quota, Some(index), summary, allowed);
    hold.deadline = Some(resets_at.filter(|at| *at > draft.now).unwrap_or_else(|| later(draft, 60)));
    hold.at_deadline = Some(AtDeadline::GoOn);
    draft.place(hold);
}

/// A limit is reached, or the part of it at which a person is asked. A limit that begins anew lets the run go on by
/// itself.
pub(super) fn ask_budget(draft: &mut Draft, index: usize, reason: &str, shortage: Shortage) {
    let spent = draft.run.cost();
    let of = draft.run.budget.map(|budget| format!(" of {budget}")).unwrap_or_default();
    let what = match shortage.purse {
        Purse::Run => format!("the spend limit{of}"),
        Purse::Project => "the project's spend limit".to_owned(),
        Purse::Day => "the day's spend limit".to_owned(),
    };
    let (summary, mut allowed) = match shortage.mark {
        Mark::Ask => (
            format!("80 % of {what} is spent ({spent} by this run): {reason}"),
            vec![DecisionKind::Approve, DecisionKind::Raise],
        ),
        Mark::Limit => (format!("{what} is reached ({spent} spent by this run): {reason}"), vec![DecisionKind::Raise]),
    };
    if !delegate::is_stage(draft, index) {
        allowed.push(DecisionKind::Retry);
    }
    allowed.push(DecisionKind::Cancel);
    let mut hold = new(draft, HoldKind::Budget, Some(index), summary, allowed);
    hold.purse = Some(shortage.purse);
    if let (Mark::Limit, Some(at)) = (shortage.mark, shortage.resets_at.filter(|at| *at > draft.now)) {
        hold.deadline = Some(at);
        hold.at_deadline = Some(AtDeadline::GoOn);
    }
    draft.place(hold);
}

/// The work does not get into its base.
pub(super) fn ask_conflict(draft: &mut Draft, reason: &str, paths: &[String]) {
    let summary = with_paths(reason, paths);
    place(draft, HoldKind::Conflict, None, summary, vec![DecisionKind::Retry, DecisionKind::Cancel]);
}

/// A task's work does not merge with the others'.
pub(super) fn ask_task_conflict(draft: &mut Draft, index: usize, task: &str) {
    let Some(state) = draft.run.task(task) else { return };
    let branch = &draft.run.opened().branch;
    let reason = format!(
        "task `{task}` conflicts with what is merged; let an agent resolve it, or merge its branch into `{branch}` \
         yourself and retry. Files"
    );
    let mut allowed = vec![DecisionKind::Retry, DecisionKind::Cancel];
    if state.marked.is_some() && state.resolves < delegate::RESOLVES {
        allowed.insert(0, DecisionKind::Resolve);
    }
    let mut hold = new(draft, HoldKind::Conflict, Some(index), with_paths(&reason, &state.conflicts), allowed);
    hold.task = Some(task.to_owned());
    draft.place(hold);
}

fn with_paths(reason: &str, paths: &[String]) -> String {
    let shown = paths.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    let more = paths.len().saturating_sub(5);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    if paths.is_empty() { reason.to_owned() } else { format!("{reason}: {shown}{tail}") }
}

/// The remote did not take a push, or the forge no pull request.
pub(super) fn ask_credentials(draft: &mut Draft, summary: String) {
    place(draft, HoldKind::Credentials, None, summary, vec![DecisionKind::Retry, DecisionKind::Cancel]);
}

/// Nothing more can be done without a person.
pub(super) fn ask_stuck(draft: &mut Draft, index: Option<usize>, summary: &str) {
    let mut allowed = vec![DecisionKind::Retry];
    if let Some(index) = index {
        let stage = draft.run.stage(index).name.clone();
        if reviewed(draft, index) {
            allowed.extend(may_revise(draft, index).then_some(DecisionKind::Reject));
        } else if draft.run.artifacts.iter().any(|artifact| artifact.stage == stage) {
            allowed.push(DecisionKind::AcceptAnyway);
        }
        let makes_code = draft.run.stage(index).work.artifact().is_some_and(ArtifactKind::is_code);
        if makes_code && draft.run.opened().parent.is_none() && !delegate::is_stage(draft, index) {
            allowed.push(DecisionKind::TakeOver);
        }
    }
    allowed.push(DecisionKind::Cancel);
    place(draft, HoldKind::Stuck, index, summary.to_owned(), allowed);
}

/// A goal does not get on by itself: a person says whether and how it goes on.
pub(super) fn ask_goal(draft: &mut Draft, index: usize, summary: &str) {
    use DecisionKind::{AcceptAnyway, Approve, Ask, Cancel, ModifyPlan, Reject, Retry, Suggest, TakeOver};
    let mut allowed = vec![Approve, Reject, Suggest, ModifyPlan];
    if draft.run.stages[index].asks < ASKS {
        allowed.push(Ask);
    }
    allowed.push(Retry);
    let stage = &draft.run.stage(index).name;
    if draft.run.artifacts.iter().any(|artifact| artifact.stage == *stage) {
        allowed.push(AcceptAnyway);
    }
    if draft.run.opened().parent.is_none() {
        allowed.push(TakeOver);
    }
    allowed.push(Cancel);
    let mut hold = new(draft, HoldKind::Stuck, Some(index), summary.to_owned(), allowed);
    hold.asked = draft.run.asked.clone();
    draft.place(hold);
}

/// A person paused the run, or works on it themselves.
pub(super) fn ask_paused(draft: &mut Draft, index: usize) {
    let run = &draft.run;
    let role = &run.stage(index).role;
    let summary = match (&run.taken_over, &run.pausing) {
        _ if run.attached.is_some() => {
            let name = run.attached.as_ref().map(|attached| attached.by.name.as_str()).unwrap_or_default();
            format!("{name} has taken over the session of the {role}; it goes on when it is handed back")
        }
        (Some(_), _) => {
            format!("you have it: work on `{}` in your repository, commit, then resume", run.opened().branch)
        }
        (None, Some(pausing)) => {
            let why = pausing.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("{} paused it{why}", pausing.by.name)
        }
        (None, None) => "it is paused".to_owned(),
    };
    place(draft, HoldKind::Paused, Some(index), summary, vec![DecisionKind::Resume, DecisionKind::Cancel]);
}

/// Whether a person reviews what comes out of the stage. What they did not see pass is not waved through before that:
/// the reviewer looks once more, the worker is sent back, or the merge is forced by name.
fn reviewed(draft: &Draft, index: usize) -> bool {
    draft.run.stage(index).gate == StageGate::Review
}

fn may_revise(draft: &Draft, index: usize) -> bool {
    draft.run.stages[index].revisions < draft.run.stage(index).revisions
}

fn place(draft: &mut Draft, kind: HoldKind, index: Option<usize>, summary: String, allowed: Vec<DecisionKind>) {
    let hold = new(draft, kind, index, summary, allowed);
    draft.place(hold);
}

/// Makes every hold's digest its own, even when two holds show the same text.
fn stamp(draft: &Draft) -> String {
    let run: &Run = &draft.run;
    format!("{}#{}", run.id, run.version + 1)
}
