//! Conversations for strangers.

use engine::{SessionRow, TurnItem, TurnRow};
use wire::{SessionView, TurnItemView, TurnView};

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
