//! The tools that only look. Long lists and long texts come in parts, so that no answer floods a model.

use wire::RunView;

use super::asked::{GetArtifact, GetDiff, ListHolds, ListRuns, OneRun};
use super::face::Face;
use super::held::{Hold, HoldDetail, Holds};
use super::told::{Part, Run, RunDetail, Runs, Why};
use super::tools::Told;
use crate::{
    failure::Failure,
    report::{clean, clean_line, hold, plain},
    watch::shown,
};

/// Bytes of a long text in one answer.
const PART: usize = 40_000;

pub(super) async fn list_runs(face: &Face, asked: ListRuns) -> Told<Runs> {
    let limit = limit(asked.limit)?;
    // One more than asked for says whether there is a next page.
    let count = (limit + 1).to_string();
    let mut which = vec![("limit", count.as_str())];
    which.extend(asked.project.as_deref().map(|project| ("project", project)));
    which.extend(asked.status.as_deref().map(|status| ("status", status)));
    which.extend(asked.cursor.as_deref().map(|cursor| ("before", cursor)));
    which.push(asked.parent.as_deref().map_or(("roots", "true"), |parent| ("parent", parent)));
    let mut runs = face.client().await?.page(&which).await?;
    let more = runs.len() > limit;
    runs.truncate(limit);
    let next_cursor = runs.last().filter(|_| more).map(|run| run.id.clone());
    Ok(Runs { runs: runs.iter().map(Run::of).collect(), next_cursor })
}

pub(super) async fn get_run(face: &Face, asked: OneRun) -> Told<RunDetail> {
    let client = face.client().await?;
    let run = client.run(&asked.run).await?;
    let why = client.why(&run.id).await?;
    Ok(RunDetail::of(&run, &why))
}

pub(super) async fn list_holds(face: &Face, asked: ListHolds) -> Told<Holds> {
    let limit = limit(asked.limit)?;
    let start = match asked.cursor.as_deref().map(str::parse::<usize>) {
        None => 0,
        Some(Ok(start)) => start,
        Some(Err(_)) => return Err(Failure::usage("that is no cursor", "pass `nextCursor` of the page before")),
    };
    let holds = face.client().await?.holds().await?;
    let page: Vec<Hold> = holds.iter().skip(start).take(limit).map(Hold::of).collect();
    let end = start.saturating_add(page.len());
    Ok(Holds { next_cursor: (end < holds.len()).then(|| end.to_string()), holds: page })
}

pub(super) async fn get_hold(face: &Face, asked: OneRun) -> Told<HoldDetail> {
    let client = face.client().await?;
    let run = client.run(&asked.run).await?;
    let Some(held) = &run.hold else { return Err(no_hold(&run)) };
    let text = match shown(&client, &run, held).await? {
        hold::Shown::Nothing => String::new(),
        hold::Shown::Document(document) => document.content,
        hold::Shown::Change(change) => change.diff,
        hold::Shown::Failing(failing) => {
            let lines = failing.iter().map(|check| format!("{} fails:\n{}", check.name, check.tail));
            lines.collect::<Vec<_>>().join("\n")
        }
    };
    let part = part(String::new(), &text, 0)?;
    Ok(HoldDetail {
        hold: Hold::of(held),
        truncated: part.next_offset.is_some(),
        shown: part.text,
        how_to_decide: plain(&hold::how_to_decide(held)),
    })
}

fn no_hold(run: &RunView) -> Failure {
    let message = format!("run {} waits for nobody: it is {}", run.id, run.status.replace('_', " "));
    Failure::failed("no_hold", message, "`list_holds` shows what waits, `why` says why this run stands")
}

pub(super) async fn get_artifact(face: &Face, asked: GetArtifact) -> Told<Part> {
    let client = face.client().await?;
    let number = match asked.number {
        Some(number) => number,
        None => client.artifacts(&asked.run).await?.len(),
    };
    let made = client.artifact(&asked.run, number).await?;
    let title = format!("{} {}: {}", made.artifact.kind, made.artifact.version, clean_line(&made.artifact.title));
    part(title, &made.content, asked.offset.unwrap_or(0))
}

pub(super) async fn get_diff(face: &Face, asked: GetDiff) -> Told<Part> {
    let diff = face.client().await?.diff(&asked.run).await?;
    let cut = if diff.truncated { ", cut by the server" } else { "" };
    let title = format!("{} files from {} to {}{cut}", diff.files.len(), diff.base, diff.head);
    part(title, &diff.diff, asked.offset.unwrap_or(0))
}

pub(super) async fn why(face: &Face, asked: OneRun) -> Told<Why> {
    Ok(Why::of(&face.client().await?.why(&asked.run).await?))
}

fn limit(asked: Option<usize>) -> Told<usize> {
    let limit = asked.unwrap_or(20);
    if (1..=100).contains(&limit) {
        return Ok(limit);
    }
    Err(Failure::usage(format!("{limit} at once are not possible"), "use 1 to 100"))
}

/// A text from an offset on, cut between two characters.
fn part(title: String, text: &str, offset: usize) -> Told<Part> {
    let Some(rest) = text.get(offset..) else {
        return Err(Failure::usage(format!("the text has no offset {offset}"), "pass `nextOffset` of the part before"));
    };
    let end = rest.floor_char_boundary(PART);
    let next_offset = (end < rest.len()).then_some(offset.saturating_add(end));
    Ok(Part { title, text: clean(&rest[..end]), next_offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_comes_whole_in_parts_that_end_between_characters() {
        let text = "ä€x".repeat(20_000);
        let (mut read, mut offset) = (String::new(), Some(0));
        while let Some(at) = offset {
            let part = part(String::new(), &text, at).unwrap();
            assert!(part.text.len() <= PART);
            read.push_str(&part.text);
            offset = part.next_offset;
        }
        assert_eq!(read, text);
    }

    #[test]
    fn an_offset_nobody_gave_out_is_refused() {
        assert!(part(String::new(), "ä", 1).is_err());
        assert!(part(String::new(), "a", 2).is_err());
        assert_eq!(part(String::new(), "a", 1).unwrap().text, "");
    }
}
