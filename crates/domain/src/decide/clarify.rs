//! Questions of agents: one hold each, up to the run's limit, then a full approval.

use super::{Draft, hold, stage};
use crate::{Decision, DecisionKind, Event, Hold, HoldKind, Question, Rejection, ResponseType, TaskBrief, is_vague};

/// Puts the first question to a person and keeps the rest.
pub(super) fn ask(draft: &mut Draft, index: usize, mut questions: Vec<Question>) {
    if questions.is_empty() {
        return stage::go_on(draft, index);
    }
    let question = questions.remove(0);
    if draft.run.questions_asked >= draft.run.opened().config.max_clarifications {
        let max = draft.run.opened().config.max_clarifications;
        let why = format!("the agent has asked its {max} questions and has another");
        return escalate(draft, index, question, questions, &why);
    }
    let number = draft.run.questions_asked + 1;
    let hold = question_hold(draft, index, HoldKind::Clarification, question, number);
    draft.record(Event::ClarificationRequested { hold, pending: questions });
}

/// Whether a task says too little to begin with.
pub(super) fn asks_first(draft: &Draft) -> bool {
    let opened = draft.run.opened();
    let Some(task) = opened.config.task.as_ref() else { return false };
    let context = task.context.as_deref().is_some_and(|context| !context.trim().is_empty());
    opened.request.trim().is_empty() || (is_vague(&opened.request) && !context)
}

/// Asks what the task is about before an agent is. An agent cannot decide that itself, so the question needs an answer.
pub(super) fn ask_first(draft: &mut Draft, index: usize) {
    let question = TaskBrief::opening_question(&draft.run.opened().request);
    let number = draft.run.questions_asked + 1;
    if number > draft.run.opened().config.max_clarifications {
        return escalate(draft, index, question, Vec::new(), "the task says too little to begin");
    }
    let mut hold = question_hold(draft, index, HoldKind::Clarification, question, number);
    hold.summary = crate::OPENING_QUESTION.to_owned();
    hold.allowed.retain(|kind| *kind != DecisionKind::Ignore);
    draft.record(Event::ClarificationRequested { hold, pending: Vec::new() });
}

/// The answer to a question; the next one follows, or the agent goes on.
pub(super) fn answered(draft: &mut Draft, index: usize) {
    let pending = draft.run.pending_questions.clone();
    if pending.is_empty() { stage::go_on(draft, index) } else { ask(draft, index, pending) }
}

/// Whether an answer fits its question.
pub(super) fn check(question: &Question, decision: &Decision) -> Result<(), Rejection> {
    let Decision::Answer { answer } = decision else { return Ok(()) };
    let refuse = |text: String| Err(Rejection::BadAnswer(text));
    let options = question.options.join("`, `");
    let known = |choice: &String| question.options.contains(choice);
    if answer.iter().map(String::len).sum::<usize>() > 64 * 1024 {
        return refuse("the answer is longer than 64 KiB; put the rest in a file of the repository".to_owned());
    }
    match question.response_type {
        ResponseType::Text if answer.len() != 1 || answer[0].trim().is_empty() => {
            refuse("the answer is empty; say something, or `ignore` the question".to_owned())
        }
        ResponseType::SingleChoice if answer.len() != 1 || !answer.iter().all(known) => {
            refuse(format!("choose one of `{options}`"))
        }
        ResponseType::MultipleChoice if answer.is_empty() || !answer.iter().all(known) => {
            refuse(format!("choose one or more of `{options}`"))
        }
        ResponseType::FileUpload if answer.len() != 2 || answer[0].trim().is_empty() => {
            refuse("send a file: its name and its content".to_owned())
        }
        ResponseType::Text | ResponseType::SingleChoice | ResponseType::MultipleChoice | ResponseType::FileUpload => {
            Ok(())
        }
    }
}

/// A person looks at the whole, and one decision settles all open questions.
pub(super) fn escalate(draft: &mut Draft, index: usize, question: Question, pending: Vec<Question>, why: &str) {
    let mut hold = question_hold(draft, index, HoldKind::Approval, question, 0);
    (hold.deadline, hold.at_deadline) = (None, None);
    hold.summary = format!("{why}; look at the whole and decide");
    hold.allowed = vec![DecisionKind::Approve];
    if draft.run.stages[index].revisions < draft.run.stage(index).revisions {
        hold.allowed.push(DecisionKind::Reject);
    }
    hold.allowed.push(DecisionKind::Cancel);
    draft.record(Event::ApprovalRequested { hold, pending });
}

fn question_hold(draft: &Draft, index: usize, kind: HoldKind, question: Question, number: u32) -> Hold {
    let summary = format!("the {} asks: {}", draft.run.stage(index).role, first_line(&question.question));
    let allowed = vec![DecisionKind::Answer, DecisionKind::Ignore, DecisionKind::Cancel];
    let mut placed = hold::new(draft, kind, Some(index), summary, allowed);
    placed.at_deadline = question.rule();
    placed.deadline = question.deadline_minutes.map(|minutes| hold::later(draft, minutes));
    placed.attempt_number = number;
    hold::show(&mut placed, draft, question);
    placed
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= 140 { line.to_owned() } else { line.chars().take(139).chain(['…']).collect() }
}
