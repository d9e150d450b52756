//! The tasks of a plan by their groups: whole for `show`, and as a few lines that are redrawn for `watch`. Pure.

use std::collections::BTreeMap;

use wire::{RunView, TaskView};

use super::{
    clean_line,
    rail::Activity,
    run::short,
    style::{BAD, BUSY, DIM, GOOD, WAIT},
    words::{count, fit, money, pad},
};

/// A child run and what its agent does now.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Child {
    pub(crate) run: RunView,
    pub(crate) activity: Activity,
}

/// Child runs by their ids.
pub(crate) type Children = BTreeMap<String, Child>;

/// All tasks with all that is known of them.
pub(crate) fn table(run: &RunView, width: usize) -> String {
    let longest = run.tasks.iter().map(|task| clean_line(&task.id).chars().count()).max().unwrap_or(0).min(20);
    let mut lines = Vec::new();
    for (name, tasks) in groups(run) {
        lines.push(format!("  {DIM}{name}{DIM:#}"));
        for task in tasks {
            lines.extend(row(task, longest, width));
        }
    }
    lines.extend(run.overlaps.iter().map(|overlap| {
        let said = format!("{} and {} may meet in {}", overlap.first, overlap.second, overlap.files.join(", "));
        format!("  {WAIT}!{WAIT:#} {}", fit(&clean_line(&said), width.saturating_sub(4)))
    }));
    lines.join("\n")
}

fn groups(run: &RunView) -> Vec<(String, Vec<&TaskView>)> {
    let last = run.tasks.iter().filter_map(|task| task.group).max().unwrap_or(0);
    let of = |group: Option<u32>| run.tasks.iter().filter(|task| task.group == group).collect::<Vec<_>>();
    let mut groups: Vec<(String, Vec<&TaskView>)> =
        (1..=last).map(|number| (format!("group {number}"), of(Some(number)))).collect();
    groups.push(("added".to_owned(), of(None)));
    groups.retain(|(_, tasks)| !tasks.is_empty());
    groups
}

fn row(task: &TaskView, longest: usize, width: usize) -> Vec<String> {
    let (mark, colour) = sign(&task.status);
    let child = task.child.as_deref().map(short).unwrap_or_default();
    let again = if task.attempt > 1 { format!(" ×{}", task.attempt) } else { String::new() };
    let cost = if task.cost > 0.0 { money(task.cost) } else { String::new() };
    let status = pad(&format!("{}{again}", clean_line(&task.status)), 13);
    let id = pad(&fit(&clean_line(&task.id), longest), longest);
    let after =
        if task.depends_on.is_empty() { String::new() } else { format!(" (after {})", task.depends_on.join(", ")) };
    let room = width.saturating_sub(longest + 38);
    let title = fit(&clean_line(&format!("{}{after}", task.title)), room);
    let first = format!("    {colour}{mark}{colour:#} {id}  {status} {child:<6} {DIM}{cost:>8}{DIM:#}  {title}");
    let mut lines = vec![first.trim_end().to_owned()];
    let mut more = |colour: anstyle::Style, said: String| {
        lines.push(format!("      {colour}{}{colour:#}", fit(&clean_line(&said), width.saturating_sub(8))));
    };
    if let Some(problem) = task.problem.as_ref().filter(|_| task.status != "merged") {
        more(BAD, problem.clone());
    }
    if !task.conflicts.is_empty() {
        more(WAIT, format!("conflicts in {}", task.conflicts.join(", ")));
    }
    if !task.strayed.is_empty() {
        more(WAIT, format!("changed without having said so: {}", task.strayed.join(", ")));
    }
    lines
}

fn sign(status: &str) -> (&'static str, anstyle::Style) {
    match status {
        "merged" => ("●", GOOD),
        "failed" => ("✗", BAD),
        "skipped" => ("–", DIM),
        "conflicted" => ("◆", WAIT),
        "starting" | "working" | "ready" | "merging" => ("◐", BUSY),
        _ => ("○", DIM),
    }
}

/// The groups as they are redrawn: a task at work has a line of its own, what is done or to come is counted. Never
/// more than `most` lines.
pub(crate) fn region(run: &RunView, children: &Children, width: usize, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, tasks) in groups(run) {
        let busy: Vec<&TaskView> = tasks.iter().copied().filter(|task| is_busy(task)).collect();
        lines.push(format!("  {DIM}{}{DIM:#} {}", pad(&name, 8), summary(&tasks)));
        lines.extend(busy.into_iter().map(|task| live(task, children, width)));
    }
    if lines.len() > most {
        let hidden = lines.len() - most + 1;
        lines.truncate(most.saturating_sub(1));
        lines.push(format!("  {DIM}… and {hidden} more lines; `holdpoint show` has all{DIM:#}"));
    }
    lines
}

fn is_busy(task: &TaskView) -> bool {
    matches!(task.status.as_str(), "starting" | "working" | "ready" | "merging" | "conflicted")
}

fn summary(tasks: &[&TaskView]) -> String {
    let mut parts = Vec::new();
    for status in ["merged", "working", "starting", "ready", "merging", "conflicted", "failed", "skipped", "waiting"] {
        let number = tasks.iter().filter(|task| task.status == status).count();
        if number > 0 {
            let (mark, colour) = sign(status);
            parts.push(format!("{colour}{mark}{colour:#} {number} {status}"));
        }
    }
    parts.push(format!("{DIM}of {}{DIM:#}", count(tasks.len() as u64, "task", "tasks")));
    parts.join("  ")
}

fn live(task: &TaskView, children: &Children, width: usize) -> String {
    let child = task.child.as_ref().and_then(|id| children.get(id));
    let waits = child.and_then(|child| child.run.hold.as_ref());
    let (mark, colour) = if waits.is_some() { ("◆", WAIT) } else { sign(&task.status) };
    let name = task.child.as_deref().map(short).unwrap_or_default();
    let doing = match (waits, child) {
        (Some(hold), _) => format!("waits for you: {}", hold.summary),
        (None, Some(child)) if task.status == "working" => doing(child),
        (None, _) => task.status.clone(),
    };
    let id = pad(&fit(&clean_line(&task.id), 14), 14);
    format!(
        "    {colour}{mark}{colour:#} {id} {name:<6} {DIM}{}{DIM:#}",
        fit(&clean_line(&doing), width.saturating_sub(30))
    )
}

fn doing(child: &Child) -> String {
    let stage = child.run.stage.clone().unwrap_or_else(|| child.run.status.replace('_', " "));
    let said = child.activity.said.lines().rev().map(clean_line).find(|line| !line.is_empty());
    match (&child.activity.tool, said) {
        (Some(tool), _) => format!("{stage}: {tool}"),
        (None, Some(said)) => format!("{stage}: “{said}”"),
        (None, None) => stage,
    }
}

#[cfg(test)]
pub(crate) mod sample {
    use super::*;
    use crate::report::run;

    pub(crate) fn task(id: &str, status: &str, group: u32, child: Option<&str>) -> TaskView {
        TaskView {
            id: id.to_owned(),
            title: format!("Do {id}"),
            status: status.to_owned(),
            depends_on: if group > 1 { vec!["store".to_owned()] } else { Vec::new() },
            group: Some(group),
            child: child.map(str::to_owned),
            attempt: u32::from(child.is_some()),
            cost: 0.0,
            problem: None,
            strayed: Vec::new(),
            conflicts: Vec::new(),
        }
    }

    pub(crate) fn delegating() -> RunView {
        let mut store = task("store", "merged", 1, Some("aaaaaa-000000"));
        store.cost = 0.0123;
        store.strayed = vec!["README.md".to_owned()];
        let mut docs = task("docs", "failed", 1, Some("bbbbbb-000000"));
        docs.problem = Some("3 fix rounds did not mend it".to_owned());
        docs.attempt = 2;
        RunView {
            tasks: vec![
                store,
                docs,
                task("api", "working", 2, Some("cccccc-000000")),
                task("page", "working", 2, Some("dddddd-000000")),
                task("last", "waiting", 3, None),
            ],
            groups: vec![Vec::new(); 3],
            ..run::sample::running()
        }
    }

    pub(crate) fn children() -> Children {
        let child = |id: &str, activity: Activity, hold: bool| {
            let hold = hold.then(run::sample::question);
            let stage = Some("implementing".to_owned());
            let run = RunView { id: id.to_owned(), stage, hold, ..run::sample::running() };
            (id.to_owned(), Child { run, activity })
        };
        let busy = Activity { tool: Some("shell cargo test".to_owned()), said: String::new() };
        [child("cccccc-000000", busy, false), child("dddddd-000000", Activity::default(), true)].into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::plain;

    #[test]
    fn every_task_stands_in_its_group_with_what_went_wrong() {
        let expected = "  group 1
    ● store  merged        aaaaaa  $0.0123  Do store
      changed without having said so: README.md
    ✗ docs   failed ×2     bbbbbb           Do docs
      3 fix rounds did not mend it
  group 2
    ◐ api    working       cccccc           Do api (after store)
    ◐ page   working       dddddd           Do page (after store)
  group 3
    ○ last   waiting                        Do last (after store)";
        assert_eq!(plain(&table(&sample::delegating(), 80)), expected);
    }

    #[test]
    fn the_region_shows_what_is_at_work_and_counts_the_rest() {
        let lines = region(&sample::delegating(), &sample::children(), 80, 20);
        let expected = "  group 1  ● 1 merged  ✗ 1 failed  of 2 tasks
  group 2  ◐ 2 working  of 2 tasks
    ◐ api            cccccc implementing: shell cargo test
    ◆ page           dddddd waits for you: the agent asks
  group 3  ○ 1 waiting  of 1 task";
        assert_eq!(plain(&lines.join("\n")), expected);
    }

    #[test]
    fn the_region_is_never_higher_or_wider_than_it_may_be() {
        let mut run = sample::delegating();
        for number in 0..50 {
            run.tasks.push(sample::task(&format!("task-{number}-with-a-long-name"), "working", 2, Some("x")));
        }
        let lines = region(&run, &Children::new(), 60, 12);
        assert_eq!(lines.len(), 12);
        assert!(lines.iter().all(|line| plain(line).chars().count() <= 60), "{lines:?}");
    }
}
