//! The tools that only look. Long lists and long texts come in parts, so that no answer floods a model.

use wire::{RunView, reveal};

use super::asked::{GetArtifact, GetDiff, ListHolds, ListRuns, OneRun};
use super::face::Face;
use super::held::{Hold, HoldDetail, Holds};
use super::told::{Part, Run, RunDetail, Runs, Why};
use super::tools::Told;
use crate::{
    change::{Loaded, Of, files, is_code},
    client::Client,
    failure::Failure,
    report::{change, clean, clean_line, hold, plain},
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
    let text = match shown(&client, &run, held, PART).await? {
        hold::Shown::Nothing => String::new(),
        hold::Shown::Document(document) => document.content,
        hold::Shown::Change(loaded) => return Ok(change_detail(&run, held, &loaded)),
        hold::Shown::Failing(failing) => {
            let lines = failing.iter().map(|check| format!("{} fails:\n{}", check.name, check.tail));
            lines.collect::<Vec<_>>().join("\n")
        }
    };
    let part = part(String::new(), &text, 0)?;
    Ok(HoldDetail {
        hold: Hold::of(held),
        truncated: part.next_offset.is_some(),
        rest: part
            .next_offset
            .map(|at| format!("`get_artifact` of run {} has all of it; go on at offset {at}", run.id)),
        shown: part.text,
        how_to_decide: plain(&hold::how_to_decide(held)),
    })
}

/// Every file of a change with its counts, and the text of as many as fit.
fn change_detail(run: &RunView, held: &wire::HoldView, loaded: &Loaded) -> HoldDetail {
    let missing = loaded.missing();
    let rest = change::unseen(&missing, loaded.list.files.len(), usize::MAX)
        .map(|unseen| format!("{unseen}. Read them with `get_diff` of run {}, with `file` or page by page", run.id));
    HoldDetail {
        hold: Hold::of(held),
        shown: plain(&format!("{}\n\n{}", change::list(&loaded.list), change::sections(loaded))),
        truncated: rest.is_some(),
        rest,
        how_to_decide: plain(&hold::how_to_decide(held)),
    }
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
    let offset = asked.offset.unwrap_or(0);
    if !is_code(&made.artifact.kind) {
        return part(title, &made.content, offset);
    }
    // The words of its agent come first, then the diff.
    let note = made.note.as_deref().map(|note| format!("{}\n\n", note.trim_end())).unwrap_or_default();
    if offset < note.len() {
        let part = part(title, &note, offset)?;
        return Ok(Part { next_offset: Some(part.next_offset.unwrap_or(note.len())), ..part });
    }
    patch_part(&client, &asked.run, Of::Artifact(number), title, (offset, note.len())).await
}

/// A part of a diff, which begins at an offset of the text.
async fn patch_part(client: &Client, run: &str, of: Of, title: String, (offset, begins): (usize, usize)) -> Told<Part> {
    let page = client.change_text(run, of, ((offset - begins) as u64, Some(PART)), None).await?;
    let next = page.next.map(usize::try_from).transpose();
    let next = next.map_err(|_| Failure::usage("the diff is too long for this machine", "read it file by file"))?;
    Ok(Part { title, text: reveal(&page.text), next_offset: next.map(|next| next + begins) })
}

pub(super) async fn get_diff(face: &Face, asked: GetDiff) -> Told<Part> {
    let client = face.client().await?;
    let (run, offset) = (asked.run.as_str(), asked.offset.unwrap_or(0));
    let list = files(&client, run, Of::Branch).await?;
    if let Some(path) = &asked.file {
        let Some(found) = list.files.iter().find(|file| file.path == *path) else {
            return Err(Failure::usage(
                "the run does not change that file",
                "call `get_diff` without `file` for the list",
            ));
        };
        let page = client.change_file(run, Of::Branch, &list.head, (&found.id, offset as u64)).await?;
        let binary = [("before", &page.old_binary), ("after", &page.new_binary)];
        let binary = binary.iter().filter_map(|(when, side)| Some((when, side.as_ref()?)));
        let binary =
            binary.map(|(when, side)| format!("{when}: {}, {} bytes, sha256 {}\n", side.kind, side.size, side.sha256));
        let text = format!("{}{}", binary.collect::<String>(), reveal(&page.text));
        let next_offset = page.next.and_then(|next| usize::try_from(next).ok());
        return Ok(Part { title: reveal(&page.file.path), text, next_offset });
    }
    let mut title = format!("{} from {} to {}", change::totals(&list.total), list.base, list.head);
    let hidden: Vec<String> =
        list.files.iter().filter(|file| file.content != "text").map(|file| reveal(&file.path)).collect();
    if !hidden.is_empty() {
        title += &format!("; binary to git, so read them with `file`: {}", hidden.join(", "));
    }
    patch_part(&client, run, Of::Branch, title, (offset, 0)).await
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
