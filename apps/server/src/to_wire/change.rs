//! Changes of code, from what git told to what is shown.

use domain::{Artifact, CommitId};
use runner::git::{BinarySide, ChangeList, ChangeStatus, ChangedFile, Content, FilePage, Side};
use runner::{ArtifactText, FileCounts, RunDiff};
use wire::{
    ArtifactContent, BinaryView, ChangeTotals, ChangedFileView, ChangesView, DiffView, FileChangeView, FileDiffView,
    SideView,
};

/// A diff in one piece.
pub(crate) fn diff(diff: RunDiff) -> DiffView {
    let total = totals(&diff.files);
    let file = |(path, status, added, deleted)| FileChangeView { path, status, added, deleted };
    DiffView {
        base: diff.base,
        head: diff.head,
        files: diff.files.into_iter().map(file).collect(),
        diff: diff.text,
        truncated: diff.truncated,
        total,
        left_out: diff.left_out,
    }
}

/// An artifact with its content.
pub(crate) fn artifact_content(artifact: &Artifact, read: ArtifactText, drawings: Vec<String>) -> ArtifactContent {
    ArtifactContent {
        artifact: super::artifact(artifact),
        content: read.text,
        drawings,
        truncated: !read.left_out.is_empty(),
        left_out: read.left_out,
        total: read.files.as_deref().map(totals),
        note: read.note,
    }
}

fn totals(files: &[FileCounts]) -> ChangeTotals {
    ChangeTotals {
        files: files.len() as u64,
        added: files.iter().filter_map(|(_, _, added, _)| *added).sum(),
        deleted: files.iter().filter_map(|(_, _, _, deleted)| *deleted).sum(),
        binary: files.iter().filter(|(_, _, added, _)| added.is_none()).count() as u64,
    }
}

/// A page of the list of files.
pub(crate) fn changes(
    (base, head): (&CommitId, &CommitId),
    list: &ChangeList,
    (offset, limit): (usize, usize),
) -> ChangesView {
    let (added, deleted) = list.lines();
    let binary = list.files.iter().filter(|file| file.content == Content::Binary).count() as u64;
    let end = offset.saturating_add(limit);
    ChangesView {
        base: base.to_string(),
        head: head.to_string(),
        total: ChangeTotals { files: list.files.len() as u64, added, deleted, binary },
        files: list.files.iter().skip(offset).take(limit).map(file).collect(),
        next: (end < list.files.len()).then_some(end as u64),
    }
}

/// A page of the diff of one file.
pub(crate) fn file_diff((base, head): (&CommitId, &CommitId), offset: u64, page: FilePage) -> FileDiffView {
    let (old, new) = page.binary.unwrap_or_default();
    FileDiffView {
        base: base.to_string(),
        head: head.to_string(),
        file: file(&page.file),
        offset,
        text: page.text,
        next: page.next,
        exact: page.exact,
        old_binary: old.map(binary),
        new_binary: new.map(binary),
    }
}

fn file(file: &ChangedFile) -> ChangedFileView {
    ChangedFileView {
        id: file.id.to_string(),
        path: file.path(),
        status: file.status.letter().to_owned(),
        from: match &file.status {
            ChangeStatus::Renamed { from } => Some(from.clone()),
            ChangeStatus::Added | ChangeStatus::Modified | ChangeStatus::Deleted | ChangeStatus::TypeChanged => None,
        },
        added: file.lines.map(|(added, _)| added),
        deleted: file.lines.map(|(_, deleted)| deleted),
        content: match file.content {
            Content::Text => "text",
            Content::Escaped => "escaped",
            Content::Binary => "binary",
        }
        .to_owned(),
        old: file.old.as_ref().map(side),
        new: file.new.as_ref().map(side),
    }
}

fn side(side: &Side) -> SideView {
    let Side { mode, object, size, target } = side.clone();
    SideView { mode, object, size, target }
}

fn binary(side: BinarySide) -> BinaryView {
    BinaryView { size: side.size, sha256: side.sha256, kind: side.kind.to_owned(), first: side.first }
}
