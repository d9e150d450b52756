//! What a judge remarks on while reading: kept in the session folder and taken along by `complete_review`.

use std::path::Path;

use domain::Finding;
use drivers::HandIn;
use serde::Deserialize;
use serde_json::{Value, json};

use super::kept::{self, Added};
use super::patch::{self, FileChange};
use super::{Definition, Desk, ToolError, get_diff, required};

const FILE: &str = "comments.jsonl";
const LONGEST: usize = 8 * 1024;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OnLine {
    path: String,
    line: usize,
    comment: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OnFile {
    path: String,
    comment: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OnReview {
    comment: String,
}

fn definition(name: &'static str, description: &'static str, place: Value) -> Definition {
    let mut properties = place;
    properties["comment"] = json!({"type": "string", "description": "What is wrong and what would be right."});
    let required: Vec<String> = properties.as_object().into_iter().flat_map(|map| map.keys().cloned()).collect();
    let schema =
        json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties});
    Definition { name, description, schema }
}

pub(super) fn on_line() -> Definition {
    definition(
        "add_line_comment",
        "Comment on one line of the change. The line is one of the changed file as it is now, and one that the diff \
         shows (changed, or in the context of a change); for removed lines use the nearest that is left. The comment \
         becomes a finding of your review.",
        json!({
            "path": {"type": "string", "description": "A changed file."},
            "line": {"type": "integer", "minimum": 1, "description": "Line of the file after the change."}
        }),
    )
}

pub(super) fn on_file() -> Definition {
    definition(
        "add_file_comment",
        "Comment on a whole file: one of the change, or one that is there and should have been changed. The comment \
         becomes a finding of your review.",
        json!({"path": {"type": "string", "description": "Path relative to the workspace."}}),
    )
}

pub(super) fn on_review() -> Definition {
    definition(
        "add_review_comment",
        "Comment on the change as a whole: what is missing, what does not fit together. The comment becomes a finding \
         of your review.",
        json!({}),
    )
}

pub(super) fn add_to_line(desk: &Desk, input: OnLine) -> Result<String, ToolError> {
    let OnLine { path, line, comment } = input;
    let path = clean(desk, &path)?;
    let diff = desk.diff()?;
    let files = patch::files(&diff);
    let Some(file) = files.iter().find(|file| file.path == path) else { return Err(not_changed(&path, &files)) };
    if !file.shows(line) {
        let ranges = file.ranges();
        return Err(ToolError::Refused(match ranges.is_empty() {
            true => format!("the diff shows no lines of `{path}` as it is now; use add_file_comment"),
            false => format!("line {line} of `{path}` is not in the diff, which shows its lines {ranges}"),
        }));
    }
    add(desk, "add_line_comment", Some(format!("{path}:{line}")), &comment)
}

pub(super) fn add_to_file(desk: &Desk, input: OnFile) -> Result<String, ToolError> {
    let path = clean(desk, &input.path)?;
    let diff = desk.diff()?;
    let files = patch::files(&diff);
    if !files.iter().any(|file| file.path == path) && desk.workspace.open_file(&path).is_err() {
        return Err(not_changed(&path, &files));
    }
    add(desk, "add_file_comment", Some(path), &input.comment)
}

pub(super) fn add_to_review(desk: &Desk, input: OnReview) -> Result<String, ToolError> {
    add(desk, "add_review_comment", None, &input.comment)
}

fn clean(desk: &Desk, path: &str) -> Result<String, ToolError> {
    Ok(desk.workspace.relative(path)?.display().to_string())
}

fn not_changed(path: &str, files: &[FileChange<'_>]) -> ToolError {
    let list = get_diff::listed(files);
    ToolError::Refused(format!("`{path}` is not a file of the change; the changed files are:\n{list}"))
}

fn add(desk: &Desk, tool: &str, place: Option<String>, comment: &str) -> Result<String, ToolError> {
    let message = required(tool, "comment", comment)?;
    if message.len() > LONGEST {
        return Err(ToolError::Refused(format!("a comment has at most {LONGEST} bytes")));
    }
    let whereto = place.as_ref().map_or("on the change".to_owned(), |place| format!("on `{place}`"));
    match kept::add(&desk.session.join(FILE), &Finding { message, place })? {
        Added::New => Ok(format!("kept a comment {whereto}; complete_review takes it along")),
        Added::AlreadyThere => Ok(format!("this very comment {whereto} is kept already")),
    }
}

/// Adds the kept comments to a verdict, before the findings that came with it.
pub(super) fn take_along(session: &Path, hand_in: HandIn) -> Result<HandIn, ToolError> {
    let HandIn::Review(mut review) = hand_in else { return Ok(hand_in) };
    let mut findings: Vec<Finding> = kept::all(&session.join(FILE))?;
    for finding in review.findings {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
    review.findings = findings;
    Ok(HandIn::Review(review))
}

#[cfg(test)]
mod tests {
    use super::super::fixture::judging;
    use super::super::patch::tests::DIFF;
    use super::super::{BlockTool, WorkTool};
    use super::*;

    #[tokio::test]
    async fn comments_have_a_place_that_exists_and_go_into_the_verdict() {
        let (_folder, desk) = judging(DIFF);
        std::fs::write(desk.workspace.root().join("README.md"), "").unwrap();
        let call =
            async |tool: WorkTool, input: Value| tool.run(&desk, &input).await.map_err(|error| error.to_string());
        let line = |path: &str, line: u32| json!({"path": path, "line": line, "comment": "wrong word"});
        call(WorkTool::AddLineComment, line("./src/a.rs", 3)).await.unwrap();
        assert!(call(WorkTool::AddLineComment, line("src/a.rs", 3)).await.unwrap().contains("kept already"));
        for (path, number, words) in [
            ("src/a.rs", 9, "shows its lines 1-4, 21"),
            ("gone.txt", 1, "use add_file_comment"),
            ("README.md", 1, "src/a.rs (+3 -2)"),
            ("../x", 1, "leaves the workspace"),
        ] {
            let refused = call(WorkTool::AddLineComment, line(path, number)).await.unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        for path in ["gone.txt", "README.md"] {
            call(WorkTool::AddFileComment, json!({"path": path, "comment": "look"})).await.unwrap();
        }
        let refused = call(WorkTool::AddFileComment, json!({"path": "no", "comment": "look"})).await.unwrap_err();
        assert!(refused.contains("changed files are"), "{refused}");
        call(WorkTool::AddReviewComment, json!({"comment": "no tests"})).await.unwrap();
        let verdict = json!({"verdict": "fail", "severity": "minor", "summary": "s", "findings":
            [{"message": "no tests"}, {"message": "more", "place": "a:1"}]});
        let handed = take_along(&desk.session, BlockTool::CompleteReview.hand_in(&verdict).unwrap()).unwrap();
        let HandIn::Review(review) = handed else { panic!() };
        let findings: Vec<(Option<&str>, &str)> =
            review.findings.iter().map(|finding| (finding.place.as_deref(), finding.message.as_str())).collect();
        let wanted = [
            (Some("src/a.rs:3"), "wrong word"),
            (Some("gone.txt"), "look"),
            (Some("README.md"), "look"),
            (None, "no tests"),
            (Some("a:1"), "more"),
        ];
        assert_eq!(findings, wanted);
    }
}
