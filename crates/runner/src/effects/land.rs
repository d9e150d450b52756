//! Merges the work into its base: only what was validated, only if it is proven on the base it lands on.

use domain::{LandPolicy, Outcome, Proof, SecretFinding};
use engine::{Job, boundary};

use super::prove::prove;
use super::write_record::{MEMORY, project_name};
use crate::git::{self, CommitRequest, LandRequest, Landed, Merge, Strategy, TreeId};
use crate::hands::Hands;
use crate::record;
use crate::repos::{Repos, commit_text, from_git, to_git, wished_at};
use crate::trouble::Trouble;

/// How often a base that moves under our hands is followed.
const FOLLOW: usize = 5;

pub(crate) async fn run(hands: &Hands, job: &Job, policy: &LandPolicy) -> Result<Outcome, Trouble> {
    let _alone = hands.landing_lane(&job.run.opened().project).await;
    if let Some(outcome) = strangers(hands, job, policy).await? {
        return Ok(outcome);
    }
    let mut base = Repos::base_commit(&job.run)?;
    let mut tree = tip_tree(hands, job, policy).await?;
    let (mut proof, mut onto) = (None, None);
    for round in 0..FOLLOW {
        if let Some(outcome) = secrets(hands, job, &base, &tree).await? {
            return Ok(outcome);
        }
        boundary("land.before");
        let landed = land(hands, job, policy, &base, &tree).await?;
        boundary("land.after");
        match landed {
            Landed::Done { commit, .. } | Landed::AlreadyLanded { commit } => {
                return Ok(Outcome::Landed { commit: from_git(&commit)?, proof, onto });
            }
            // Without checks nothing proves the two together; a verdict was about the work on the old base.
            Landed::BaseMoved { tip } if unproven(job) && policy.onto != Some(from_git(&tip)?) => {
                return Ok(Outcome::BaseMoved { base: from_git(&tip)? });
            }
            Landed::BaseMoved { tip } => match merge(hands, job, policy, &tip).await? {
                Err(outcome) => return Ok(outcome),
                Ok((merged_tree, merged_commit)) => {
                    let found = prove(hands, job, &from_git(&merged_commit)?, (round + 1) * 100).await?;
                    if !found.passed() {
                        return Ok(Outcome::LandingUnproven { proof: found });
                    }
                    onto = Some(from_git(&tip)?);
                    (base, tree, proof) =
                        (tip, merged_tree, Some(found).filter(|found: &Proof| !found.checks.is_empty()));
                }
            },
            Landed::CheckoutDirty { paths } => {
                let reason =
                    format!("`{}` is checked out with uncommitted changes", job.run.opened().config.git.base_branch);
                return Ok(Outcome::NotLanded { reason, paths });
            }
            Landed::CheckoutBusy => {
                let reason = "another git process works on the checkout of the base branch".to_owned();
                return Ok(Outcome::NotLanded { reason, paths: Vec::new() });
            }
            Landed::NotFastForward => {
                let reason = "the branch does not follow from the base".to_owned();
                return Ok(Outcome::NotLanded { reason, paths: Vec::new() });
            }
        }
    }
    Ok(Outcome::NotLanded { reason: "the base branch keeps moving".to_owned(), paths: Vec::new() })
}

fn unproven(job: &Job) -> bool {
    job.run.opened().config.checks.is_empty()
}

/// Between what was validated and the tip there may be nothing but records.
async fn strangers(hands: &Hands, job: &Job, policy: &LandPolicy) -> Result<Option<Outcome>, Trouble> {
    let (paths, run, policy) = (hands.paths.clone(), job.run.clone(), policy.clone());
    let look = move || {
        let repos = Repos::open(&paths, &run)?;
        let changes = repos.private.diffstat(&to_git(&policy.validated)?, &to_git(&policy.tip)?)?;
        let strange: Vec<String> =
            changes.into_iter().map(|change| change.path).filter(|path| !path.starts_with(".autonomous/")).collect();
        Ok((!strange.is_empty()).then(|| Outcome::NotLanded {
            reason: "the branch has changes that were not validated".to_owned(),
            paths: strange,
        }))
    };
    hands.blocking(&job.id.run, look).await
}

/// What the merge adds to the base is scanned whoever committed it: a person's own commits passed no scan.
async fn secrets(hands: &Hands, job: &Job, base: &git::CommitId, tree: &TreeId) -> Result<Option<Outcome>, Trouble> {
    let (paths, run, guards) = (hands.paths.clone(), job.run.clone(), hands.guards());
    let (base, tree) = (base.clone(), tree.clone());
    let scan = move || {
        let repos = Repos::open(&paths, &run)?;
        let mut findings = guards.with_tasks(&run)?.in_tree(&repos.private, &base, &tree)?;
        findings.truncate(SecretFinding::MOST);
        Ok((!findings.is_empty()).then_some(Outcome::SecretsFound { findings }))
    };
    hands.blocking(&job.id.run, scan).await
}

async fn tip_tree(hands: &Hands, job: &Job, policy: &LandPolicy) -> Result<TreeId, Trouble> {
    let (paths, run, tip) = (hands.paths.clone(), job.run.clone(), to_git(&policy.tip)?);
    hands.blocking(&job.id.run, move || Ok(Repos::open(&paths, &run)?.private.tree_of(&tip)?)).await
}

async fn land(
    hands: &Hands,
    job: &Job,
    policy: &LandPolicy,
    base: &git::CommitId,
    tree: &TreeId,
) -> Result<Landed, Trouble> {
    let guard = hands.guard(&job.run);
    let (paths, job, base, tree) = (hands.paths.clone(), job.clone(), base.clone(), tree.clone());
    let tip = to_git(&policy.tip)?;
    let id = job.id.run.clone();
    hands
        .blocking(&id, move || {
            let repos = Repos::open(&paths, &job.run)?;
            let request = LandRequest {
                base: repos.base.clone(),
                expected_base: base,
                tree,
                branch_tip: tip,
                strategy: Strategy::Squash,
                text: commit_text(&job.id, "finish", guard.redact(&message(&job)), wished_at(&job.run, &job.id)),
            };
            Ok(git::land(&repos.private, &repos.user, &request)?)
        })
        .await
}

fn message(job: &Job) -> String {
    let run = &*job.run;
    let title = run.latest(domain::ArtifactKind::Spec).map(|spec| spec.title.clone());
    let request = &run.summary();
    match title {
        Some(title) => format!("{title}\n\nRequest: {}", crate::artifacts::one_line(request)),
        None => crate::artifacts::one_line(request),
    }
}

type Merged = Result<(TreeId, git::CommitId), Outcome>;

/// Merges the branch with the moved base. The project's memory is written anew instead of merged line by line.
async fn merge(hands: &Hands, job: &Job, policy: &LandPolicy, base: &git::CommitId) -> Result<Merged, Trouble> {
    let guard = hands.guard(&job.run);
    let (paths, job, base, tip) = (hands.paths.clone(), job.clone(), base.clone(), to_git(&policy.tip)?);
    let id = job.id.run.clone();
    hands
        .blocking(&id, move || {
            let run = &*job.run;
            let repos = Repos::open(&paths, run)?;
            repos.private.import_base(&repos.user, &repos.base)?;
            let before =
                repos.private.read_file(&base, MEMORY)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            let at = wished_at(run, &job.id);
            let memory =
                record::memory(before.as_deref(), &project_name(&run.opened().project), &guard.redact_run(run), at);
            let memory = guard.redact_added(before.as_deref(), &memory);
            let tree = match repos.private.merge_trees(&base, &tip, &[(MEMORY.to_owned(), memory.into_bytes())])? {
                Merge::Clean(tree) => tree,
                Merge::Conflict { paths } => {
                    let reason = format!("the branch conflicts with `{}`", repos.base);
                    return Ok(Err(Outcome::NotLanded { reason, paths }));
                }
            };
            let text = commit_text(&job.id, "finish", format!("Merge `{}` for its last checks", repos.base), at);
            let request = CommitRequest { parents: vec![base, tip], tree: tree.clone(), text };
            Ok(Ok((tree, repos.private.commit(&request)?)))
        })
        .await
}
