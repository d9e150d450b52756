//! Tasks for people: a line each, or one with what it waits for. Pure; every word is cleaned here.

use anstyle::Style;
use jiff::Timestamp;
use wire::TaskRunView;

use super::{
    clean_line,
    run::{short, short_commit},
    style::{BAD, BOLD, BUSY, DIM, GOOD, WAIT},
    words::{ago, fit},
};

/// How the agent of a task stands.
fn mark(session: &str) -> (&'static str, Style) {
    match session {
        "active" => ("●", BUSY),
        "crashed" => ("✗", BAD),
        _ => ("○", DIM),
    }
}

fn colour(status: &str) -> Style {
    match status {
        "done" => GOOD,
        "failed" => BAD,
        "clarification" | "reviewing" | "stuck" => WAIT,
        "pending" | "working" | "agent-review" | "delegated" => BUSY,
        _ => DIM,
    }
}

/// `task list`.
pub(crate) fn list(tasks: &[TaskRunView], now: Timestamp, width: usize) -> String {
    if tasks.is_empty() {
        return "no tasks; create one with `holdpoint task create \"what shall be done\"`".to_owned();
    }
    let room = width.saturating_sub(36).max(20);
    let line = |task: &TaskRunView| {
        let ((mark, shade), colour) = (mark(&task.session), colour(&task.status));
        let (status, id) = (clean_line(&task.status), short(&task.id));
        let about = fit(&title(task), room);
        format!(
            "{shade}{mark}{shade:#} {id:<8} {colour}{status:<13}{colour:#} {:>8}  {about}",
            ago(now, task.updated_at)
        )
    };
    tasks.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// What a task is called: its name, then what it is about.
fn title(task: &TaskRunView) -> String {
    let summary = if task.summary.trim().is_empty() { "(no summary yet)" } else { &task.summary };
    match &task.name {
        Some(name) => format!("{}: {}", clean_line(name), clean_line(summary)),
        None => clean_line(summary),
    }
}

/// How a task stands, in a line.
pub(crate) fn line(task: &TaskRunView) -> String {
    let (mark, _) = mark(&task.session);
    format!("{mark} {} is {}", short(&task.id), clean_line(&task.status))
}

/// `task show`.
pub(crate) fn show(task: &TaskRunView, now: Timestamp) -> String {
    let ((mark, shade), colour) = (mark(&task.session), colour(&task.status));
    let mut lines = vec![format!("{BOLD}{}{BOLD:#}", title(task)), String::new()];
    let mut row = |name: &str, value: String| lines.push(format!("  {DIM}{name:<11}{DIM:#} {value}"));
    row("task", clean_line(&task.id));
    row("status", format!("{colour}{}{colour:#}", clean_line(&task.status)));
    row("agent", format!("{shade}{mark}{shade:#} {}", clean_line(&task.session)));
    row("branch", clean_line(&task.branch));
    row("review", format!("round {}", task.review_round));
    if task.crash_count > 0 {
        row("crashes", task.crash_count.to_string());
    }
    if let Some(commit) = &task.commit {
        row("handed over", short_commit(commit));
    }
    if let Some(url) = &task.pr_url {
        row("pull request", clean_line(url));
    }
    row("updated", ago(now, task.updated_at));
    if let Some(waits) = &task.waits_for {
        row("waits for", clean_line(waits));
    }
    if !task.may_become.is_empty() {
        row("may become", clean_line(&task.may_become.join(", ")));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(session: &str, status: &str) -> TaskRunView {
        let at = "2026-11-15T20:00:00Z".parse().unwrap();
        TaskRunView {
            id: "0193f2-c4a1b2".to_owned(),
            name: Some("add-login".to_owned()),
            summary: "Implement \u{1b}[31mlogin".to_owned(),
            status: status.to_owned(),
            may_become: vec!["working".to_owned(), "cancelled".to_owned()],
            session: session.to_owned(),
            crash_count: 2,
            review_round: 1,
            project: "/p".to_owned(),
            branch: "autonomous/x".to_owned(),
            commit: None,
            pr_url: None,
            waits_for: Some("the agent ended 2 times".to_owned()),
            created_at: at,
            updated_at: at,
        }
    }

    #[test]
    fn a_list_tells_status_and_agent_apart_and_lets_no_escape_through() {
        let now = "2026-11-15T20:05:00Z".parse().unwrap();
        let tasks = [task("active", "working"), task("crashed", "stuck"), task("inactive", "reviewing")];
        let plain = anstream::adapter::strip_str(&list(&tasks, now, 100)).to_string();
        let lines: Vec<&str> = plain.lines().collect();
        assert!(lines[0].starts_with("● 0193f2") && lines[0].contains("working"), "{plain}");
        assert!(lines[1].starts_with('✗') && lines[2].starts_with('○'), "{plain}");
        assert!(lines[0].contains("add-login: Implement"), "{plain}");
        let shown = show(&tasks[1], now);
        assert!(!shown.contains("\u{1b}[31mlogin") && shown.contains("the agent ended 2 times"), "{shown}");
    }
}
