//! Runs the declared checks on a commit, each as a process of its own in a clean checkout, in the sandbox.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use domain::{Check, CheckResult, CommitId, EarlierTests, EffectId, Outcome, Proof};
use engine::{Job, boundary};

use super::earlier_tests::{self, Earlier};
use crate::commission::PrepareError;
use crate::dir_fd::{Dir, FileError};
use crate::git;
use crate::hands::Hands;
use crate::isolation::Needs;
use crate::repos::{Repos, to_git};
use crate::sandbox::{Tier, TierChoice};
use crate::secret_guard::SecretGuard;
use crate::shim::client::{Ended, start_or_adopt};
use crate::shim::{How, Input, Launch};
use crate::trouble::Trouble;

const CHECK_LIMIT: Duration = Duration::from_secs(15 * 60);
/// Where the numbers of the second proof's processes begin.
const EARLIER_TESTS: usize = 10_000;
const TAIL_LINES: usize = 60;
const TAIL_BYTES: usize = 8 * 1024;
/// Enough for what is kept, whatever is redacted in it.
const READ_BYTES: u64 = 64 * 1024;
/// The beginning of what is read of a longer output may be the second half of a secret: it is looked at and not kept.
/// Longer than any secret that is looked for.
const MARGIN_BYTES: usize = 16 * 1024;

pub(crate) async fn run(hands: &Hands, job: &Job, commit: &CommitId) -> Result<Outcome, Trouble> {
    let mut proof = prove(hands, job, commit, 0).await?;
    // What fails as it is goes back anyway.
    if !proof.checks.is_empty() && proof.passed() {
        proof.earlier_tests = with_earlier_tests(hands, job, commit).await?;
    }
    Ok(Outcome::Proved { proof })
}

/// Runs all checks once more with the tests of the base, if the run changed some.
async fn with_earlier_tests(hands: &Hands, job: &Job, commit: &CommitId) -> Result<Option<EarlierTests>, Trouble> {
    match earlier_tests::commit(hands, job, commit).await? {
        Some(Earlier { files, commit }) => {
            let Proof { checks, .. } = prove(hands, job, &commit, EARLIER_TESTS).await?;
            Ok(Some(EarlierTests { files, checks }))
        }
        None => Ok(None),
    }
}

/// Runs all checks; `first` keeps apart the processes of several proofs within one effect.
pub(crate) async fn prove(hands: &Hands, job: &Job, commit: &CommitId, first: usize) -> Result<Proof, Trouble> {
    let mut checks = Vec::new();
    for (index, check) in job.run.opened().config.checks.iter().enumerate() {
        let ground = if index == 0 { Ground::Fresh } else { Ground::AsLeft };
        checks.push(run_check(hands, job, commit, check, (first + index, ground)).await?);
    }
    let ground = hands.paths.proving_ground(&job.id);
    hands.blocking(&job.id.run, move || Ok(git::remove_workspace(&ground)?)).await?;
    Ok(Proof { commit: commit.clone(), checks, earlier_tests: None })
}

/// What the first check of a proof finds beside the commit, and what those after it find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ground {
    Fresh,
    /// With what earlier checks of the same proof built.
    AsLeft,
}

async fn run_check(
    hands: &Hands,
    job: &Job,
    commit: &CommitId,
    check: &Check,
    (part, ground): (usize, Ground),
) -> Result<CheckResult, Trouble> {
    let spool = hands.paths.spool(&job.id, Some(part));
    boundary("check.before");
    let attempt = start_or_adopt(&spool, || prepare(hands, job, commit, check, (part, ground))).await?;
    let ended = match tokio::time::timeout(CHECK_LIMIT, attempt.wait()).await {
        Ok(ended) => ended?,
        Err(_) => attempt.stop().await?,
    };
    boundary("check.after");
    let mut filled = String::new();
    let exit = match &ended {
        Ended::Lost => {
            // A check costs nothing and may be run again: its next try begins anew.
            attempt.stop().await?;
            hands.blocking(&job.id.run, move || Ok(git::remove_workspace(&spool)?)).await?;
            return Err(Trouble::unclear(format!("the supervisor of the check `{}` was killed", check.name)));
        }
        Ended::Exited(exit) => match &exit.exit {
            How::Code(code) => Some(*code),
            How::Signal(_) | How::Stopped => None,
            How::DiskQuota(what) => {
                filled = format!("\n[the check was stopped: {what}]");
                None
            }
            How::LaunchFailed(message) => {
                hands.blocking(&job.id.run, move || Ok(git::remove_workspace(&spool)?)).await?;
                return Err(Trouble::not_started(format!("the check `{}`", check.name), message));
            }
        },
    };
    let guard = hands.guard(&job.run);
    let tail = hands.blocking(&job.id.run, move || Ok(tail(&spool, &guard))).await? + &filled;
    Ok(CheckResult { name: check.name.clone(), command: check.command.clone(), exit, tail })
}

async fn prepare(
    hands: &Hands,
    job: &Job,
    commit: &CommitId,
    check: &Check,
    (part, found): (usize, Ground),
) -> Result<Launch, PrepareError> {
    let tier = hands.tier(Path::new(&job.run.opened().project), Needs::Nothing).await?;
    let ground = hands.paths.proving_ground(&job.id);
    let home = hands.paths.spool(&job.id, Some(part)).join("home");
    let (paths, inner, commit, place, made) =
        (hands.paths.clone(), job.clone(), commit.clone(), ground.clone(), home.clone());
    let lay_out = move || {
        let repos = Repos::open(&paths, &inner.run)?;
        if found == Ground::Fresh {
            git::remove_workspace(&place)?;
        }
        Dir::create(&made).map_err(|error| Trouble::io("creating", &made, &error))?;
        Ok(git::materialise(&repos.private, &to_git(&commit)?, &place)?)
    };
    hands.blocking(&job.id.run, lay_out).await?;
    Ok(Launch { tier, ..launch(hands, &job.id, check, part, &ground, &home) })
}

fn launch(hands: &Hands, effect: &EffectId, check: &Check, part: usize, ground: &Path, home: &Path) -> Launch {
    // Both streams in one, in the order they were written.
    let command = format!("exec 2>&1\n{}", check.command);
    Launch {
        spool: hands.paths.spool(effect, Some(part)),
        workspace: ground.to_owned(),
        session: home.to_owned(),
        extra_ro: hands.isolation.readable(Vec::new()),
        hide: vec![hands.paths.home().to_owned()],
        argv: vec!["/bin/sh".to_owned(), "-c".to_owned(), command],
        env: BTreeMap::new(),
        tier: TierChoice::Exactly(Tier::Sandboxed),
        grant: crate::models::nothing(effect),
        limits: hands.isolation.limits.clone(),
        program: hands.program.clone(),
        input: Input::Nothing,
    }
}

/// The end of what a check printed. Redacted before it is cut: half a secret would not be known.
fn tail(spool: &Path, guard: &SecretGuard) -> String {
    // A check that printed nothing has no file.
    let read = || -> Result<Vec<u8>, FileError> { Dir::open(spool)?.read_end("output.jsonl", READ_BYTES) };
    let bytes = read().unwrap_or_default();
    let skipped = if bytes.len() as u64 >= READ_BYTES { MARGIN_BYTES } else { 0 };
    let text = guard.without_secrets_after(&String::from_utf8_lossy(&bytes), skipped);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    let text = lines[from..].join("\n");
    match text.len().checked_sub(TAIL_BYTES) {
        None | Some(0) => text,
        Some(over) => {
            let at = text.char_indices().map(|(at, _)| at).find(|at| *at >= over).unwrap_or(over);
            format!("…{}", &text[at..])
        }
    }
}
