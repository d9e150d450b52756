//! Merging two commits in memory. No work tree, no merge driver, no branch moves.

use super::names::shown;
use super::private_repo::id_in;
use super::{CommitId, GitError, PrivateRepo, TreeId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    Clean(TreeId),
    Conflict { paths: Vec<String> },
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
        let args = "merge-tree --write-tree";
        let merged = self
            .call()
            .args(["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"])
            .args([base_tip.as_str(), branch_tip.as_str()])
            .finish()?;
        if merged.code != 0 && merged.code != 1 {
            return Err(merged.failed(args.to_owned()));
        }
        let mut fields = merged.stdout.split(|b| *b == 0).filter(|field| !field.is_empty());
        let tree = String::from_utf8_lossy(fields.next().unwrap_or_default()).into_owned();
        let tree = TreeId::parse(&id_in(&tree, args)?)?;
        let is_generated = |path: &[u8]| generated.iter().any(|(name, _)| name.as_bytes() == path);
        let mut paths: Vec<String> = fields.filter(|path| !is_generated(path)).map(shown).collect();
        paths.dedup();
        if !paths.is_empty() {
            return Ok(Merge::Conflict { paths });
        }
        match generated {
            [] => Ok(Merge::Clean(tree)),
            files => Ok(Merge::Clean(self.tree_with(&tree, files)?)),
        }
    }
}
