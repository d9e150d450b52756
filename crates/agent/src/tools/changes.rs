//! Edits become files: all fit or none is made, and a repeat of a call that a crash broke off ends where it would have.
//!
//! The plan is on the disk before the first file is replaced. The next process finishes one that was broken off, and a
//! call that is run again finds its plan instead of looking for text that is already replaced.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use super::edit::{self, Edit, Misfit};
use super::views::View;
use super::{Desk, ToolError, text};

/// The plan that is being carried out, in the session folder.
const PLAN: &str = "edits.json";
/// The last plan that was carried out.
const DONE: &str = "edits-done.json";

/// Where plans are kept. Only the first edits of a process can be a repeat.
#[derive(Debug)]
pub(crate) struct Plans {
    path: PathBuf,
    begun: AtomicBool,
}

impl Plans {
    pub(super) fn new(session: &Path) -> Self {
        Self { path: session.join(PLAN), begun: AtomicBool::new(false) }
    }

    /// The plan a process before this one left behind.
    fn left_behind(&self) -> Option<Plan> {
        if self.begun.swap(true, Ordering::Relaxed) {
            return None;
        }
        self.read(&self.path).or_else(|| self.read(&self.path.with_file_name(DONE)))
    }

    fn read(&self, path: &Path) -> Option<Plan> {
        // A plan that cannot be read is one that was never carried out: it is renamed into place whole.
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    fn close(&self) -> io::Result<()> {
        std::fs::rename(&self.path, self.path.with_file_name(DONE))
    }

    fn keep(&self, plan: &Plan) -> io::Result<()> {
        let temporary = self.path.with_extension("json.tmp");
        let mut file = File::create(&temporary)?;
        file.write_all(&serde_json::to_vec(plan)?)?;
        file.sync_data()?;
        std::fs::rename(&temporary, &self.path)?;
        // The plan must outlast a power cut before the first file of it is changed.
        self.path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}

/// Everything that is needed to finish, or to undo.
#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    edits: Vec<Edit>,
    files: Vec<Change>,
    answer: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct Change {
    path: PathBuf,
    before: String,
    after: String,
}

pub(super) fn make(desk: &Desk, edits: &[Edit]) -> Result<String, ToolError> {
    if let Some(plan) = desk.plans.left_behind()
        && same(&plan.edits, edits)
        && let Some(answer) = finish(desk, &plan)?
    {
        return Ok(answer);
    }
    let plan = plan(desk, edits)?;
    let io = |source| ToolError::Io { what: "the edits could not be prepared; nothing was changed".to_owned(), source };
    desk.plans.keep(&plan).map_err(io)?;
    for (done, change) in plan.files.iter().enumerate() {
        if let Err(error) = write(desk, change, &change.after) {
            undo(desk, &plan.files[..done])?;
            return Err(error);
        }
    }
    // Only a repeat could tell the difference, and it looks at the files.
    let _ = desk.plans.close();
    Ok(plan.answer)
}

/// Finishes what the process before this one began, so that no change stands by halves, whatever is run next.
pub(super) fn recover(desk: &Desk) {
    let Some(plan) = desk.plans.read(&desk.plans.path) else { return };
    // What cannot be finished now is found again when the same edits are asked for.
    if let Ok(Some(_)) = finish(desk, &plan) {
        let _ = desk.plans.close();
    }
}

fn same(one: &[Edit], other: &[Edit]) -> bool {
    let plain = |edits: &[Edit]| serde_json::to_string(edits).unwrap_or_default();
    plain(one) == plain(other)
}

/// Goes on with a plan of which a part is in place. `None`: no part of it is, so it never began.
fn finish(desk: &Desk, plan: &Plan) -> Result<Option<String>, ToolError> {
    let mut open = Vec::new();
    for change in &plan.files {
        let now = text::for_change(desk, &shown(&change.path)).ok();
        match now {
            Some(now) if now == change.after => {}
            Some(now) if now == change.before => open.push(change),
            // Somebody else was here: what the model asked for is looked for again, in what is there now.
            Some(_) | None => return Ok(None),
        }
    }
    if open.len() == plan.files.len() {
        return Ok(None);
    }
    for change in open {
        write(desk, change, &change.after)?;
    }
    Ok(Some(format!("{}\n(made before an interruption, and not made twice)", plan.answer)))
}

fn undo(desk: &Desk, done: &[Change]) -> Result<(), ToolError> {
    for change in done {
        write(desk, change, &change.before)?;
    }
    Ok(())
}

fn write(desk: &Desk, change: &Change, text: &str) -> Result<(), ToolError> {
    desk.workspace.write(&shown(&change.path), text.as_bytes())?;
    desk.views.saw(change.path.clone(), text);
    Ok(())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// What all edits amount to, in memory.
fn plan(desk: &Desk, edits: &[Edit]) -> Result<Plan, ToolError> {
    let mut files: Vec<Change> = Vec::new();
    let mut said = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let (replaced, lines) = step(desk, &mut files, edit).map_err(|error| named(index, edits.len(), error))?;
        said.push(format!("replaced {replaced} occurrence(s) in `{}`, at line {lines}", edit.path));
    }
    let answer = match edits.len() {
        1 => said.join("\n"),
        count => format!("made {count} edits in {} files:\n{}", files.len(), said.join("\n")),
    };
    Ok(Plan { edits: edits.to_vec(), files, answer })
}

fn step(desk: &Desk, files: &mut Vec<Change>, edit: &Edit) -> Result<(usize, String), ToolError> {
    let path = desk.workspace.relative(&edit.path)?;
    let at = match files.iter().position(|change| change.path == path) {
        Some(at) => at,
        None => {
            desk.workspace.may_write(&edit.path)?;
            let before = text::for_change(desk, &edit.path)?;
            files.push(Change { path: path.clone(), after: before.clone(), before });
            files.len() - 1
        }
    };
    let change = &mut files[at];
    match edit::apply(&change.after, edit) {
        Ok(edited) => {
            change.after = edited.text;
            Ok((edited.lines.len(), edit::list(&edited.lines)))
        }
        Err(Misfit::Call(words)) => Err(ToolError::Refused(words)),
        Err(Misfit::Text(words)) => Err(ToolError::Refused(match desk.views.of(&path, &change.before) {
            View::Stale => format!("`{}` has changed since you last saw it; {words}", edit.path),
            View::Never | View::Current => words,
        })),
    }
}

fn named(index: usize, of: usize, error: ToolError) -> ToolError {
    match of {
        1 => error,
        of => ToolError::Refused(format!("edit {} of {of} does not fit, so nothing was changed: {error}", index + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{desk, reopened};
    use super::*;

    fn edits() -> Vec<Edit> {
        let edit =
            |path: &str| Edit { path: path.into(), old_text: "x".into(), new_text: "xx".into(), replace_all: true };
        ["a", "b", "c"].map(edit).to_vec()
    }

    #[test]
    fn a_crash_after_any_number_of_files_is_made_good_by_the_repeat() {
        for done in 0..=3 {
            let (folder, desk) = desk(&[("a", "x"), ("b", "x\n"), ("c", "xyx")]);
            let plan = plan(&desk, &edits()).unwrap();
            desk.plans.keep(&plan).unwrap();
            for change in &plan.files[..done] {
                write(&desk, change, &change.after).unwrap();
            }
            let desk = reopened(&folder);
            let first = std::fs::read_to_string(desk.workspace.root().join("c")).unwrap();
            assert_eq!(first == "xxyxx", done > 0, "what was begun is whole before anything else happens");
            let said = make(&desk, &edits()).unwrap();
            assert_eq!(said.contains("not made twice"), done > 0, "{done}: {said}");
            let read = |path: &str| std::fs::read_to_string(desk.workspace.root().join(path)).unwrap();
            assert_eq!((read("a"), read("b"), read("c")), ("xx".into(), "xx\n".into(), "xxyxx".into()), "{done}");
            make(&desk, &edits()).unwrap();
            assert_eq!(read("a"), "xxxx", "later the same edit is a new one");
        }
    }

    #[test]
    fn files_that_somebody_changed_after_the_crash_are_looked_at_anew() {
        let (folder, desk) = desk(&[("a", "x"), ("b", "x"), ("c", "x")]);
        make(&desk, &edits()).unwrap();
        std::fs::write(desk.workspace.root().join("b"), "none").unwrap();
        let refused = make(&reopened(&folder), &edits()).unwrap_err().to_string();
        assert!(refused.contains("edit 2 of 3"), "{refused}");
        assert_eq!(std::fs::read_to_string(desk.workspace.root().join("a")).unwrap(), "xx");
    }

    #[test]
    fn a_file_that_cannot_be_replaced_takes_the_others_back() {
        let (_folder, desk) = desk(&[("a", "x"), ("b", "x"), ("c", "x")]);
        // A directory where the temporary file would be: opening it fails, whoever runs the test.
        let mut late = edits();
        late.push(Edit { path: "d/e".into(), ..late[0].clone() });
        std::fs::create_dir(desk.workspace.root().join("d")).unwrap();
        std::fs::write(desk.workspace.root().join("d/e"), "x").unwrap();
        std::fs::create_dir(desk.workspace.root().join("d/.holdpoint-write.tmp")).unwrap();
        make(&desk, &late).unwrap_err();
        for path in ["a", "b", "c", "d/e"] {
            assert_eq!(std::fs::read_to_string(desk.workspace.root().join(path)).unwrap(), "x", "{path}");
        }
    }

    #[test]
    fn links_and_git_are_refused_before_anything_is_changed() {
        let (_folder, desk) = desk(&[("a", "x"), ("b", "x"), (".git/c", "x")]);
        std::os::unix::fs::symlink("b", desk.workspace.root().join("link")).unwrap();
        for path in ["link", ".git/c"] {
            let mut edits = edits()[..1].to_vec();
            edits.push(Edit { path: path.into(), ..edits[0].clone() });
            assert!(make(&desk, &edits).is_err(), "{path}");
            assert_eq!(std::fs::read_to_string(desk.workspace.root().join("a")).unwrap(), "x");
        }
    }
}
