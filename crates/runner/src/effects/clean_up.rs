//! Stops what still runs and gives the workspace back. Nothing is deleted before its content is kept by a ref.

use std::path::{Path, PathBuf};

use domain::{Outcome, RunId};
use engine::{Job, boundary};

use super::left_over;
use super::run_agent::{keep_unfinished, take_login_back};
use crate::attempt;
use crate::dir_fd::Dir;
use crate::git;
use crate::hands::Hands;
use crate::judge_workspace;
use crate::paths::Paths;
use crate::shim::client::Attempt;
use crate::trouble::Trouble;

pub(crate) async fn run(hands: &Hands, job: &Job) -> Result<Outcome, Trouble> {
    let (paths, run) = (hands.paths.clone(), job.id.run.clone());
    for (spool, number) in hands.blocking(&job.id.run, move || spools(&paths, &run)).await? {
        Attempt::of_spool(&spool).stop().await?;
        attempt::settle(job, &spool, number).await?;
    }
    take_login_back(hands, job).await?;
    if let Some(head) = &job.run.head {
        keep_unfinished(hands, job, head).await?;
    }
    boundary("clean_up.before");
    let (paths, run) = (hands.paths.clone(), job.id.run.clone());
    let remove = move || remove_all(&paths, &run);
    hands.blocking(&job.id.run, remove).await?;
    boundary("clean_up.after");
    left_over::try_again(hands, job).await;
    Ok(Outcome::CleanedUp)
}

/// Every spool of the run with the number of its effect, oldest first.
fn spools(paths: &Paths, run: &RunId) -> Result<Vec<(PathBuf, u32)>, Trouble> {
    let folder = paths.effects(run);
    let mut found: Vec<(PathBuf, u32)> = Vec::new();
    for name in names(&folder)? {
        if let Some(number) = name.split('-').next().and_then(|number| number.parse().ok()) {
            found.push((folder.join(name), number));
        }
    }
    found.sort_by_key(|(_, number)| *number);
    Ok(found)
}

pub(super) fn remove_all(paths: &Paths, run: &RunId) -> Result<(), Trouble> {
    git::remove_workspace(&paths.workspace(run))?;
    judge_workspace::remove_aside(paths, run)?;
    let folder = paths.run(run);
    for name in names(&folder)? {
        if name.starts_with("proof-") || name == "effects" {
            git::remove_workspace(&folder.join(name))?;
        }
    }
    Ok(())
}

/// What is in a folder; nothing in one that is not there.
fn names(folder: &Path) -> Result<Vec<String>, Trouble> {
    let names = match Dir::open(folder).and_then(|folder| folder.names()) {
        Ok(names) => names,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Trouble::io("reading", folder, &error)),
    };
    Ok(names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}
