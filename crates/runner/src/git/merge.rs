//! Merging two commits in memory. No work tree, no merge driver, no branch moves.

use super::names::shown;
use super::private_repo::id_in;
use super::{CommitId, GitError, PrivateRepo, TreeId};

const ARGS: &str = "merge-tree --write-tree";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    Clean(TreeId),
    Conflict { paths: Vec<String> },
}

/// What git made of a merge: always a whole tree, with both versions between conflict markers
/// where a file could not be merged.
pub(crate) struct MergedTree {
    pub(crate) tree: TreeId,
    /// Empty only if the merge is clean.
    pub(crate) conflicts: Vec<Vec<u8>>,
}

impl PrivateRepo {
    /// Merges the branch into the base. Files that are generated rather than edited are given
    /// with their content: it is set in the result, and a conflict in them is none.
    pub fn merge_trees(
        &self,
        base_tip: &CommitId,
        branch_tip: &CommitId,
        generated: &[(String, Vec<u8>)],
    ) -> Result<Merge, GitError> {
        let MergedTree { tree, conflicts } = self.merged_tree(base_tip, branch_tip)?;
        let is_generated = |path: &[u8]| generated.iter().any(|(name, _)| name.as_bytes() == path);
        let paths: Vec<String> = conflicts.iter().filter(|path| !is_generated(path)).map(|path| shown(path)).collect();
        if !paths.is_empty() {
            return Ok(Merge::Conflict { paths });
        }
        match generated {
            [] => Ok(Merge::Clean(tree)),
            files => Ok(Merge::Clean(self.tree_with(&tree, files)?)),
        }
    }

    pub(crate) fn merged_tree(&self, ours: &CommitId, theirs: &CommitId) -> Result<MergedTree, GitError> {
        let merged = self
            .call()
            .args(["merge-tree", "--write-tree", "-z", "--name-only", "--messages"])
            .args([ours.as_str(), theirs.as_str()])
            .finish()?;
        let strange = || GitError::Unreadable {
            args: ARGS.to_owned(),
            detail: "fields in an order it never uses, or a conflict without a path".to_owned(),
        };
        let Said { tree, paths, named } = match merged.code {
            0 | 1 => parse(&merged.stdout).ok_or_else(strange)?,
            _ => return Err(merged.failed(ARGS.to_owned())),
        };
        let tree = TreeId::parse(&id_in(&String::from_utf8_lossy(tree), ARGS)?)?;
        let mut conflicts = match (merged.code, paths.is_empty()) {
            (0, _) => Vec::new(),
            (_, false) => paths,
            // A directory that was renamed to several places: no file of it is in conflict.
            (_, true) if !named.is_empty() => named,
            (_, true) => return Err(strange()),
        };
        conflicts.sort();
        conflicts.dedup();
        Ok(MergedTree { tree, conflicts })
    }
}

struct Said<'a> {
    tree: &'a [u8],
    /// Files in conflict.
    paths: Vec<Vec<u8>>,
    /// What messages about conflicts name.
    named: Vec<Vec<u8>>,
}

/// `<tree>\0`, then each path in conflict, then an empty field, then messages as
/// `<count>\0<path>\0…<kind>\0<text>\0`.
fn parse(out: &[u8]) -> Option<Said<'_>> {
    let mut fields = out.split(|b| *b == 0);
    let tree = fields.next()?;
    let paths = fields.by_ref().take_while(|field| !field.is_empty()).map(<[u8]>::to_vec).collect();
    let mut named = Vec::new();
    while let Some(count) = fields.next().filter(|field| !field.is_empty()) {
        let count: usize = std::str::from_utf8(count).ok()?.parse().ok()?;
        let about: Vec<Vec<u8>> = fields.by_ref().take(count).map(<[u8]>::to_vec).collect();
        let kind = fields.next()?;
        fields.next()?;
        if kind.starts_with(b"CONFLICT") {
            named.extend(about);
        }
    }
    Some(Said { tree, paths, named })
}
