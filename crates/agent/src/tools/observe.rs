//! `observe`: what happened since the last look, counted and compared, so that a reflection rests on facts.
//! Files are told apart by size and time of change, never read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use domain::GoalTask;
use drivers::{Observation, ObservationKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Definition, Desk, ToolError, parse, walk};
use crate::pursuit;
use crate::shorten;

/// Files that are compared.
const MOST_FILES: usize = 50_000;
/// Files and failures that are named.
const MOST_NAMED: usize = 40;

/// Size and time of change of each file.
type Tree = BTreeMap<String, (u64, u64)>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {}

pub(super) fn definition() -> Definition {
    Definition {
        name: "observe",
        description: "Look at what came of what you did: which calls worked and failed, which files changed, and how the \
                      tasks stand since you last observed. Run the tests or the measurement first, so that it sees them. \
                      Needed before reflect, and after every change.",
        schema: json!({"type": "object", "additionalProperties": false, "properties": {}}),
    }
}

/// Remembers the files as they are before the first look.
pub(crate) fn begin(desk: &Desk) -> Result<(), ToolError> {
    let path = kept(desk, 0);
    if path.exists() {
        return Ok(());
    }
    keep(&path, &tree(desk)?)
}

/// The look that comes after `looks` others. One that a crash broke off is done again, from the same start.
pub(crate) fn run(
    desk: &Desk,
    input: &Value,
    looks: usize,
    since: &[Observation],
    tasks: &[GoalTask],
) -> Result<String, ToolError> {
    let Input {} = parse("observe", input)?;
    let now = tree(desk)?;
    let before = std::fs::read(kept(desk, looks)).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    keep(&kept(desk, looks + 1), &now)?;
    let mut text = calls(since);
    text.push_str(&changes(before.as_ref(), &now));
    text.push_str("\nTasks:\n");
    text.push_str(&if tasks.is_empty() { "(none planned)".to_owned() } else { pursuit::tree(tasks).join("\n") });
    Ok(text)
}

fn calls(since: &[Observation]) -> String {
    let ran: Vec<&Observation> = since.iter().filter(|seen| seen.kind != ObservationKind::Refusal).collect();
    let failed: Vec<&&Observation> = ran.iter().filter(|seen| !seen.success).collect();
    let mut by_tool: BTreeMap<&str, usize> = BTreeMap::new();
    ran.iter().for_each(|seen| *by_tool.entry(&seen.source).or_default() += 1);
    let counted: Vec<String> = by_tool.iter().map(|(tool, count)| format!("{tool} {count}")).collect();
    let mut text = format!("Calls since the last look: {} ({})", ran.len(), counted.join(", "));
    if failed.is_empty() {
        text.push_str("; none failed\n");
        return text;
    }
    writeln!(text, "; {} failed:", failed.len()).expect("writing to a String cannot fail");
    for seen in failed.iter().rev().take(MOST_NAMED) {
        let (input, error) = (seen.input.to_string(), seen.error.clone().unwrap_or_default());
        let line = format!("- {} {}: {}", seen.source, shorten::one_line(&input, 120), shorten::one_line(&error, 300));
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn changes(before: Option<&Tree>, now: &Tree) -> String {
    let Some(before) = before else { return "What changed in the files cannot be told.\n".to_owned() };
    let here = now.iter().filter_map(|(path, stamp)| match before.get(path) {
        None => Some(format!("A {path}")),
        Some(known) if known != stamp => Some(format!("M {path}")),
        Some(_) => None,
    });
    let gone = before.keys().filter(|path| !now.contains_key(*path)).map(|path| format!("D {path}"));
    let changed: Vec<String> = here.chain(gone).collect();
    if changed.is_empty() {
        return "No file changed.\n".to_owned();
    }
    let more = changed.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!("\n(and {more} more)") } else { String::new() };
    let named: Vec<&str> = changed.iter().take(MOST_NAMED).map(String::as_str).collect();
    format!("Files changed ({}):\n{}{more}\n", changed.len(), named.join("\n"))
}

fn tree(desk: &Desk) -> Result<Tree, ToolError> {
    let root = desk.workspace.root();
    let stamped = |path: PathBuf| {
        let about = std::fs::symlink_metadata(root.join(&path)).ok()?;
        let changed = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let stamp = (about.len(), u64::try_from(changed.as_nanos()).unwrap_or(u64::MAX));
        Some((path.display().to_string(), stamp))
    };
    Ok(walk::files(desk, None)?.take(MOST_FILES).filter_map(stamped).collect())
}

fn kept(desk: &Desk, looks: usize) -> PathBuf {
    desk.session.join(format!("files-{looks}.json"))
}

fn keep(path: &Path, tree: &Tree) -> Result<(), ToolError> {
    let bytes = serde_json::to_vec(tree).expect("paths and numbers serialise");
    std::fs::write(path, bytes)
        .map_err(|source| ToolError::Io { what: "the files could not be remembered".to_owned(), source })
}
