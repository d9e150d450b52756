//! Conversations for strangers.

use drivers::AgentEvent;
use engine::{Channel, Question, SessionRow, TurnItem, TurnRow};
use wire::{ChannelMessage, ChannelView, QuestionView, SessionView, TurnItemView, TurnView};

/// A conversation in a line.
pub(crate) fn session(row: &SessionRow, active: bool) -> SessionView {
    let state = match (active, &row.ended, &row.problem) {
        (true, _, _) => "active",
        (false, None, Some(_)) => "error",
        (false, _, _) => "completed",
    };
    SessionView {
        id: row.id.to_string(),
        run: row.id.run().map(|run| run.to_string()),
        stage: row.stage.clone(),
        role: row.role.clone(),
        state: state.to_owned(),
        attempts: row.attempts,
        turns: row.turns,
        started_at: row.started_at,
        updated_at: row.updated_at,
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
        ended: row.ended.clone(),
        problem: row.problem.clone(),
    }
}

/// One turn.
pub(crate) fn turn(turn: TurnRow) -> TurnView {
    let TurnRow { number, started_at, completed_at, input_tokens, output_tokens, items } = turn;
    let items = items.into_iter().map(item).collect();
    TurnView { number, started_at, completed_at, input_tokens, output_tokens, items }
}

fn item(item: TurnItem) -> TurnItemView {
    match item {
        TurnItem::Message { by, text } => TurnItemView::Message { by, text },
        TurnItem::Thought { text } => TurnItemView::Thought { text },
        TurnItem::Tool { call, tool, input, output, ok, millis } => {
            TurnItemView::Tool { call, tool, input, output, ok, millis }
        }
    }
}

/// A channel with its questions.
pub(crate) fn channel(channel: Channel, questions: Vec<Question>) -> ChannelView {
    let Channel { id, project, title, created_by, created_at } = channel;
    let questions = questions.into_iter().map(question).collect();
    ChannelView { id, project, title, created_by, created_at, questions }
}

/// A question and what came of it.
pub(crate) fn question(question: Question) -> QuestionView {
    let session = Channel::session(&question.channel, question.number).to_string();
    let Question { number, asked_by, text, model, asked_at, answered, .. } = question;
    let (state, answer, problem) = match answered.as_ref().map(|answered| &answered.answer) {
        None => ("open", None, None),
        Some(Ok(answer)) => ("answered", Some(answer.clone()), None),
        Some(Err(problem)) => ("failed", None, Some(problem.clone())),
    };
    QuestionView {
        number,
        session,
        by: asked_by,
        text,
        model,
        asked_at,
        state: state.to_owned(),
        answer,
        problem,
        answered_at: answered.as_ref().map(|answered| answered.at),
        usd: answered.and_then(|answered| answered.cost).map(domain::Micros::usd),
    }
}

/// What the agent of a question does right now.
pub(crate) fn channel_activity(channel: &str, number: u32, event: &AgentEvent) -> ChannelMessage {
    let data = serde_json::to_value(event).expect("agent events have text keys only");
    let session = Channel::session(channel, number).to_string();
    ChannelMessage::Activity { session, name: super::activity_name(event), data }
}
