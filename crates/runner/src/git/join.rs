//! Merging the branch of a finished child run into its parent's branch, in the private
//! repository. Moves the branch only to a merge that git made without a conflict; anything else
//! is an answer, and the branch stands where it stood. Never looks at a work tree.

use super::commit::EFFECT_TRAILER;
use super::markers::with_markers;
use super::names::shown;
use super::{BranchName, CommitId, CommitRequest, CommitText, GitError, PrivateRepo, TreeId, TreeIsh};

#[derive(Debug, Clone)]
pub struct JoinRequest {
    /// The parent run's branch.
    pub branch: BranchName,
    /// Where it stands.
    pub onto: CommitId,
    pub child: CommitId,
    /// With a `Holdpoint-Effect` trailer, by which a join that happened is known again.
    pub text: CommitText,
    /// Paths that were in conflict before, as `Joined::Conflict` named them: they must not have
    /// conflict markers any more.
    pub must_be_resolved: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Joined {
    /// The branch stands at a merge commit of both, or already had all of the child's work.
    Done {
        commit: CommitId,
        tree: TreeId,
        /// What the join changed on the branch.
        changed: Vec<String>,
    },
    /// The two do not merge. `marked` is a commit of both, with both versions between conflict
    /// markers, to resolve them from; it stays under a reference of its own.
    Conflict { paths: Vec<String>, marked: CommitId },
    /// These files still have conflict markers.
    Unresolved { paths: Vec<String> },
}

/// Joins the child's work. After a crash at any instant a second call with the same request
/// gives the same answer.
pub fn join(private: &PrivateRepo, request: &JoinRequest) -> Result<Joined, GitError> {
    let JoinRequest { branch, onto, child, text, must_be_resolved } = request;
    let Some(effect) = text.trailer(EFFECT_TRAILER) else {
        return Err(GitError::BadTrailer { key: EFFECT_TRAILER.to_owned(), reason: "a join must carry it" });
    };
    if let Some(done) = earlier(private, branch, child, effect)? {
        return Ok(done);
    }
    if private.is_ancestor(child, onto)? {
        return done(private, onto, onto.clone());
    }
    private.stand_at(branch, onto, text)?;
    if let Some(unresolved) = unresolved(private, child, must_be_resolved)? {
        return Ok(unresolved);
    }
    let merged = private.merged_tree(onto, child)?;
    if !merged.conflicts.is_empty() {
        let paths: Vec<String> = merged.conflicts.iter().map(|path| shown(path)).collect();
        let marked = keep_marked(private, request, merged.tree, &paths)?;
        return Ok(Joined::Conflict { paths, marked });
    }
    if let Some(unresolved) = unresolved(private, &merged.tree, must_be_resolved)? {
        return Ok(unresolved);
    }
    let parents = vec![onto.clone(), child.clone()];
    let commit = private.commit(&CommitRequest { parents, tree: merged.tree, text: text.clone() })?;
    private.set_tip(branch, &commit, Some(onto))?;
    done(private, onto, commit)
}

/// The join of this child that an earlier call made, if one did.
fn earlier(
    private: &PrivateRepo,
    branch: &BranchName,
    child: &CommitId,
    effect: &str,
) -> Result<Option<Joined>, GitError> {
    // No merge of the child is part of the child's own history, so that need not be searched.
    let Some(commit) = private.find_by_effect(branch, effect, Some(child))? else {
        return Ok(None);
    };
    match &private.parents(&commit)?[..] {
        [before, joined] if joined == child => done(private, before, commit).map(Some),
        _ => Ok(None),
    }
}

fn done(private: &PrivateRepo, before: &CommitId, commit: CommitId) -> Result<Joined, GitError> {
    let tree = private.tree_of(&commit)?;
    let changed = private.diffstat(before, &commit)?.into_iter().map(|change| change.path).collect();
    Ok(Joined::Done { commit, tree, changed })
}

fn unresolved(private: &PrivateRepo, tree: &impl TreeIsh, paths: &[String]) -> Result<Option<Joined>, GitError> {
    let paths = with_markers(private, tree, paths)?;
    Ok((!paths.is_empty()).then_some(Joined::Unresolved { paths }))
}

fn keep_marked(
    private: &PrivateRepo,
    request: &JoinRequest,
    tree: TreeId,
    paths: &[String],
) -> Result<CommitId, GitError> {
    let mut text = request.text.clone();
    let subject = text.message.lines().next().unwrap_or_default();
    text.message = format!("Conflict: {subject}\n\nTo be resolved:\n- {}", paths.join("\n- "));
    // The effect is not done: nothing may take this commit for its outcome.
    text.trailers.retain(|(key, _)| key != EFFECT_TRAILER);
    let parents = vec![request.onto.clone(), request.child.clone()];
    let marked = private.commit(&CommitRequest { parents, tree, text })?;
    private.force_ref(&format!("refs/holdpoint/conflicts/{}/{marked}", request.branch), &marked)?;
    Ok(marked)
}
