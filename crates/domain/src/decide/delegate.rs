//! Delegation: one child run per task of the plan, as many at once as allowed, each begun when what it depends on is
//! merged. What they make is merged into the run's branch one at a time, the first in plan order first.

use super::{Draft, cancel, hold, stage, taint};
use crate::{
    Artifact, ArtifactKind, ChildMerge, ChildReport, ChildTask, ChildWord, Digest, Effect, Ending, Event, Hold, Mark,
    Micros, NoteKind, OnFailure, OnOverlap, Phase, Rejection, RunId, Shortage, Task, TaskState, TaskStatus, Work,
    strayed,
};

/// So often an agent may try to resolve a task's conflicts: once by itself, more when a person says so.
pub(super) const RESOLVES: u32 = 3;
const MAX_FILES: usize = 500;

pub(super) fn is_stage(draft: &Draft, index: usize) -> bool {
    matches!(draft.run.stage(index).work, Work::Delegate { .. })
}

pub(super) fn is_delegating(draft: &Draft) -> bool {
    matches!(draft.run.phase, Phase::Delegating { .. })
}

/// Begins the stage: with the plan's tasks, or, when it comes back, with one that mends what was found.
pub(super) fn begin(draft: &mut Draft, index: usize) {
    let open = draft.run.tasks.iter().any(|task| !task.status.is_settled());
    if !open && draft.run.stages[index].visits > 1 {
        let task = repair(draft, index);
        draft.record(Event::TaskAdded { task });
    }
    advance(draft);
}

fn repair(draft: &Draft, index: usize) -> Task {
    let stage = &draft.run.stage(index).name;
    let said = draft.run.notes.iter().rev().find(|note| note.stage == *stage);
    let (who, text) = said.map_or(("the run", ""), |note| match note.kind {
        NoteKind::Validation => ("the checks", note.text.as_str()),
        NoteKind::Approval | NoteKind::Feedback | NoteKind::Guidance | NoteKind::Correction => {
            (note.by.as_str(), note.text.as_str())
        }
    });
    let taken = |id: &String| draft.run.task(id).is_some();
    let id = (1..).map(|number: u32| format!("repair-{number}")).find(|id| !taken(id)).unwrap_or_default();
    Task {
        id,
        title: format!("Mend what {who} found"),
        description: format!("All tasks are merged. What {who} found afterwards has to be mended:\n\n{text}"),
        depends_on: Vec::new(),
        parent: None,
        files: Vec::new(),
        checks: Vec::new(),
    }
}

/// Does what can be done next: skips, merges, starts. Nothing while a person is waited for.
pub(super) fn advance(draft: &mut Draft) {
    let Phase::Delegating { stage: index } = draft.run.phase else { return };
    if draft.run.pausing.is_some() {
        pause_children(draft);
        return hold::ask_paused(draft, index);
    }
    if policy(draft, index) == OnFailure::Stop
        && let Some(failed) = draft.run.tasks.iter().find(|task| task.status == TaskStatus::Failed)
    {
        let problem = failed.problem.clone().unwrap_or_default();
        let reason = format!("task `{}` failed: {problem}", failed.task.id);
        return cancel::fail(draft, &reason);
    }
    skip_orphans(draft);
    merge_next(draft);
    if let Some(task) = conflicted(draft) {
        return settle_conflict(draft, index, &task);
    }
    start_next(draft, index);
    if draft.run.hold().is_none() && draft.run.tasks.iter().all(|task| task.status.is_settled()) {
        complete(draft, index);
    }
}

fn policy(draft: &Draft, index: usize) -> OnFailure {
    let Work::Delegate { on_failure, .. } = draft.run.stage(index).work else { return OnFailure::Stop };
    draft.run.opened().config.on_failure.unwrap_or(on_failure)
}

/// A task whose dependency is missing cannot be done; nor can those that depend on it.
fn skip_orphans(draft: &mut Draft) {
    loop {
        let missing = |id: &String| {
            draft.run.task(id).is_some_and(|task| matches!(task.status, TaskStatus::Failed | TaskStatus::Skipped))
        };
        let orphan = draft.run.tasks.iter().filter(|task| task.status == TaskStatus::Waiting).find_map(|task| {
            let because = task.task.depends_on.iter().find(|id| missing(id))?;
            Some((task.task.id.clone(), because.clone()))
        });
        let Some((task, because)) = orphan else { return };
        draft.record(Event::TaskSkipped { task, because });
    }
}

/// One merge at a time; of those that are ready, the first in plan order.
fn merge_next(draft: &mut Draft) {
    if draft.run.tasks.iter().any(|task| task.status == TaskStatus::Merging) {
        return;
    }
    let Some(ready) = draft.run.tasks.iter().find(|task| task.status == TaskStatus::Ready) else { return };
    let (Some(child), Some(commit), Some(onto)) = (&ready.child, &ready.commit, &draft.run.head) else { return };
    let merge = ChildMerge {
        task: ready.task.id.clone(),
        child: child.clone(),
        attempt: ready.attempt,
        commit: commit.clone(),
        onto: onto.clone(),
        resolved: ready.conflicts.clone(),
        look_first: ready.look_first,
    };
    draft.request(Effect::MergeChild(merge));
}

fn conflicted(draft: &Draft) -> Option<String> {
    let task = draft.run.tasks.iter().find(|task| task.status == TaskStatus::Conflicted)?;
    Some(task.task.id.clone())
}

/// The first conflict of a task is the agent's to resolve, and any that a person gave it; the rest are a person's.
fn settle_conflict(draft: &mut Draft, index: usize, id: &str) {
    let Some(task) = draft.run.task(id).cloned() else { return };
    let Some(at) = task.marked.clone().filter(|_| task.resolves == 0 || task.resolve_asked) else {
        return hold::ask_task_conflict(draft, index, id);
    };
    if room(draft, index) == 0 {
        return;
    }
    if let Some((reason, mark)) = short(draft) {
        return hold::ask_budget(draft, index, &reason, Shortage { mark, ..Shortage::default() });
    }
    let problem = Some(format!("your work and the others' conflict in {}", task.conflicts.join(", ")));
    start(draft, &task, at, task.conflicts.clone(), problem);
    advance(draft);
}

fn room(draft: &Draft, index: usize) -> usize {
    let Work::Delegate { agents, .. } = draft.run.stage(index).work else { return 0 };
    let most = draft.run.opened().config.max_concurrency.map_or(agents, |most| most.min(agents)).max(1);
    let busy = draft.run.tasks.iter().filter(|task| task.status.has_child()).count();
    usize::try_from(most).unwrap_or(usize::MAX).saturating_sub(busy)
}

fn start_next(draft: &mut Draft, index: usize) {
    while room(draft, index) > 0 && draft.run.hold().is_none() {
        let next = draft.run.tasks.iter().find(|task| startable(draft, index, task)).cloned();
        let Some(task) = next else { return };
        let at = draft.run.head.clone().expect("a stage starts only after the branch was created");
        if let Some((reason, mark)) = short(draft) {
            return hold::ask_budget(draft, index, &reason, Shortage { mark, ..Shortage::default() });
        }
        start(draft, &task, at, Vec::new(), task.problem.clone());
    }
}

fn startable(draft: &Draft, index: usize, task: &TaskState) -> bool {
    let merged = |id: &String| draft.run.task(id).is_some_and(|other| other.status == TaskStatus::Merged);
    task.status == TaskStatus::Waiting && task.task.depends_on.iter().all(merged) && !collides(draft, index, task)
}

/// Tasks that expect to touch the same files wait for each other, where the playbook says so.
fn collides(draft: &Draft, index: usize, task: &TaskState) -> bool {
    let Work::Delegate { overlap: OnOverlap::Serialise, .. } = draft.run.stage(index).work else { return false };
    let others = draft.run.overlaps.iter().filter_map(|overlap| {
        if overlap.first == task.task.id {
            Some(&overlap.second)
        } else {
            (overlap.second == task.task.id).then_some(&overlap.first)
        }
    });
    let mut others = others.filter_map(|id| draft.run.task(id));
    others.any(|other| !other.status.is_settled() && other.status != TaskStatus::Waiting)
}

/// Why no child may begin now. Children themselves are not asked about: their limits are parts of this one.
fn short(draft: &Draft) -> Option<(String, Mark)> {
    if share(draft) == Some(Micros(0)) {
        return Some(("nothing is left for the next task".to_owned(), Mark::Limit));
    }
    let mark = draft.run.ask_after().filter(|left| *left == Micros(0));
    mark.map(|_| ("the next task would go beyond".to_owned(), Mark::Ask))
}

/// What a child may spend: an equal part of what is left for the tasks that have not begun.
fn share(draft: &Draft) -> Option<Micros> {
    let waiting = draft.run.tasks.iter().filter(|task| task.status == TaskStatus::Waiting).count().max(1);
    let parts = u64::try_from(waiting).unwrap_or(u64::MAX);
    draft.run.envelope().map(|left| Micros(left.0 / parts))
}

fn start(draft: &mut Draft, task: &TaskState, at: crate::CommitId, resolve: Vec<String>, problem: Option<String>) {
    let budget = share(draft);
    let child = ChildTask { task: task.task.id.clone(), attempt: task.attempt + 1, at, budget, resolve, problem };
    draft.request(Effect::StartChild(child));
}

/// A child run has begun.
pub(super) fn started(draft: &mut Draft, child: &ChildTask, id: RunId) {
    if is_starting(draft, child) {
        let ChildTask { task, attempt, .. } = child.clone();
        draft.record(Event::ChildStarted { task, attempt, child: id });
    }
}

/// Whether it is this child that is awaited: the plan may be another by now.
fn is_starting(draft: &Draft, child: &ChildTask) -> bool {
    let awaited = |task: &TaskState| task.status == TaskStatus::Starting && task.attempt == child.attempt;
    draft.run.task(&child.task).is_some_and(awaited)
}

/// A child run could not be begun.
pub(super) fn not_started(draft: &mut Draft, child: &ChildTask, problem: &str) {
    if !is_starting(draft, child) {
        return;
    }
    let problem = format!("its run could not be begun: {problem}");
    draft.record(Event::TaskFailed { task: child.task.clone(), problem });
    advance(draft);
}

/// A child run is over. Its word may come before that of its start, when the server died in between.
pub(super) fn ended(draft: &mut Draft, report: ChildReport) -> Result<(), Rejection> {
    if draft.run.is_ended() {
        return Err(Rejection::AlreadyEnded);
    }
    let state = draft.run.task(&report.task).cloned().ok_or(Rejection::ChildNotOpen)?;
    let early = state.status == TaskStatus::Starting && is_child(draft, &state, &report.child);
    let open = state.status == TaskStatus::Working && state.child.as_ref() == Some(&report.child);
    if !early && !open {
        return Err(Rejection::ChildNotOpen);
    }
    if early {
        let (task, child) = (report.task.clone(), report.child.clone());
        draft.record(Event::ChildStarted { task, attempt: state.attempt, child });
    }
    let ChildReport { task, child, ending, commit, files, cost, problem, taints } = report;
    taint::from_child(draft, &child, taints);
    let outside = strayed(&state.task.files, &files);
    let (ending, problem) = match (ending, &commit) {
        (Ending::Completed, None) => (Ending::Failed, Some("it made nothing".to_owned())),
        (ending, _) => (ending, problem),
    };
    let (id, why) = (task.clone(), problem.clone());
    draft.record(Event::ChildEnded { task, child, ending, commit, files, cost, problem });
    if !outside.is_empty() {
        let files = outside.into_iter().take(MAX_FILES).collect();
        draft.record(Event::TaskStrayed { task: id.clone(), files });
    }
    match ending {
        Ending::Completed => {}
        Ending::Failed => failed(draft, &state, &id, why),
        Ending::Cancelled => {
            draft.record(Event::TaskFailed { task: id, problem: "its run was cancelled".to_owned() });
        }
    }
    advance(draft);
    Ok(())
}

fn is_child(draft: &Draft, task: &TaskState, child: &RunId) -> bool {
    // As many salts as the one who starts children tries.
    (0..RunId::SALTS).any(|salt| RunId::child_of(&draft.run.id, &task.task.id, task.attempt, salt) == *child)
}

/// A task whose agent could not resolve a conflict goes to a person; any other is tried again or given up.
fn failed(draft: &mut Draft, state: &TaskState, task: &str, problem: Option<String>) {
    let problem = problem.unwrap_or_else(|| "its run failed".to_owned());
    let task = task.to_owned();
    if state.marked.is_some() {
        let paths = state.conflicts.clone();
        return draft.record(Event::ChildConflicted { task, paths, marked: state.marked.clone() });
    }
    let stage = draft.run.opened().playbook.stages.iter().position(|stage| matches!(stage.work, Work::Delegate { .. }));
    let again = stage.is_some_and(|index| policy(draft, index) == OnFailure::Retry) && state.retries == 0;
    if again {
        draft.record(Event::TaskRetried { task, problem });
    } else {
        draft.record(Event::TaskFailed { task, problem });
    }
}

/// A child's work is on the branch.
pub(super) fn merged(draft: &mut Draft, task: &str, commit: crate::CommitId, digest: Digest, files: Vec<String>) {
    draft.record(Event::ChildMerged { task: task.to_owned(), commit, digest, files });
    advance(draft);
}

/// A child's work does not merge.
pub(super) fn conflicts(draft: &mut Draft, task: &str, paths: Vec<String>, marked: Option<crate::CommitId>) {
    let earlier = draft.run.task(task).and_then(|state| state.marked.clone());
    draft.record(Event::ChildConflicted { task: task.to_owned(), paths, marked: marked.or(earlier) });
    advance(draft);
}

/// A person said: try again.
pub(super) fn retry(draft: &mut Draft, hold: &Hold) {
    if hold.task.is_none() {
        let failed =
            draft.run.tasks.iter().filter(|task| matches!(task.status, TaskStatus::Failed | TaskStatus::Skipped));
        let failed: Vec<(String, String)> =
            failed.map(|task| (task.task.id.clone(), task.problem.clone().unwrap_or_default())).collect();
        for (task, problem) in failed {
            draft.record(Event::TaskRetried { task, problem });
        }
    }
    advance(draft);
}

/// All tasks are settled: what is merged is what the stage made.
fn complete(draft: &mut Draft, index: usize) {
    let of = |status: TaskStatus| draft.run.tasks.iter().filter(|task| task.status == status).count();
    let (merged, failed, skipped) = (of(TaskStatus::Merged), of(TaskStatus::Failed), of(TaskStatus::Skipped));
    if merged == 0 {
        let last = draft.run.tasks.iter().rev().find_map(|task| task.problem.clone()).unwrap_or_default();
        let summary = format!("no task could be done ({failed} failed, {skipped} left out); last: {last}");
        return hold::ask_stuck(draft, Some(index), &summary);
    }
    let mut title = format!("{merged} {} merged", if merged == 1 { "task" } else { "tasks" });
    if failed + skipped > 0 {
        title = format!("{title}, {failed} failed, {skipped} left out");
    }
    let stage = draft.run.stage(index).name.clone();
    let commit = draft.run.head.clone().expect("a stage starts only after the branch was created");
    let version = draft.run.artifacts.iter().filter(|artifact| artifact.stage == stage).count() + 1;
    let artifact = Artifact {
        kind: ArtifactKind::Code,
        stage,
        version: u32::try_from(version).unwrap_or(u32::MAX),
        path: None,
        digest: Digest::of([commit.as_str()]),
        commit,
        title,
        files: draft.run.merged_files.iter().take(MAX_FILES).cloned().collect(),
        risks: Vec::new(),
        created_at: draft.now,
    };
    draft.record(Event::ArtifactCreated { artifact, decisions: Vec::new() });
    stage::gate(draft, index);
}

/// Tells every child at work to end; it may be one whose start is not known yet.
pub(super) fn end_children(draft: &mut Draft) {
    tell_children(draft, ChildWord::Cancel);
}

pub(super) fn pause_children(draft: &mut Draft) {
    tell_children(draft, ChildWord::Pause);
}

pub(super) fn resume_children(draft: &mut Draft) {
    tell_children(draft, ChildWord::Resume);
}

fn tell_children(draft: &mut Draft, word: ChildWord) {
    let working = draft.run.tasks.iter().filter(|task| task.status.has_child());
    let working: Vec<(String, u32)> = working.map(|task| (task.task.id.clone(), task.attempt)).collect();
    for (task, attempt) in working {
        draft.request(Effect::TellChild { task, attempt, word });
    }
}
