//! Merges what a child made into the run's branch. What does not merge is shown to the person in their own repository.

use domain::{ChildMerge, CommitId, Digest, Outcome, Parent, Run, Work, child_branch_name};
use engine::{Job, boundary};

use crate::artifacts::subject;
use crate::git::CommitId as GitCommit;
use crate::git::{Adopted, BranchName, JoinRequest, Joined, Published, TreeId, adopt, join, publish};
use crate::hands::Hands;
use crate::repos::{Repos, commit_text, from_git, to_git, wished_at};
use crate::trouble::Trouble;

pub(crate) async fn run(hands: &Hands, job: &Job, merge: &ChildMerge) -> Result<Outcome, Trouble> {
    let guard = hands.guard(&job.run);
    let (paths, inner, merge) = (hands.paths.clone(), job.clone(), merge.clone());
    let work = move || {
        let repos = Repos::open(&paths, &inner.run)?;
        if let Some(outcome) = done_by_hand(&repos, &merge)? {
            return Ok(outcome);
        }
        let request = JoinRequest {
            branch: repos.branch.clone(),
            onto: to_git(&merge.onto)?,
            child: to_git(&merge.commit)?,
            text: commit_text(
                &inner.id,
                stage(&inner.run),
                guard.redact(&message(&inner.run, &merge)),
                wished_at(&inner.run, &inner.id),
            ),
            must_be_resolved: merge.resolved.clone(),
        };
        boundary("merge_child.before");
        let joined = join(&repos.private, &request)?;
        boundary("merge_child.after");
        match joined {
            Joined::Done { commit, tree, changed } => merged(&commit, &tree, changed),
            Joined::Unresolved { paths } => {
                show(&repos, &inner.run, &merge)?;
                Ok(Outcome::ChildConflicts { paths, marked: None })
            }
            Joined::Conflict { paths, marked } => {
                show(&repos, &inner.run, &merge)?;
                Ok(Outcome::ChildConflicts { paths, marked: Some(from_git(&marked)?) })
            }
        }
    };
    hands.blocking(&job.id.run, work).await
}

/// A person may have merged it on the run's branch in their repository.
fn done_by_hand(repos: &Repos, merge: &ChildMerge) -> Result<Option<Outcome>, Trouble> {
    if !merge.look_first {
        return Ok(None);
    }
    let child = to_git(&merge.commit)?;
    boundary("merge_child.adopt.before");
    let adopted = adopt(&repos.private, &repos.user, &repos.branch, &to_git(&merge.onto)?, Some(&child))?;
    boundary("merge_child.adopt.after");
    match adopted {
        Adopted::Taken { commit, tree, changed } => merged(&commit, &tree, changed).map(Some),
        Adopted::Nothing | Adopted::Diverged { .. } | Adopted::Lacks { .. } => Ok(None),
        Adopted::Unsafe(refusal) => Err(refusal.into()),
    }
}

fn merged(commit: &GitCommit, tree: &TreeId, files: Vec<String>) -> Result<Outcome, Trouble> {
    Ok(Outcome::ChildMerged { commit: from_git(commit)?, digest: Digest::of([tree.as_str()]), files })
}

/// Both branches go to the user's repository, so that a person can merge them there. A branch that cannot be put there
/// does not change the answer: the conflict is one either way.
fn show(repos: &Repos, run: &Run, merge: &ChildMerge) -> Result<(), Trouble> {
    let child = BranchName::parse(&child_branch(run, merge))?;
    for (branch, commit) in [(&repos.branch, &merge.onto), (&child, &merge.commit)] {
        boundary("merge_child.show.before");
        let published = publish(&repos.private, &repos.user, branch, &to_git(commit)?)?;
        boundary("merge_child.show.after");
        match published {
            Published::Done | Published::AlreadyThere => {}
            Published::Taken { .. } | Published::CheckoutDirty { .. } | Published::CheckoutBusy => {
                tracing::warn!(run = %run.id, %branch, ?published, "a branch in conflict could not be shown");
            }
        }
    }
    Ok(())
}

/// The name the child's branch got when its run began.
fn child_branch(run: &Run, merge: &ChildMerge) -> String {
    let number = run.tasks.iter().position(|state| state.task.id == merge.task).map_or(0, |index| index + 1);
    let at: CommitId = merge.onto.clone();
    child_branch_name(&Parent {
        run: run.id.clone(),
        branch: run.opened().branch.clone(),
        task: merge.task.clone(),
        number: u32::try_from(number).unwrap_or(u32::MAX),
        attempt: merge.attempt,
        at,
        resolve: Vec::new(),
        problem: None,
    })
}

fn message(run: &Run, merge: &ChildMerge) -> String {
    let title = run.task(&merge.task).map_or("", |state| state.task.title.as_str());
    subject(&format!("Merge task {}: {title}", merge.task))
}

/// The stage whose tasks are merged.
fn stage(run: &Run) -> &str {
    let delegates = |stage: &&domain::Stage| matches!(stage.work, Work::Delegate { .. });
    let stage = run.current_stage().map(|index| run.stage(index));
    let stage = stage.or_else(|| run.opened().playbook.stages.iter().find(delegates));
    stage.map_or("delegate", |stage| stage.name.as_str())
}
