//! Tasks, conversations, assumptions, reflections and steps of a run, as single views show them.

use domain::{Asked, Checkpoint, Group, Risk, Run, Taint, TaskState};
use wire::{
    AskedView, AssumptionView, CheckpointView, GroupView, OverlapView, ReflectionView, RiskView, RunView, SaidView,
    StrangersView, TaskView,
};

/// Fills in what lists leave out.
pub(super) fn add(view: &mut RunView, run: &Run) {
    view.groups = run.plan.as_ref().map(|plan| plan.groups()).unwrap_or_default();
    view.tasks = run.tasks.iter().map(|state| task(state, &view.groups)).collect();
    let overlap = |overlap: &domain::Overlap| OverlapView {
        first: overlap.first.clone(),
        second: overlap.second.clone(),
        files: overlap.files.clone(),
    };
    view.overlaps = run.overlaps.iter().map(overlap).collect();
    let assumption = |known: &domain::Assumption| AssumptionView {
        number: known.number,
        stage: known.stage.clone(),
        question: known.question.question.clone(),
        answer: known.answer.clone(),
        overturned: known.overturned,
    };
    view.assumptions = run.assumptions.iter().map(assumption).collect();
    let said = |said: &domain::Said| SaidView { by: said.by.clone(), text: said.text.clone() };
    view.conversation = run.conversation.iter().map(said).collect();
    let reflection = |said: &domain::Reflection| ReflectionView {
        goal_achieved: said.goal_achieved,
        progress: said.progress,
        content: said.content.clone(),
        next_action: said.next_action.clone(),
        requires_user_intervention: said.requires_user_intervention,
        issues: said.issues.clone(),
    };
    view.reflections = run.reflections.iter().map(reflection).collect();
    view.pull_request.clone_from(&run.pull_request);
    view.attached = run.attached.as_ref().map(|attached| wire::AttachedView {
        by: attached.by.name.clone(),
        since: attached.since.to_string(),
        active: run.sitting().is_some(),
    });
}

pub(super) fn strangers(run: &Run, taint: &Taint) -> StrangersView {
    StrangersView {
        kind: taint.source.kind.word().to_owned(),
        source: taint.source.source.clone(),
        words: taint.source.words(),
        since: taint.since,
        stage: taint.stage.clone(),
        trusted: run.opened().config.trusts(&taint.source),
    }
}

fn task(state: &TaskState, groups: &[Vec<String>]) -> TaskView {
    let group = groups.iter().zip(1..).find_map(|(group, number)| group.contains(&state.task.id).then_some(number));
    TaskView {
        id: state.task.id.clone(),
        title: state.task.title.clone(),
        status: state.status.word().to_owned(),
        depends_on: state.task.depends_on.clone(),
        group,
        child: state.child.as_ref().map(ToString::to_string),
        attempt: state.attempt,
        cost: state.cost.usd(),
        problem: state.problem.clone(),
        strayed: state.strayed.clone(),
        conflicts: state.conflicts.clone(),
    }
}

pub(super) fn group(group: &Group) -> GroupView {
    GroupView { id: group.id.clone(), index: group.index, of: group.of, variants: group.variants }
}

pub(super) fn asked(asked: &Asked) -> AskedView {
    AskedView { question: asked.question.clone(), answer: asked.answer.clone() }
}

pub(super) fn risk(risk: &Risk) -> RiskView {
    RiskView { kind: risk.kind.word().to_owned(), summary: risk.summary.clone(), paths: risk.paths.clone() }
}

/// A step on a run's way.
pub(crate) fn checkpoint(known: &Checkpoint) -> CheckpointView {
    CheckpointView {
        step: known.step.word().to_owned(),
        at: known.at,
        task: known.task.clone(),
        detail: known.detail.clone(),
    }
}
