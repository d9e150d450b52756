//! Rule 7 on the disk: the tree that a run landed is the tree that was validated, but for the run's own record.

use std::path::Path;
use std::process::{Command, Stdio};

use domain::{Event, Recorded, RunId};

/// What of a run's merge was not validated. A merge onto a base that had moved is proved or approved as a whole, and says
/// so in the log; a commit that is not in the repository any more says nothing.
pub(super) fn unvalidated(project: &Path, run: &RunId, log: &[Recorded]) -> Option<String> {
    let (commit, validated) = log.iter().rev().find_map(|recorded| match &recorded.event {
        Event::BranchMerged { commit, validated, onto: None } => Some((commit, validated)),
        _ => None,
    })?;
    let changed = changed(project, validated.as_str(), commit.as_str())?;
    let foreign: Vec<&str> = changed.iter().map(String::as_str).filter(|path| !is_record(path, run)).take(5).collect();
    let found = || format!("{run}: {commit} was merged with changes that were not validated ({})", foreign.join(", "));
    (!foreign.is_empty()).then(found)
}

fn is_record(path: &str, run: &RunId) -> bool {
    path == ".autonomous/memory.md" || path.starts_with(&format!(".autonomous/runs/{run}/"))
}

fn changed(project: &Path, from: &str, to: &str) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["--no-replace-objects", "-C"])
        .arg(project)
        .args([
            "diff-tree",
            "-r",
            "-z",
            "--name-only",
            "--no-renames",
            "--no-ext-diff",
            "--end-of-options",
            from,
            to,
            "--",
        ])
        .env("GIT_NO_LAZY_FETCH", "1")
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let paths = output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    output.status.success().then(|| paths.map(|path| String::from_utf8_lossy(path).into_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_the_memory_and_the_files_of_this_run_alone() {
        let run: RunId = "aaaaaa-bbbbbb".parse().unwrap();
        for (path, expected) in [
            (".autonomous/memory.md", true),
            (".autonomous/runs/aaaaaa-bbbbbb/context.json", true),
            (".autonomous/runs/cccccc-bbbbbb/context.json", false),
            (".autonomous/config.json", false),
            ("src/main.rs", false),
        ] {
            assert_eq!(is_record(path, &run), expected, "{path}");
        }
    }
}
