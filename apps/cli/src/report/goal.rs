//! A goal for people: how far it is, and its tasks as a tree. Pure.

use wire::{GoalTaskView, GoalView};

use super::{
    clean_line,
    style::{BAD, BUSY, DIM, GOOD},
    words::fit,
};

/// The tasks, parts below their whole.
pub(crate) fn tree(goal: &GoalView, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    below(&goal.tasks, None, 0, width, &mut lines);
    lines
}

fn below(tasks: &[GoalTaskView], parent: Option<&str>, depth: usize, width: usize, lines: &mut Vec<String>) {
    // The server sends trees; whatever else comes in must not hang us.
    if depth > tasks.len() {
        return;
    }
    for task in tasks.iter().filter(|task| task.parent.as_deref() == parent) {
        let (mark, colour) = match task.status.as_str() {
            "completed" => ("●", GOOD),
            "running" => ("◐", BUSY),
            "failed" => ("✗", BAD),
            _ => ("○", DIM),
        };
        let came = task.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        let said = clean_line(&format!("{} {}{came}", task.id, task.description));
        let said = fit(&said, width.saturating_sub(6 + 2 * depth));
        lines.push(format!("  {}{colour}{mark}{colour:#} {said}", "  ".repeat(depth)));
        below(tasks, Some(&task.id), depth + 1, width, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plain;

    #[test]
    fn parts_stand_below_their_whole_with_how_they_stand() {
        let tasks = serde_json::json!([
            {"id": "1", "description": "Rename it", "status": "running"},
            {"id": "2", "description": "Tell people", "status": "failed", "error": "no mail here"},
            {"id": "1.1", "description": "in src", "parent": "1", "status": "completed"},
        ]);
        let goal = serde_json::json!({"iteration": 3, "of": 15, "line": "", "tasks": tasks});
        let lines = tree(&serde_json::from_value(goal).unwrap(), 40);
        let expected = ["  ◐ 1 Rename it", "    ● 1.1 in src", "  ✗ 2 Tell people: no mail here"];
        assert_eq!(lines.iter().map(|line| plain(line)).collect::<Vec<_>>(), expected);
    }
}
