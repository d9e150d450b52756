//! A change of code, whole: every file with true counts, and the text of each, page by page. Of a run's branch as it
//! stands, or of code that it made (`/artifacts/{number}/…`). Nothing here changes anything.

use axum::Json;
use axum::extract::State;
use domain::{CommitId, Run};
use runner::git::{FileId, TextView};
use runner::{FileWish, Listing};
use serde::Deserialize;
use utoipa::IntoParams;
use wire::{ChangesView, Fault, FileDiffView, PatchView};

use super::reading::{no_branch, numbered};
use super::{Refusals, paging};
use crate::body::{Named, Params};
use crate::problem::Failure;
use crate::{App, to_wire};

/// Most files in one answer.
const MOST_FILES: usize = 5000;

/// Most bytes of a diff in one answer.
const LONGEST_PATCH: usize = 1024 * 1024;

/// Which part of the list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Part {
    /// Leave out so many of the first.
    #[serde(default)]
    offset: usize,
    /// At most so many, up to 5000; 5000 unless said.
    limit: Option<usize>,
    /// Refuse unless the change is to this commit, as the first page said.
    head: Option<String>,
}

/// Which file, and from where on.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FilePart {
    /// The file's `id` in the list.
    file: String,
    /// From this byte of its diff on; pass `next` of the part before.
    #[serde(default)]
    offset: u64,
    /// Show a binary as lines, too.
    #[serde(default)]
    text: bool,
    /// Refuse unless the change is to this commit, as the list said.
    head: Option<String>,
}

/// From where on.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PatchPart {
    /// From this byte on; pass `next` of the part before.
    #[serde(default)]
    offset: u64,
    /// At most so many bytes, 1000 to 1048576; 1048576 unless said.
    limit: Option<usize>,
    /// Refuse unless the change is to this commit, as the part before said.
    head: Option<String>,
}

/// Lists every file that a run's branch changes, with true counts.
#[utoipa::path(get, path = "/{id}/diff/files", tag = "reading", operation_id = "list_diff_files",
    params(("id" = String, Path), Part), responses((status = 200, body = ChangesView), Refusals))]
pub(super) async fn diff_files(
    State(app): State<App>,
    Named(id): Named<String>,
    Params(part): Params<Part>,
) -> Result<Json<ChangesView>, Failure> {
    let change = Change::of_branch(app.load(&id).await?)?;
    files(&app, &change, &part).await
}

/// Shows a part of the diff of one file that a run's branch changes.
#[utoipa::path(get, path = "/{id}/diff/file", tag = "reading", operation_id = "show_diff_file",
    params(("id" = String, Path), FilePart), responses((status = 200, body = FileDiffView), Refusals))]
pub(super) async fn diff_file(
    State(app): State<App>,
    Named(id): Named<String>,
    Params(part): Params<FilePart>,
) -> Result<Json<FileDiffView>, Failure> {
    let change = Change::of_branch(app.load(&id).await?)?;
    file(&app, &change, &part).await
}

/// Shows a part of the whole diff of a run's branch, as git prints it; the parts together are all of it.
#[utoipa::path(get, path = "/{id}/diff/text", tag = "reading", operation_id = "show_diff_text",
    params(("id" = String, Path), PatchPart), responses((status = 200, body = PatchView), Refusals))]
pub(super) async fn diff_text(
    State(app): State<App>,
    Named(id): Named<String>,
    Params(part): Params<PatchPart>,
) -> Result<Json<PatchView>, Failure> {
    let change = Change::of_branch(app.load(&id).await?)?;
    patch(&app, &change, &part).await
}

/// Lists every file that code of a run changes against its base, with true counts.
#[utoipa::path(get, path = "/{id}/artifacts/{number}/files", tag = "reading", operation_id = "list_artifact_files",
    params(("id" = String, Path), ("number" = usize, Path), Part),
    responses((status = 200, body = ChangesView), Refusals))]
pub(super) async fn artifact_files(
    State(app): State<App>,
    Named((id, number)): Named<(String, String)>,
    Params(part): Params<Part>,
) -> Result<Json<ChangesView>, Failure> {
    let change = Change::of_artifact(app.load(&id).await?, &number)?;
    files(&app, &change, &part).await
}

/// Shows a part of the diff of one file that code of a run changes.
#[utoipa::path(get, path = "/{id}/artifacts/{number}/file", tag = "reading", operation_id = "show_artifact_file",
    params(("id" = String, Path), ("number" = usize, Path), FilePart),
    responses((status = 200, body = FileDiffView), Refusals))]
pub(super) async fn artifact_file(
    State(app): State<App>,
    Named((id, number)): Named<(String, String)>,
    Params(part): Params<FilePart>,
) -> Result<Json<FileDiffView>, Failure> {
    let change = Change::of_artifact(app.load(&id).await?, &number)?;
    file(&app, &change, &part).await
}

/// Shows a part of the whole diff of code of a run, as git prints it; the parts together are all of it.
#[utoipa::path(get, path = "/{id}/artifacts/{number}/text", tag = "reading", operation_id = "show_artifact_text",
    params(("id" = String, Path), ("number" = usize, Path), PatchPart),
    responses((status = 200, body = PatchView), Refusals))]
pub(super) async fn artifact_text(
    State(app): State<App>,
    Named((id, number)): Named<(String, String)>,
    Params(part): Params<PatchPart>,
) -> Result<Json<PatchView>, Failure> {
    let change = Change::of_artifact(app.load(&id).await?, &number)?;
    patch(&app, &change, &part).await
}

/// What a run changes, up to one commit.
struct Change {
    run: Run,
    base: CommitId,
    to: CommitId,
}

impl Change {
    fn of_branch(run: Run) -> Result<Self, Failure> {
        match (&run.base, &run.head) {
            (Some(base), Some(head)) => Ok(Self { base: base.clone(), to: head.clone(), run }),
            (_, _) => Err(no_branch(&run)),
        }
    }

    fn of_artifact(run: Run, number: &str) -> Result<Self, Failure> {
        let made = numbered(&run, number)?;
        if !made.kind.is_code() {
            let message = format!("artifact {number} of run {} is a {}, not code", run.id, made.kind.word());
            let hint = format!("read it at /api/runs/{}/artifacts/{number}", run.id);
            return Err(Failure::new(Fault::Conflict, "not_code", message, hint));
        }
        let base = run.base.clone().ok_or_else(|| no_branch(&run))?;
        Ok(Self { to: made.commit.clone(), base, run })
    }

    /// Pages of two changes do not make one.
    fn check_head(&self, wanted: Option<&str>) -> Result<(), Failure> {
        if wanted.is_none_or(|wanted| wanted == self.to.as_str()) {
            return Ok(());
        }
        let message = format!("the change is now to commit {}, not to the one you have a list of", self.to.short());
        Err(Failure::new(Fault::Conflict, "change_moved", message, "list the files again, then read on"))
    }
}

async fn files(app: &App, change: &Change, part: &Part) -> Result<Json<ChangesView>, Failure> {
    let limit = paging::limit(part.limit, MOST_FILES, MOST_FILES)?;
    change.check_head(part.head.as_deref())?;
    // The first page finds out whether everything can be read.
    let listing = if part.offset == 0 { Listing::Fresh } else { Listing::Continued };
    let list = app.shelf.changes(&change.run, &change.to, listing).await?;
    Ok(Json(to_wire::changes((&change.base, &change.to), &list, (part.offset, limit))))
}

async fn file(app: &App, change: &Change, part: &FilePart) -> Result<Json<FileDiffView>, Failure> {
    change.check_head(part.head.as_deref())?;
    let wrong =
        || Failure::user("file", "bad_file_id", "that is no id of a file", "send the `id` that the list of files has");
    let wish = FileWish {
        file: FileId::parse(&part.file).ok_or_else(wrong)?,
        offset: part.offset,
        view: if part.text { TextView::Forced } else { TextView::Auto },
    };
    let page = app.shelf.file_page(&change.run, &change.to, wish).await?.ok_or_else(|| {
        let message = format!("run {} changes no such file", change.run.id);
        Failure::new(Fault::Missing, "no_such_file", message, "see the list of files for those it changes")
    })?;
    Ok(Json(to_wire::file_diff((&change.base, &change.to), part.offset, page)))
}

async fn patch(app: &App, change: &Change, part: &PatchPart) -> Result<Json<PatchView>, Failure> {
    change.check_head(part.head.as_deref())?;
    let limit = part.limit.unwrap_or(LONGEST_PATCH);
    if !(1000..=LONGEST_PATCH).contains(&limit) {
        let hint = format!("use 1000 to {LONGEST_PATCH}");
        return Err(Failure::user("limit", "bad_limit", format!("{limit} bytes cannot be read at once"), hint));
    }
    let page = app.shelf.patch_page(&change.run, &change.to, (part.offset, limit)).await?;
    Ok(Json(PatchView {
        base: change.base.to_string(),
        head: change.to.to_string(),
        offset: part.offset,
        text: page.text,
        next: page.next,
        exact: page.exact,
    }))
}
