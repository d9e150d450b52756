//! What speaks against going on: told from the reflections and from facts, the same way every time.

use super::{GoalTask, GoalTaskStatus, IterationEnd};
use crate::{Reflection, Run};

/// So many iterations in a row without a gain are a standstill.
const STANDSTILL: usize = 3;
/// Percent that progress may fall by at once.
const FALL: u8 = 30;
/// Characters of what an agent said that are said again.
const SHOWN: usize = 160;

/// Iterations as a reader of them sees them.
struct Seen<'a> {
    said: &'a [Reflection],
    ends: &'a [IterationEnd],
    /// Number of the first of them.
    first: usize,
}

/// Why the last iteration should be the last one without a person, if it should.
pub(crate) fn seen(run: &Run) -> Option<String> {
    // A run whose log is older than these facts has fewer of them than reflections.
    let from = run.goal.heard.min(run.goal.ends.len());
    let missing = run.reflections.len().checked_sub(run.goal.ends.len())?;
    let seen =
        Seen { said: run.reflections.get(missing + from..)?, ends: &run.goal.ends[from..], first: missing + from + 1 };
    seen.fell()
        .or_else(|| seen.files_again())
        .or_else(|| seen.action_again())
        .or_else(|| seen.no_file())
        .or_else(|| seen.standstill())
}

impl Seen<'_> {
    fn fell(&self) -> Option<String> {
        let [.., before, last] = self.said else { return None };
        let fallen = before.progress.saturating_sub(last.progress);
        (fallen >= FALL).then(|| {
            format!("progress fell from {} % to {} %: {}", before.progress, last.progress, short(&last.content))
        })
    }

    /// The same files as after an iteration before the last one, with others in between.
    fn files_again(&self) -> Option<String> {
        let (last, earlier) = self.ends.split_last()?;
        let tree = last.tree.as_ref()?;
        let other = earlier.iter().rposition(|end| end.tree.as_ref().is_some_and(|known| known != tree))?;
        let same = earlier[..other].iter().rposition(|end| end.tree.as_ref() == Some(tree))?;
        Some(format!(
            "it goes in circles: the files are exactly as after iteration {}, though they were changed in between",
            self.first + same
        ))
    }

    /// The same next step as before the last one, and no further.
    fn action_again(&self) -> Option<String> {
        let (last, earlier) = self.said.split_last()?;
        let (between, before) = earlier.split_last()?;
        let action = plain(&last.next_action);
        if plain(&between.next_action) == action {
            return None;
        }
        let repeats = |said: &Reflection| {
            !action.is_empty() && plain(&said.next_action) == action && last.progress <= said.progress
        };
        let same = before.iter().rposition(repeats)?;
        Some(format!(
            "it goes in circles: it wants to do again what iteration {} wanted to do next, and is no further ({} %): {}",
            self.first + same,
            last.progress,
            short(&last.next_action)
        ))
    }

    fn no_file(&self) -> Option<String> {
        let recent = &self.ends[self.ends.len().checked_sub(STANDSTILL)?..];
        let tree = recent[0].tree.as_ref()?;
        let same = recent.iter().all(|end| end.tree.as_ref() == Some(tree));
        let said = self.said.last()?;
        same.then(|| format!("{} iterations in a row changed no file: {}", STANDSTILL - 1, short(&said.content)))
    }

    fn standstill(&self) -> Option<String> {
        let from = self.said.len().checked_sub(STANDSTILL)?;
        let (said, ends) = (&self.said[from..], self.ends.get(from..)?);
        let gained = said[1..].iter().any(|later| later.progress > said[0].progress)
            || ends[1..].iter().any(|later| later.completed > ends[0].completed);
        let last = said.last()?;
        (!gained)
            .then(|| format!("no progress in {STANDSTILL} iterations ({} %): {}", last.progress, short(&last.content)))
    }
}

/// What speaks against a goal that is said to be met.
pub(crate) fn doubt(run: &Run) -> Option<String> {
    let last = run.reflections.last().filter(|said| said.goal_achieved)?;
    let named = |wanted: &[GoalTaskStatus]| {
        let tasks = run.goal.tasks.iter().filter(|task| wanted.contains(&task.status));
        tasks.map(|task: &GoalTask| task.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let failed = named(&[GoalTaskStatus::Failed]);
    let open = named(&[GoalTaskStatus::Pending, GoalTaskStatus::Running]);
    let parts = [
        (last.progress < 100).then(|| format!("it says that {} % are reached", last.progress)),
        (!failed.is_empty()).then(|| format!("these tasks failed: {failed}")),
        (!open.is_empty()).then(|| format!("these tasks are not done: {open}")),
        (!last.issues.is_empty()).then(|| format!("it names what is in the way: {}", short(&last.issues.join("; ")))),
        last.requires_user_intervention.then(|| "it asks for a person".to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("it says that the goal is met, but {}", parts.join("; ")))
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= SHOWN {
        return line;
    }
    format!("{}…", line.chars().take(SHOWN).collect::<String>())
}
