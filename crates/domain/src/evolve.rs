//! `evolve`: what has changed. The only place where a run's state is written.

use std::sync::Arc;

use crate::run::{Decided, Opened};
use crate::{
    Actor, Answer, Decision, Effect, Ending, Event, FinishStep, Hold, HoldId, Note, NoteKind, Phase, Question,
    Recorded, Review, Run, RunId, StageState, Step, Work,
};

/// Folds a whole log.
pub fn replay(id: RunId, log: impl IntoIterator<Item = Recorded>) -> Run {
    log.into_iter().fold(Run::unopened(id), |run, recorded| evolve(run, &recorded))
}

/// Folds one event.
#[must_use]
pub fn evolve(mut run: Run, recorded: &Recorded) -> Run {
    advance(&mut run, recorded);
    run
}

/// Folds one event in place.
pub(crate) fn advance(run: &mut Run, recorded: &Recorded) {
    run.version = recorded.sequence;
    run.updated_at = recorded.at;
    apply(run, recorded);
}

fn apply(run: &mut Run, recorded: &Recorded) {
    match &recorded.event {
        Event::RunStarted { .. } => open(run, recorded),
        Event::BranchCreated { base } => {
            run.base = Some(base.clone());
            run.head = Some(base.clone());
        }
        Event::StageStarted { stage, visit } => start_stage(run, stage, *visit, recorded),
        Event::StageCompleted { stage } => {
            if let Some(state) = stage_state(run, stage) {
                state.completed_at = Some(recorded.at);
                state.wip = None;
            }
        }
        Event::EffectRequested { number, effect } => {
            run.requested_at.insert(*number, recorded.at);
            request(run, *number, effect);
        }
        Event::EffectFinished { number, tier, wip, problem, .. } => {
            let effect = run.open_effects.remove(number);
            run.requested_at.remove(number);
            run.tier = tier.clone().or_else(|| run.tier.take());
            if wip.is_some()
                && let Some(index) = run.current_stage()
            {
                run.stages[index].wip.clone_from(wip);
            }
            // The stop of an earlier agent may end late; what a retry asks for again is not its business.
            if !matches!(effect, Some(Effect::StopAgent { .. })) {
                run.failed_effect = if problem.is_some() { effect } else { None };
            }
        }
        Event::ArtifactCreated { artifact, decisions } => {
            run.head = Some(artifact.commit.clone());
            run.artifacts.push(artifact.clone());
            run.decisions.extend(decisions.iter().cloned());
        }
        Event::HoldPlaced { hold } => place(run, hold, &[]),
        Event::ApprovalRequested { hold, pending } => place(run, hold, pending),
        Event::ClarificationRequested { hold, pending } => {
            run.questions_asked += 1;
            place(run, hold, pending);
        }
        Event::ApprovalGranted { hold, by, notes, .. } => {
            decided(run, *hold, by, &Decision::Approve { notes: notes.clone() }, recorded);
        }
        Event::ApprovalRejected { hold, by, decision, .. }
        | Event::ClarificationAnswered { hold, by, decision, .. }
        | Event::DecisionMade { hold, by, decision, .. } => decided(run, *hold, by, decision, recorded),
        Event::AutoAdvanced { .. } | Event::ImplementationSucceeded { .. } | Event::ImplementationFailed { .. } => {}
        Event::AgentCrashed { stage, count, .. } => {
            if let Some(state) = stage_state(run, stage) {
                state.crashes = *count;
            }
        }
        Event::ProofRecorded { proof } => run.proof = Some(proof.clone()),
        Event::ValidationPassed { commit, review } => {
            run.validated = Some(commit.clone());
            run.review = Some(review.clone());
        }
        Event::ValidationFailed { review, .. } => fail_validation(run, review),
        Event::SpendRecorded { effect, call, input_tokens, output_tokens, cost, .. } => {
            run.spend.calls += 1;
            run.spend.input_tokens += input_tokens;
            run.spend.output_tokens += output_tokens;
            match cost {
                Some(cost) => run.spend.cost = run.spend.cost.plus(*cost),
                None => run.spend.unpriced_calls += 1,
            }
            run.spend.counted.insert(*effect, *call);
        }
        Event::RecordWritten { commit } => run.head = Some(commit.clone()),
        Event::BranchPublished { .. } | Event::BranchPushed { .. } => {}
        Event::BranchMerged { commit, .. } => run.merged = Some(commit.clone()),
        Event::RunCompleted { .. } => end(run, Ending::Completed, recorded),
        Event::RunFailed { reason } => {
            run.failure = Some(reason.clone());
            end(run, Ending::Failed, recorded);
        }
        Event::RunCancelled { .. } => end(run, Ending::Cancelled, recorded),
    }
}

fn open(run: &mut Run, recorded: &Recorded) {
    let Event::RunStarted { project, request, playbook, config, branch, by } = &recorded.event else { return };
    run.stages = vec![StageState::default(); playbook.stages.len()];
    run.budget = config.budget;
    run.opened = Some(Arc::new(Opened {
        project: project.clone(),
        request: request.clone(),
        playbook: playbook.clone(),
        config: config.clone(),
        branch: branch.clone(),
        by: by.clone(),
        at: recorded.at,
    }));
}

fn stage_state<'run>(run: &'run mut Run, stage: &str) -> Option<&'run mut StageState> {
    let index = run.opened().playbook.index_of(stage)?;
    run.stages.get_mut(index)
}

fn start_stage(run: &mut Run, stage: &str, visit: u32, recorded: &Recorded) {
    if let Some(state) = stage_state(run, stage) {
        state.visits = visit;
        state.crashes = 0;
        state.wip = None;
        state.completed_at = None;
        state.started_at.get_or_insert(recorded.at);
    }
}

fn request(run: &mut Run, number: u32, effect: &Effect) {
    run.effects_requested = number;
    run.open_effects.insert(number, effect.clone());
    run.failed_effect = None;
    let stage_of = |run: &Run, name: &str| run.opened().playbook.index_of(name);
    let phase = match effect {
        Effect::OpenBranch => Some(Phase::Opening { effect: number }),
        Effect::RunAgent(task) => {
            run.sessions.insert(task.session.role.clone(), task.session.clone());
            stage_of(run, &task.stage).map(|stage| Phase::Working { stage, step: Step::Agent, effect: number })
        }
        Effect::Prove { stage, .. } => {
            stage_of(run, stage).map(|stage| Phase::Working { stage, step: Step::Prove, effect: number })
        }
        Effect::Publish { .. } => match run.current_stage() {
            Some(stage) => Some(Phase::Publishing { stage, effect: number }),
            None => Some(Phase::Finishing { step: FinishStep::Publish, effect: number }),
        },
        Effect::WriteRecord => Some(Phase::Finishing { step: FinishStep::Record, effect: number }),
        Effect::Land(_) => Some(Phase::Finishing { step: FinishStep::Land, effect: number }),
        Effect::PushRemote { .. } => Some(Phase::Finishing { step: FinishStep::Push, effect: number }),
        // After the end the workspace is cleaned without the run coming back to life.
        Effect::CleanUp if run.is_ended() => None,
        Effect::CleanUp => Some(Phase::Finishing { step: FinishStep::CleanUp, effect: number }),
        Effect::StopAgent { target } => {
            run.open_effects.remove(target);
            run.requested_at.remove(target);
            None
        }
    };
    if let Some(phase) = phase {
        run.phase = phase;
    }
}

fn place(run: &mut Run, hold: &Hold, pending: &[Question]) {
    run.pending_questions = pending.to_vec();
    run.phase = Phase::Holding { hold: Box::new(hold.clone()) };
}

fn decided(run: &mut Run, hold_id: HoldId, by: &Actor, decision: &Decision, recorded: &Recorded) {
    run.decided.push(Decided { hold: hold_id, by: by.clone(), kind: decision.kind(), at: recorded.at });
    let Some(hold) = run.hold().cloned() else { return };
    let Some(index) = run.current_stage() else { return };
    let stage = run.stage(index).name.clone();
    match decision {
        Decision::Approve { notes } => {
            if let Some(question) = hold.question {
                answer_all(run, &stage, question, notes.clone().map(|text| vec![text]), by, recorded);
            } else if let (Some(text), Some(next)) = (notes, run.opened().playbook.stages.get(index + 1)) {
                let next = next.name.clone();
                note(run, NoteKind::Approval, next, text, by);
            }
        }
        Decision::Reject { feedback } => {
            run.stages[index].revisions += 1;
            note(run, NoteKind::Feedback, stage, feedback, by);
        }
        Decision::Suggest { text } => {
            run.stages[index].revisions += 1;
            note(run, NoteKind::Guidance, stage, text, by);
        }
        Decision::Answer { answer } => {
            if let Some(question) = hold.question {
                push_answer(run, &stage, question, hold.attempt_number, Some(answer.clone()), by, recorded);
            }
        }
        Decision::Ignore => {
            if let Some(question) = hold.question {
                push_answer(run, &stage, question, hold.attempt_number, None, by, recorded);
            }
        }
        Decision::Retry { feedback } => retry(run, index, feedback.as_deref(), by),
        Decision::Raise { by: amount } => run.budget = run.budget.map(|budget| budget.plus(*amount)),
        Decision::AcceptAnyway { .. } | Decision::Extend { .. } | Decision::Cancel { .. } => {}
    }
}

fn retry(run: &mut Run, index: usize, feedback: Option<&str>, by: &Actor) {
    let target = match &run.stage(index).work {
        Work::Judge { on_fail, .. } if run.hold().is_some_and(|hold| hold.kind == crate::HoldKind::Fix) => {
            let on_fail = on_fail.clone();
            run.stages[index].rounds_granted += 1;
            on_fail
        }
        Work::Judge { .. } | Work::Produce { .. } => run.stage(index).name.clone(),
    };
    if let Some(text) = feedback {
        note(run, NoteKind::Guidance, target, text, by);
    }
}

fn note(run: &mut Run, kind: NoteKind, stage: String, text: &str, by: &Actor) {
    run.notes.push(Note { kind, stage, text: text.to_owned(), by: by.name.clone() });
}

/// One decision on an escalated hold answers the question shown and all that were to follow it.
fn answer_all(run: &mut Run, stage: &str, first: Question, text: Option<Vec<String>>, by: &Actor, recorded: &Recorded) {
    let pending = std::mem::take(&mut run.pending_questions);
    for question in std::iter::once(first).chain(pending) {
        push_answer(run, stage, question, 0, text.clone(), by, recorded);
    }
}

fn push_answer(
    run: &mut Run,
    stage: &str,
    question: Question,
    number: u32,
    answer: Option<Vec<String>>,
    by: &Actor,
    recorded: &Recorded,
) {
    let role = run.opened().playbook.index_of(stage).map(|index| run.stage(index).role.clone());
    let Some(session) = role.and_then(|role| run.sessions.get(&role).cloned()) else { return };
    run.answers.push(Answer {
        question,
        stage: stage.to_owned(),
        session,
        number,
        answer,
        by: by.name.clone(),
        at: recorded.at,
    });
}

fn fail_validation(run: &mut Run, review: &Review) {
    run.review = Some(review.clone());
    run.validated = None;
    let Some(index) = run.current_stage() else { return };
    run.stages[index].fails += 1;
    let Work::Judge { on_fail, .. } = &run.stage(index).work else { return };
    let on_fail = on_fail.clone();
    let mut text = review.summary.clone();
    for finding in &review.findings {
        text.push_str("\n- ");
        if let Some(place) = &finding.place {
            text.push_str(place);
            text.push_str(": ");
        }
        text.push_str(&finding.message);
    }
    run.notes.push(Note { kind: NoteKind::Validation, stage: on_fail, text, by: "validation".to_owned() });
}

fn end(run: &mut Run, ending: Ending, recorded: &Recorded) {
    run.open_effects.clear();
    run.requested_at.clear();
    run.ended_at = Some(recorded.at);
    run.phase = Phase::Ended { ending };
}
