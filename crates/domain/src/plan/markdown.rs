//! A plan as people read it. What the planner wrote is quoted, so that no text in it can pass for the plan's own frame.

use std::fmt::Write;

use super::{Overlap, Plan, Task};

/// How many overlaps, and how many files of each, are written out.
const SHOWN: usize = 20;

impl Plan {
    /// Markdown: the summary, the groups, a Mermaid flowchart of the dependencies, the overlaps, and every task.
    ///
    /// Only for a checked plan.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!("# Plan\n\n{}", quoted(&self.summary));
        let overlaps = self.overlaps();
        text.push_str("\n## Order\n\n");
        for (number, group) in self.groups().iter().enumerate() {
            let _ = writeln!(text, "{}. {}", number + 1, spans(group));
        }
        text.push_str("\nTasks on one line may run at the same time.\n\n");
        text.push_str(&self.flowchart());
        text.push_str(&overlap_list(&overlaps));
        text.push_str("\n## Tasks\n");
        for task in &self.tasks {
            text.push_str(&self.section(task, &overlaps));
        }
        text
    }

    /// Node ids are numbers and labels are escaped, so it parses with any title.
    fn flowchart(&self) -> String {
        let leaves = self.leaves();
        let mut text = "```mermaid\nflowchart LR\n".to_owned();
        for (index, leaf) in leaves.iter().enumerate() {
            let _ = writeln!(text, "    t{index}[\"{}: {}\"]", leaf.id, label(&leaf.title));
        }
        for (index, leaf) in leaves.iter().enumerate() {
            for (before, _) in leaves.iter().enumerate().filter(|(_, other)| leaf.depends_on.contains(&other.id)) {
                let _ = writeln!(text, "    t{before} --> t{index}");
            }
        }
        text.push_str("```\n");
        text
    }

    fn section(&self, task: &Task, overlaps: &[Overlap]) -> String {
        let mut text = format!("\n### {} {}\n\n", span(&task.id), escaped(&task.title));
        let below: Vec<String> = self
            .tasks
            .iter()
            .filter(|other| other.parent.as_ref() == Some(&task.id))
            .map(|other| other.id.clone())
            .collect();
        let mut line = |name: &str, list: &[String]| {
            if !list.is_empty() {
                let _ = writeln!(text, "- {name}: {}", spans(list));
            }
        };
        line("Heading of", &below);
        line("Part of", task.parent.as_slice());
        line("Depends on", &task.depends_on);
        line("Files", &task.files);
        let meets: Vec<String> = overlaps
            .iter()
            .filter(|pair| pair.first == task.id || pair.second == task.id)
            .map(|pair| if pair.first == task.id { pair.second.clone() } else { pair.first.clone() })
            .collect();
        line("**Overlaps with**", &meets);
        for check in &task.checks {
            let _ = writeln!(text, "- Check {}: {}", escaped(&check.name), span(&check.command));
        }
        if !text.ends_with("\n\n") {
            text.push('\n');
        }
        text + &quoted(&task.description)
    }
}

fn overlap_list(overlaps: &[Overlap]) -> String {
    if overlaps.is_empty() {
        return String::new();
    }
    let mut text =
        "\n## Overlaps\n\nThese tasks may run at the same time and expect to touch the same files.\n\n".to_owned();
    for pair in overlaps.iter().take(SHOWN) {
        let files = &pair.files[..pair.files.len().min(SHOWN)];
        let _ = write!(text, "- {} and {}: {}", span(&pair.first), span(&pair.second), spans(files));
        text.push_str(&and_more(pair.files.len()));
        text.push('\n');
    }
    if overlaps.len() > SHOWN {
        let _ = writeln!(text, "- {} more pairs", overlaps.len() - SHOWN);
    }
    text
}

fn and_more(count: usize) -> String {
    if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() }
}

/// A block quote, which also ends whatever the text left open: a fence, a list, a comment.
fn quoted(text: &str) -> String {
    text.trim().lines().fold(String::new(), |quote, line| quote + "> " + line.trim_end() + "\n")
}

fn spans(texts: &[String]) -> String {
    texts.iter().map(|text| span(text)).collect::<Vec<_>>().join(", ")
}

/// A code span, fenced by more backticks than stand in a row inside it.
fn span(text: &str) -> String {
    let line = text.trim().lines().map(str::trim_end).collect::<Vec<_>>().join(" ⏎ ");
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    if longest == 0 { format!("`{line}`") } else { format!("{fence} {line} {fence}") }
}

/// One line of plain text.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim().chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&' | '!' | '$') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The inside of a quoted Mermaid label: whatever could end it or mean something in it is written as its number.
fn label(title: &str) -> String {
    const LENGTH: usize = 60;
    let mut out = String::new();
    for c in title.trim().chars().take(LENGTH) {
        if c.is_alphanumeric() || matches!(c, ' ' | '.' | ',' | '-' | '/' | '(' | ')' | '\'' | '+') || !c.is_ascii() {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", u32::from(c));
        }
    }
    if title.trim().chars().nth(LENGTH).is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::{below, plan, task, touching};
    use super::*;
    use crate::Check;

    #[test]
    fn a_plan_is_written_with_its_groups_flowchart_overlaps_and_tasks() {
        let mut plan = plan([
            touching(&["src/", "Cargo.toml"], task("base", &[])),
            task("ui", &["base"]),
            below("ui", touching(&["web/"], task("form", &[]))),
            below("ui", touching(&["web/list.ts"], task("list", &[]))),
        ]);
        plan.tasks[2].checks = vec![Check { name: "unit".to_owned(), command: "npm test\nnpm run lint".to_owned() }];
        assert_eq!(
            plan.to_markdown(),
            r#"# Plan

> A plan.

## Order

1. `base`
2. `form`, `list`

Tasks on one line may run at the same time.

```mermaid
flowchart LR
    t0["base: Do base"]
    t1["form: Do form"]
    t2["list: Do list"]
    t0 --> t1
    t0 --> t2
```

## Overlaps

These tasks may run at the same time and expect to touch the same files.

- `form` and `list`: `web/`, `web/list.ts`

## Tasks

### `base` Do base

- Files: `src/`, `Cargo.toml`

> All of base.

### `ui` Do ui

- Heading of: `form`, `list`
- Depends on: `base`

> All of ui.

### `form` Do form

- Part of: `ui`
- Files: `web/`
- **Overlaps with**: `list`
- Check unit: `npm test ⏎ npm run lint`

> All of form.

### `list` Do list

- Part of: `ui`
- Files: `web/list.ts`
- **Overlaps with**: `form`

> All of list.
"#
        );
    }

    #[test]
    fn no_title_or_text_breaks_out_of_its_place() {
        let mut evil = task("a", &[]);
        evil.title = "\"] --> x; end %% `#35; </b> ```".to_owned();
        evil.description = "```\n# Not a heading\n<!--".to_owned();
        evil.files = vec!["a`b``c".to_owned()];
        let plan = Plan { summary: "```mermaid\nflowchart".to_owned(), tasks: vec![evil] };
        plan.check().unwrap();
        let text = plan.to_markdown();
        let outside: Vec<&str> = text.lines().filter(|line| !line.starts_with('>')).collect();
        assert_eq!(outside.iter().filter(|line| line.starts_with("```")).count(), 2, "{text}");
        assert!(outside.iter().all(|line| !line.contains("Not a heading") && !line.contains("<!--")), "{text}");
        assert!(text.contains("``` a`b``c ```"), "{text}");
        let node = outside.iter().find(|line| line.contains("t0[")).unwrap();
        assert_eq!(node.matches('"').count(), 2, "{node}");
        assert!(!node.contains('`') && !node.contains('%') && !node.contains('<'), "{node}");
    }

    #[test]
    fn a_plan_full_of_overlaps_is_shortened() {
        let plan = plan((0..100).map(|number| touching(&["a", "a/b"], task(&format!("t{number}"), &[]))));
        let text = plan.to_markdown();
        assert!(text.contains("- 4930 more pairs"), "{}", text.len());
    }
}
