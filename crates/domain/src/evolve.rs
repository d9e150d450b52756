//! `evolve`: what has changed. The only place where a run's state is written.

mod fork;
mod goal;

use std::sync::Arc;

use crate::run::{Assumption, Attached, Decided, Opened, Pausing, Said};
use crate::{
    Actor, Answer, AtDeadline, Decision, Effect, Ending, Event, FinishStep, Hold, HoldId, HoldKind, Look, Micros, Note,
    NoteKind, Phase, ProgramIdentity, Purse, Question, Recorded, Review, Run, RunId, SENT_BACK_FOR_SECRETS, Session,
    StageState, Step, Taint, TaintSource, TaskState, TaskStatus, Work,
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
        Event::RunForked { by, changes, .. } => fork::leave(run, by, changes, recorded.at),
        Event::ForkOpened { carried } => fork::arrive(run, *carried),
        Event::BranchCreated { base } => {
            run.base = Some(base.clone());
            run.head = Some(base.clone());
        }
        Event::StageStarted { stage, visit } => start_stage(run, stage, *visit, recorded),
        Event::StageCompleted { stage } => complete_stage(run, stage, recorded),
        Event::EffectRequested { number, effect } => {
            run.requested_at.insert(*number, recorded.at);
            if let Effect::StopAgent { target } = effect {
                let stopped = run.open_effects.get(target).cloned();
                goal::left(run, stopped.as_ref(), recorded.at);
            }
            request(run, *number, effect);
        }
        Event::EffectFinished { number, tier, program, wip, problem, .. } => {
            let effect = run.open_effects.remove(number);
            if let (Some(Effect::RunAgent(task)), Some(program)) = (&effect, program) {
                run.programs.insert(task.session.role.clone(), ProgramIdentity::clone(program));
            }
            run.requested_at.remove(number);
            run.tier = tier.clone().or_else(|| run.tier.take());
            // Where an agent is wanted already for a conversation of its own, it may be for another stage, and leaves a
            // tree of its own. One that goes on in the conversation of the stopped one goes on with its tree.
            let stopped = matches!(effect, Some(Effect::StopAgent { .. }));
            let afresh = |open: &Effect| matches!(open, Effect::RunAgent(task) if task.session.attempt == 1);
            let another = run.open_effects.values().any(afresh);
            if wip.is_some()
                && !(stopped && another)
                && let Some(index) = run.current_stage()
            {
                run.stages[index].wip.clone_from(wip);
            }
            goal::left(run, effect.as_ref(), recorded.at);
            finish_effect(run, effect, problem.as_deref());
        }
        Event::ArtifactCreated { artifact, decisions } => {
            run.head = Some(artifact.commit.clone());
            run.artifacts.push(artifact.clone());
            run.decisions.extend(decisions.iter().cloned());
            run.asked.clear();
            run.taken_over = None;
            if artifact.kind.is_code() {
                weigh(run);
                take_back(run, &artifact.stage);
            }
        }
        Event::HoldPlaced { hold } => {
            goal::held(run, hold);
            place(run, hold, &[]);
        }
        Event::ApprovalRequested { hold, pending } => place(run, hold, pending),
        Event::ClarificationRequested { hold, pending } => {
            run.questions_asked += 1;
            place(run, hold, pending);
        }
        Event::ApprovalGranted { hold, by, notes, secret, .. } => {
            if *secret {
                keep_secret(run, notes.as_slice());
                // The one word answers them all.
                run.pending_questions.iter_mut().for_each(|question| question.secret = true);
            }
            let shown = run.hold().and_then(|hold| hold.artifact.as_ref()).filter(|artifact| artifact.kind.is_code());
            if let Some(commit) = shown.map(|artifact| artifact.commit.clone()) {
                let memory = run.hold().and_then(|hold| hold.memory.clone());
                run.looked = Some(Look { code: Some(commit.clone()), memory });
                run.approved_code = Some(commit);
            }
            decided(run, *hold, by, &Decision::Approve { notes: notes.clone() }, recorded);
        }
        Event::ClarificationAnswered { hold, by, decision, secret, .. } => {
            if let (Decision::Answer { answer }, true) = (decision, *secret) {
                keep_secret(run, answer);
            }
            decided(run, *hold, by, decision, recorded);
        }
        Event::ApprovalRejected { hold, by, decision, .. } | Event::DecisionMade { hold, by, decision, .. } => {
            decided(run, *hold, by, decision, recorded)
        }
        Event::AutoAdvanced { .. } | Event::ImplementationSucceeded { .. } | Event::ImplementationFailed { .. } => {}
        Event::AgentCrashed { stage, count, .. } => {
            if let Some(state) = stage_state(run, stage) {
                state.crashes = *count;
            }
        }
        Event::ProofRecorded { proof } => {
            run.proof = Some(proof.clone());
            let proving = run.current_stage().filter(|index| matches!(run.stage(*index).work, Work::Prove { .. }));
            if let Some(index) = proving {
                run.stages[index].passed_for = proof.passed().then(|| proof.commit.clone());
                weigh(run);
            }
        }
        Event::ValidationPassed { commit, review } => {
            run.review = Some(review.clone());
            if let Some(index) = run.current_stage() {
                run.stages[index].passed_for = Some(commit.clone());
            }
            weigh(run);
        }
        Event::DeadlinePassed { then, .. } => deadline(run, *then),
        Event::AssumptionMade { number, stage, question, answer } => {
            let person = Actor { name: "nobody (assumed)".to_owned(), channel: "clock".to_owned() };
            push_answer(run, stage, question.clone(), 0, Some(answer.clone()), &person, recorded);
            run.assumptions.push(Assumption {
                number: *number,
                stage: stage.clone(),
                question: question.clone(),
                answer: answer.clone(),
                overturned: false,
            });
        }
        Event::GuidanceGiven { stage, text, by } => note(run, NoteKind::Guidance, stage.clone(), text, by),
        Event::AssumptionOverturned { number, answer, by, secret } => {
            if *secret {
                run.secret_answers.extend(answer.iter().cloned());
            }
            overturn(run, *number, answer, by);
        }
        Event::PauseAsked { by, reason } => run.pausing = Some(Pausing { by: by.clone(), reason: reason.clone() }),
        Event::SessionTaken { stage, by } => {
            run.attached = Some(Attached { by: by.clone(), since: recorded.at });
            // Who goes on after a person had it begins with a clean slate.
            if let Some(state) = stage_state(run, stage) {
                state.crashes = 0;
            }
        }
        Event::ConversationAdvanced { stage, round, message, .. } => {
            run.conversation.push(Said { by: "agent".to_owned(), text: message.clone() });
            if let Some(state) = stage_state(run, stage) {
                state.turns = *round;
            }
        }
        Event::AgentAnswered { stage, question, answer } => {
            run.asked.push(crate::Asked { question: question.clone(), answer: answer.clone() });
            if let Some(state) = stage_state(run, stage) {
                state.asks += 1;
            }
        }
        Event::TasksPlanned { plan, overlaps } => {
            run.overlaps.clone_from(overlaps);
            // Child runs of an earlier plan keep their names; new ones are numbered on.
            let used = run.tasks.iter().map(|task| task.attempt).max().unwrap_or(0);
            let fresh = |task| TaskState { attempt: used, ..TaskState::new(task) };
            run.tasks = plan.leaves().into_iter().map(fresh).collect();
            run.plan = Some(Arc::new(plan.clone()));
            run.stages.iter_mut().for_each(|state| state.pulses = 0);
        }
        Event::TaskAdded { task } => {
            // An earlier plan may have had a task of that name: its child runs keep theirs.
            let used = run.tasks.iter().map(|task| task.attempt).max().unwrap_or(0);
            run.tasks.push(TaskState { attempt: used, ..TaskState::new(task.clone()) });
        }
        Event::ChildStarted { task, attempt, child } => with_task(run, task, |state| {
            state.status = TaskStatus::Working;
            state.attempt = *attempt;
            state.child = Some(child.clone());
        }),
        Event::ChildEnded { task, ending, commit, cost, problem, .. } => {
            run.spend.children = run.spend.children.plus(*cost);
            with_task(run, task, |state| {
                state.cost = state.cost.plus(*cost);
                state.budget = None;
                // A child that could not resolve a conflict leaves what was to be merged.
                if commit.is_some() || state.marked.is_none() {
                    state.commit.clone_from(commit);
                }
                state.problem.clone_from(problem);
                state.status = match ending {
                    Ending::Completed => TaskStatus::Ready,
                    Ending::Failed | Ending::Cancelled => TaskStatus::Failed,
                };
            });
        }
        Event::ChildMerged { task, commit, files, .. } => {
            run.head = Some(commit.clone());
            run.merged_files.extend(files.iter().cloned());
            with_task(run, task, |state| {
                state.status = TaskStatus::Merged;
                state.conflicts.clear();
                state.marked = None;
                state.problem = None;
            });
        }
        Event::ChildConflicted { task, paths, marked } => with_task(run, task, |state| {
            state.status = TaskStatus::Conflicted;
            state.conflicts.clone_from(paths);
            state.marked.clone_from(marked);
        }),
        Event::TaskRetried { task, problem } => with_task(run, task, |state| {
            state.status = TaskStatus::Waiting;
            state.retries += 1;
            state.problem = Some(problem.clone());
            state.conflicts.clear();
            (state.marked, state.look_first) = (None, false);
        }),
        Event::TaskFailed { task, problem } => with_task(run, task, |state| {
            state.status = TaskStatus::Failed;
            state.problem = Some(problem.clone());
        }),
        Event::TaskSkipped { task, because } => with_task(run, task, |state| {
            state.status = TaskStatus::Skipped;
            state.problem = Some(format!("it needs `{because}`"));
        }),
        Event::TaskStrayed { task, files } => with_task(run, task, |state| state.strayed.clone_from(files)),
        Event::PulseCompleted { stage, pulse, .. } => {
            if let Some(state) = stage_state(run, stage) {
                state.pulses = *pulse;
                state.begun = false;
                state.wip = None;
            }
        }
        Event::ReflectionRecorded { stage, iteration, reflection, tree } => {
            goal::reflect(run, reflection, tree.as_ref());
            if let Some(state) = stage_state(run, stage) {
                state.iterations = *iteration;
                state.begun = false;
            }
        }
        Event::GoalPhaseEntered { phase, effect, step, .. } => {
            goal::count(run, *effect, *step);
            goal::enter(run, *phase, recorded.at);
        }
        Event::GoalTasksPlanned { tasks, effect, step, .. } => {
            goal::count(run, *effect, *step);
            goal::plan(run, tasks);
        }
        Event::GoalTaskUpdated { task, effect, step, .. } => {
            goal::count(run, *effect, *step);
            goal::update(run, task);
        }
        Event::PrOpened { url } => run.pull_request = Some(url.clone()),
        Event::ValidationFailed { review, .. } => fail_validation(run, review),
        Event::SpendRecorded { effect, call, input_tokens, output_tokens, cost, reported_by, .. } => {
            if reported_by.is_some() {
                run.spend.reported_calls += 1;
                run.spend.reported = run.spend.reported.plus(cost.unwrap_or_default());
            }
            run.spend.calls += 1;
            run.spend.input_tokens += input_tokens;
            run.spend.output_tokens += output_tokens;
            match cost {
                Some(cost) => run.spend.cost = run.spend.cost.plus(*cost),
                None => run.spend.unpriced_calls += 1,
            }
            run.spend.counted.insert(*effect, *call);
        }
        Event::MergeForced { commit, .. } => {
            run.forced = Some(commit.clone());
            let memory = Some(run.memory_heading());
            run.looked = Some(Look { code: Some(commit.clone()), memory });
            (run.merge_approved, run.wants_pr) = (true, false);
            (run.pausing, run.taken_over) = (None, None);
            weigh(run);
        }
        Event::RecordWritten { commit, .. } => run.head = Some(commit.clone()),
        Event::BranchPublished { .. } | Event::BranchPushed { .. } => {}
        Event::BaseMoved { base } => run.moved_base = Some(base.clone()),
        Event::BranchMerged { commit, .. } => run.merged = Some(commit.clone()),
        Event::RunCompleted { .. } => end(run, Ending::Completed, recorded),
        Event::RunFailed { reason } => {
            run.failure = Some(reason.clone());
            end(run, Ending::Failed, recorded);
        }
        Event::RunCancelled { .. } => end(run, Ending::Cancelled, recorded),
        Event::RunTainted { source, stage, .. } => taint(run, source.clone(), stage.clone(), recorded),
    }
}

/// What a person said yes to before was said without knowing of this.
fn taint(run: &mut Run, source: TaintSource, stage: Option<String>, recorded: &Recorded) {
    if !run.opened().config.trusts(&source) {
        run.looked = None;
    }
    run.taints.push(Taint { source, since: recorded.at, stage });
}

fn open(run: &mut Run, recorded: &Recorded) {
    let Event::RunStarted { project, request, playbook, config, branch, by, parent, forked_from } = &recorded.event
    else {
        return;
    };
    run.stages = vec![StageState::default(); playbook.stages.len()];
    run.budget = config.budget;
    if parent.is_some() {
        // Nobody asks a child on its way: it stops where a limit ends, and there it may be let beyond.
        run.waived.asked = [Purse::Run, Purse::Project, Purse::Day].into();
    }
    run.opened = Some(Arc::new(Opened {
        project: project.clone(),
        request: request.clone(),
        playbook: playbook.clone(),
        config: config.clone(),
        branch: branch.clone(),
        by: by.clone(),
        at: recorded.at,
        parent: parent.clone(),
        forked_from: forked_from.clone(),
    }));
    let brought = config.from.iter().map(|brought| brought.source.clone());
    run.taints = brought.map(|source| Taint { source, since: recorded.at, stage: None }).collect();
}

/// A stage that proves with nothing to prove has passed for what is there.
fn complete_stage(run: &mut Run, stage: &str, recorded: &Recorded) {
    let Some(index) = run.opened().playbook.index_of(stage) else { return };
    let nothing_to_prove = run.opened().config.checks.is_empty();
    if matches!(run.stage(index).work, Work::Prove { .. }) && nothing_to_prove {
        run.stages[index].passed_for = run.code().map(|artifact| artifact.commit.clone());
    }
    let state = &mut run.stages[index];
    state.completed_at = Some(recorded.at);
    state.wip = None;
    weigh(run);
}

/// Validated is the newest code, once every stage that judges or proves has passed for exactly it.
/// Who may hand out tasks and does the work instead has taken back those that nobody did.
fn take_back(run: &mut Run, stage: &str) {
    let index = run.opened().playbook.index_of(stage);
    if index.is_some_and(|index| run.stage(index).work.may_delegate()) {
        run.tasks.retain(|task| task.status.is_settled());
    }
}

fn weigh(run: &mut Run) {
    let code = run.code().map(|artifact| artifact.commit.clone());
    let playbook = &run.opened().playbook;
    let mut gates = playbook.stages.iter().zip(&run.stages).filter(|(stage, _)| stage.work.on_fail().is_some());
    let some = gates.clone().next().is_some();
    let all = gates.all(|(_, state)| state.passed_for.is_some() && state.passed_for == code);
    let forced = code.is_some() && run.forced == code;
    run.validated = if (some && all) || forced { code } else { None };
}

fn with_task(run: &mut Run, task: &str, change: impl FnOnce(&mut TaskState)) {
    if let Some(state) = run.tasks.iter_mut().find(|state| state.task.id == task) {
        change(state);
    }
}

fn finish_effect(run: &mut Run, effect: Option<Effect>, problem: Option<&str>) {
    match &effect {
        // The stop of an earlier agent may end late; what a retry asks for again is not its business. The same holds
        // for what is said to other runs.
        Some(
            Effect::StopAgent { .. }
            | Effect::TellChild { .. }
            | Effect::TellAgent { .. }
            | Effect::TellParent
            | Effect::StartChild(_),
        ) => {}
        Some(Effect::MergeChild(merge)) => {
            if problem.is_some() {
                with_task(run, &merge.task, |state| state.status = TaskStatus::Ready);
            }
        }
        Some(
            Effect::OpenBranch
            | Effect::OpenChildBranch
            | Effect::OpenFork { .. }
            | Effect::RunAgent(_)
            | Effect::Prove { .. }
            | Effect::CommitArtifact { .. }
            | Effect::Adopt { .. }
            | Effect::Publish { .. }
            | Effect::WriteRecord
            | Effect::Land(_)
            | Effect::PushRemote { .. }
            | Effect::OpenPullRequest { .. }
            | Effect::CleanUp,
        )
        | None => run.failed_effect = if problem.is_some() { effect } else { None },
    }
}

/// A deadline without a person: waiting on goes on without one; all else is moved on by what follows.
fn deadline(run: &mut Run, then: AtDeadline) {
    match then {
        AtDeadline::Wait => {
            if let Phase::Holding { hold } = &mut run.phase {
                hold.deadline = None;
            }
        }
        AtDeadline::Escalate | AtDeadline::Assume | AtDeadline::GoOn => {}
    }
}

fn overturn(run: &mut Run, number: u32, answer: &[String], by: &Actor) {
    let Some(assumption) = run.assumptions.iter_mut().find(|assumption| assumption.number == number) else { return };
    assumption.overturned = true;
    let (stage, question) = (assumption.stage.clone(), assumption.question.question.clone());
    let text = format!("an assumption was wrong. Asked was: {question}\nThe right answer is: {}", answer.join(", "));
    note(run, NoteKind::Correction, stage.clone(), &text, by);
    rewind(run, stage);
}

/// The run goes back to the earliest stage whose assumption was wrong; a stage it has still to come to is no way back.
fn rewind(run: &mut Run, stage: String) {
    let place = |run: &Run, name: &str| run.opened().playbook.index_of(name);
    let target = place(run, &stage);
    if run.current_stage().is_some_and(|current| target > Some(current)) {
        return;
    }
    let earlier = run.rewind.as_deref().and_then(|known| place(run, known));
    if earlier.is_none_or(|known| target < Some(known)) {
        run.rewind = Some(stage);
    }
    // What a person said about the finished work was about other work.
    (run.merge_approved, run.wants_pr) = (false, false);
}

fn stage_state<'run>(run: &'run mut Run, stage: &str) -> Option<&'run mut StageState> {
    let index = run.opened().playbook.index_of(stage)?;
    run.stages.get_mut(index)
}

fn start_stage(run: &mut Run, stage: &str, visit: u32, recorded: &Recorded) {
    let Some(index) = run.opened().playbook.index_of(stage) else { return };
    let state = &mut run.stages[index];
    state.visits = visit;
    state.crashes = 0;
    state.begun = false;
    state.completed_at = None;
    state.started_at.get_or_insert(recorded.at);
    let pursued = matches!(run.opened().playbook.stages[index].work, Work::Pursue { .. });
    if !pursued {
        // A goal goes on from where it stands; all else is made anew.
        run.stages[index].wip = None;
    }
    if let Work::Pursue { iterations } = run.opened().playbook.stages[index].work {
        // Sent back after its last iteration, it has one to do what it was sent back for.
        let state = &mut run.stages[index];
        state.iterations_granted = state.iterations_granted.max((state.iterations + 1).saturating_sub(iterations));
    }
    run.asked.clear();
    run.goal.waits = None;
    run.taken_over = None;
    if run.rewind.as_deref() == Some(stage) {
        run.rewind = None;
    }
    run.phase = match run.stage(index).work {
        Work::Delegate { .. } => Phase::Delegating { stage: index },
        Work::Converse { .. }
        | Work::Produce { .. }
        | Work::Judge { .. }
        | Work::Prove { .. }
        | Work::Pursue { .. } => Phase::Working { stage: index, step: Step::Begin, effect: 0 },
    };
}

fn request(run: &mut Run, number: u32, effect: &Effect) {
    run.effects_requested = number;
    run.open_effects.insert(number, effect.clone());
    run.failed_effect = None;
    let stage_of = |run: &Run, name: &str| run.opened().playbook.index_of(name);
    let phase = match effect {
        Effect::OpenBranch | Effect::OpenChildBranch | Effect::OpenFork { .. } => {
            Some(Phase::Opening { effect: number })
        }
        Effect::RunAgent(task) => {
            run.sessions.insert(task.session.role.clone(), task.session.clone());
            let answers = matches!(task.purpose, crate::Purpose::Answer { .. });
            if let Some(state) = stage_state(run, &task.stage) {
                state.begun |= !answers;
            }
            let sits = task.purpose == crate::Purpose::Sit;
            let stage = stage_of(run, &task.stage).filter(|_| !sits);
            stage.map(|stage| Phase::Working { stage, step: Step::Agent, effect: number })
        }
        Effect::CommitArtifact { stage, .. } | Effect::Adopt { stage } => {
            stage_of(run, stage).map(|stage| Phase::Working { stage, step: Step::TakeIn, effect: number })
        }
        Effect::StartChild(child) => {
            with_task(run, &child.task, |state| {
                state.status = TaskStatus::Starting;
                state.attempt = child.attempt;
                state.budget = child.budget;
                state.resolves += u32::from(!child.resolve.is_empty());
                state.resolve_asked = false;
            });
            None
        }
        Effect::MergeChild(merge) => {
            with_task(run, &merge.task, |state| state.status = TaskStatus::Merging);
            None
        }
        Effect::TellChild { .. } | Effect::TellAgent { .. } | Effect::TellParent => None,
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
        Effect::OpenPullRequest { .. } => Some(Phase::Finishing { step: FinishStep::PullRequest, effect: number }),
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
        // Somebody else is at work, or something else is done.
        run.attached = None;
    }
}

fn place(run: &mut Run, hold: &Hold, pending: &[Question]) {
    run.pending_questions = pending.to_vec();
    run.phase = Phase::Holding { hold: Box::new(hold.clone()) };
}

/// What was answered is for who asked alone.
fn keep_secret(run: &mut Run, answer: &[String]) {
    run.secret_answers.extend(answer.iter().cloned());
    if let Phase::Holding { hold } = &mut run.phase
        && let Some(question) = &mut hold.question
    {
        question.secret = true;
    }
}

fn decided(run: &mut Run, hold_id: HoldId, by: &Actor, decision: &Decision, recorded: &Recorded) {
    run.decided.push(Decided { hold: hold_id, by: by.clone(), kind: decision.kind(), at: recorded.at });
    let Some(hold) = run.hold().cloned() else { return };
    if hold.kind == HoldKind::Paused {
        run.pausing = None;
    }
    if hold.kind == HoldKind::Review {
        let yes = matches!(decision, Decision::Approve { .. });
        // Where it only would be pushed, yes means that.
        run.merge_approved = yes && (hold.stage.is_some() || run.merges());
        run.wants_pr = matches!(decision, Decision::CreatePr);
        if yes || run.wants_pr {
            let code = run.code().map(|artifact| artifact.commit.clone());
            run.looked = Some(Look { code, memory: hold.memory.clone() });
        }
    }
    let may_stay = matches!(decision, Decision::Approve { .. });
    run.allowed_secrets.extend(hold.findings.iter().filter(|_| may_stay).map(|finding| finding.fingerprint.clone()));
    let Some(index) = run.current_stage() else { return };
    let stage = run.stage(index).name.clone();
    if let (Decision::Retry { model: Some(model), .. }, role) = (decision, run.stage(index).role.clone()) {
        run.models.insert(role, model.clone());
    }
    let cancels = matches!(decision, Decision::Cancel { .. });
    goal::decided(run, index, &hold, decision);
    // A judge that is stuck passes on what a person says to who made the work.
    let judged = run.stage(index).work.on_fail().is_some();
    if hold.kind == HoldKind::Stuck && !judged && !matches!(decision, Decision::Retry { .. }) {
        goal::word(run, stage.clone(), decision, by);
    }
    if matches!(run.stage(index).work, Work::Delegate { .. }) && !cancels {
        // The tasks go on; what the decision means for them follows.
        run.phase = Phase::Delegating { stage: index };
    }
    if let (Some(task), Decision::Resolve) = (&hold.task, decision) {
        let task = task.clone();
        with_task(run, &task, |state| state.resolve_asked = true);
    }
    if let (Some(task), Decision::Retry { .. }) = (&hold.task, decision) {
        let task = task.clone();
        with_task(run, &task, |state| {
            state.status = TaskStatus::Ready;
            state.look_first = true;
        });
    }
    let pursues = matches!(run.stage(index).work, Work::Pursue { .. });
    match decision {
        Decision::Approve { .. } if hold.kind == HoldKind::Stuck => {}
        // Nothing new is said to the agent: what it handed in is taken as it is.
        Decision::Approve { .. } if !hold.findings.is_empty() => {}
        Decision::Reject { feedback } if !hold.findings.is_empty() => {
            let places: Vec<String> = hold.findings.iter().map(|finding| format!("- {}", finding.words())).collect();
            let places = places.join("\n");
            let text = format!(
                "{SENT_BACK_FOR_SECRETS}; your files are as you left them:\n{places}\nTake them out and hand in \
                 again. {feedback}"
            );
            note(run, NoteKind::Feedback, stage, &text, by);
        }
        Decision::Approve { notes } => {
            if let Some(question) = hold.question {
                answer_all(run, &stage, question, notes.clone().map(|text| vec![text]), by, recorded);
            } else if let Some(purse) = hold.purse {
                run.waived.asked.insert(purse);
            } else if hold.kind == HoldKind::Permission {
                let said = notes.clone().map(|notes| format!(" ({notes})")).unwrap_or_default();
                note(run, NoteKind::Guidance, stage, &format!("allowed: {}{said}", hold.summary), by);
            } else if let (Some(text), Some(next)) = (notes, run.next_stage(index)) {
                let next = run.stage(next).name.clone();
                note(run, NoteKind::Approval, next, text, by);
            }
        }
        Decision::Reject { feedback } if hold.kind == HoldKind::Permission => {
            note(run, NoteKind::Feedback, stage, &format!("not allowed: {} ({feedback})", hold.summary), by);
        }
        Decision::Suggest { text } if hold.kind == HoldKind::Permission => {
            note(run, NoteKind::Guidance, stage, &format!("instead of: {}: {text}", hold.summary), by);
        }
        Decision::Reject { .. } | Decision::Suggest { .. } if hold.kind == HoldKind::Stuck && !judged => {}
        Decision::Reject { feedback } => {
            run.stages[index].revisions += 1;
            let to = sent_back_to(run, index, &hold);
            note(run, NoteKind::Feedback, to, feedback, by);
        }
        Decision::Suggest { text } => {
            run.stages[index].revisions += 1;
            // Another look at failed work is a round that a person added.
            run.stages[index].rounds_granted += u32::from(hold.kind == HoldKind::Fix);
            let to = sent_back_to(run, index, &hold);
            note(run, NoteKind::Guidance, to, text, by);
        }
        Decision::Answer { answer } => {
            if matches!(run.stage(index).work, Work::Converse { .. }) {
                run.conversation.push(Said { by: by.name.clone(), text: answer.join("\n") });
            }
            if let Some(question) = hold.question {
                push_answer(run, &stage, question, hold.attempt_number, Some(answer.clone()), by, recorded);
            }
        }
        Decision::Ignore => {
            if let Some(question) = hold.question {
                push_answer(run, &stage, question, hold.attempt_number, None, by, recorded);
            }
        }
        Decision::Retry { feedback, .. } => retry(run, index, feedback.as_deref(), by),
        Decision::Raise { by: amount } => raise(run, hold.purse.unwrap_or_default(), *amount),
        Decision::TakeOver => run.taken_over = Some(stage),
        Decision::ApproveForRun => {
            note(run, NoteKind::Guidance, stage, &format!("allowed for the run: {}", hold.summary), by);
        }
        Decision::AcceptAnyway { .. } => run.taken_over = None,
        Decision::ModifyPlan { .. } if hold.kind == HoldKind::Approval && pursues => {
            run.stages[index].revisions += 1;
            goal::word(run, stage, decision, by);
        }
        Decision::ModifyPlan { .. }
        | Decision::Ask { .. }
        | Decision::Extend { .. }
        | Decision::Resolve
        | Decision::CreatePr
        | Decision::Resume
        | Decision::Cancel { .. } => {}
    }
}

/// A limit of the run's own is another one from now on; beyond one that it shares, only this run may spend more.
fn raise(run: &mut Run, purse: Purse, amount: Micros) {
    match purse {
        Purse::Run => {
            run.budget = run.budget.map(|budget| budget.plus(amount));
            if run.budget.is_some_and(|budget| run.cost() < budget.ask_mark()) {
                run.waived.asked.remove(&Purse::Run);
            } else {
                run.waived.asked.insert(Purse::Run);
            }
        }
        Purse::Project | Purse::Day => {
            run.waived.asked.insert(purse);
            let beyond = run.waived.beyond.entry(purse).or_default();
            *beyond = beyond.plus(amount);
        }
    }
}

/// The stage that gets what a person did not like: the one that made it, for work that was judged.
fn sent_back_to(run: &Run, index: usize, hold: &Hold) -> String {
    let stage = run.stage(index);
    match stage.work.on_fail() {
        Some(on_fail) if hold.question.is_none() && goes_back(hold.kind) => on_fail.to_owned(),
        Some(_) | None => stage.name.clone(),
    }
}

fn goes_back(kind: HoldKind) -> bool {
    matches!(kind, HoldKind::Approval | HoldKind::Review | HoldKind::Stuck)
}

fn retry(run: &mut Run, index: usize, feedback: Option<&str>, by: &Actor) {
    let fix = run.hold().is_some_and(|hold| hold.kind == HoldKind::Fix);
    let target = match run.stage(index).work.on_fail().map(str::to_owned) {
        Some(on_fail) if fix => {
            run.stages[index].rounds_granted += 1;
            on_fail
        }
        Some(_) | None => run.stage(index).name.clone(),
    };
    if let Work::Pursue { iterations } = run.stage(index).work {
        goal::grant(&mut run.stages[index], iterations);
    }
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
    let Some(role) = role else { return };
    // What was asked before there was an agent belongs to no conversation.
    let session = run.sessions.get(&role).cloned().unwrap_or(Session { role, visit: 0, attempt: 0 });
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
    run.stages[index].passed_for = None;
    let Some(on_fail) = run.stage(index).work.on_fail().map(str::to_owned) else { return };
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
    run.attached = None;
    run.phase = Phase::Ended { ending };
}
