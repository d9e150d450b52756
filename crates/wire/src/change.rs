//! A change of code as it is shown for a decision: the whole list of files with true counts, and their text page by page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The files of a change. `total` is about all of them, however many this page has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangesView {
    /// From this commit.
    pub base: String,
    /// To this commit. Pages and texts of another one do not belong to this list.
    pub head: String,
    /// Counts over all files.
    pub total: ChangeTotals,
    /// In the order of git's own diff.
    pub files: Vec<ChangedFileView>,
    /// The `offset` of the next page, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// Counts over all files of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeTotals {
    /// Files.
    pub files: u64,
    /// Added lines.
    pub added: u64,
    /// Deleted lines.
    pub deleted: u64,
    /// Files without lines.
    pub binary: u64,
}

/// One changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedFileView {
    /// Names the file in this change, whatever characters its path has.
    pub id: String,
    /// Path; control characters, and bytes that are not UTF-8, are written as escapes.
    pub path: String,
    /// `A` added, `M` modified, `D` deleted, `T` another kind of thing, `R` renamed.
    pub status: String,
    /// The path it had, if it was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Added lines; absent for binary files.
    pub added: Option<u64>,
    /// Deleted lines; absent for binary files.
    pub deleted: Option<u64>,
    /// `text`; `escaped`: text that git calls binary, for a NUL byte for instance; or `binary`.
    pub content: String,
    /// Before the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<SideView>,
    /// After the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<SideView>,
}

/// A file before or after a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SideView {
    /// `100644` file, `100755` executable, `120000` symlink, `160000` submodule.
    pub mode: String,
    /// Git's id of the content; of a submodule its commit.
    pub object: String,
    /// Bytes; 0 for submodules.
    pub size: u64,
    /// Where a symlink leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// A part of the diff of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileDiffView {
    /// From this commit.
    pub base: String,
    /// To this commit.
    pub head: String,
    /// The file.
    pub file: ChangedFileView,
    /// Where this part begins.
    pub offset: u64,
    /// Hunks of a unified diff, beginning with `@@`; empty where no line differs.
    pub text: String,
    /// The `offset` of the next part; absent when this is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Whether `text` has every byte; otherwise those that are not UTF-8 stand there as `\xNN`.
    pub exact: bool,
    /// Of a binary: before the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_binary: Option<BinaryView>,
    /// Of a binary: after the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_binary: Option<BinaryView>,
}

/// What can be said of content that has no lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BinaryView {
    /// Bytes.
    pub size: u64,
    /// SHA-256 of the content.
    pub sha256: String,
    /// What its first bytes say it is.
    pub kind: String,
    /// The first bytes, as hexadecimal digits.
    pub first: String,
}

/// A part of a whole diff, as git prints it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatchView {
    /// From this commit.
    pub base: String,
    /// To this commit.
    pub head: String,
    /// Where this part begins.
    pub offset: u64,
    /// Unified diff.
    pub text: String,
    /// The `offset` of the next part; absent when this is the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Whether `text` has every byte; otherwise those that are not UTF-8 stand there as `\xNN`.
    pub exact: bool,
}
