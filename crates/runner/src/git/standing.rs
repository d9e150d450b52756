//! Where a run's branch stands is told by its log. An effect that died or failed right after it had moved the branch
//! left a commit that no event names: the branch is taken back from it, and the commit is kept under a reference of its
//! own. Commits of anybody else are never taken off.

use super::commit::{EFFECT_TRAILER, RUN_TRAILER};
use super::publish::published_note;
use super::{BranchName, CommitId, CommitText, GitError, PrivateRepo};

impl PrivateRepo {
    /// Makes the branch stand at `head`, where the log of the run has it, for an effect that has found nothing of its own
    /// on it.
    pub(crate) fn stand_at(&self, branch: &BranchName, head: &CommitId, text: &CommitText) -> Result<(), GitError> {
        let Some(tip) = self.tip(branch)? else {
            return self.set_tip(branch, head, None);
        };
        if tip == *head {
            return Ok(());
        }
        if self.is_ancestor(&tip, head)? {
            // A power cut took the name back and not the commit.
            return self.set_tip(branch, head, Some(&tip));
        }
        if !self.is_ancestor(head, &tip)? || !self.is_left_over(branch, head, &tip, text)? {
            return Err(GitError::Moved {
                reference: branch.full(),
                expected: Some(head.to_string()),
                actual: Some(tip.to_string()),
            });
        }
        tracing::warn!(%branch, %tip, %head, "an effect that failed had moved the branch; it is taken back");
        self.force_ref(&format!("refs/holdpoint/rescue/left-over/{tip}"), &tip)?;
        self.set_tip(branch, head, Some(&tip))
    }

    /// Whether all that came after `head` is of earlier effects of this run, or of a take-over that was not told.
    fn is_left_over(
        &self,
        branch: &BranchName,
        head: &CommitId,
        tip: &CommitId,
        text: &CommitText,
    ) -> Result<bool, GitError> {
        if self.reference(&published_note(branch))?.as_ref() == Some(tip) {
            return Ok(true);
        }
        let (Some(run), Some(effect)) = (text.trailer(RUN_TRAILER), text.trailer(EFFECT_TRAILER)) else {
            return Ok(false);
        };
        let of_run = self.trailers(tip, Some(head), RUN_TRAILER)?;
        let by_effect = self.trailers(tip, Some(head), EFFECT_TRAILER)?;
        let ours = of_run.iter().all(|(_, values)| values[..] == [run]);
        let ours_was_later =
            |values: &Vec<String>| !values.is_empty() && values.iter().all(|found| number(found) < number(effect));
        let earlier = by_effect.iter().all(|(_, values)| ours_was_later(values));
        Ok(ours && earlier)
    }
}

/// The number in `<run>/<number>`; what has none is later than all.
fn number(effect: &str) -> u32 {
    effect.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(u32::MAX)
}
