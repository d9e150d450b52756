//! Stops what still runs and gives the workspace back. Nothing is deleted before its content is kept by a ref.

use std::path::PathBuf;

use domain::{Outcome, RunId};
use engine::{Job, boundary};

use super::left_over;
use super::run_agent::{keep_unfinished, take_login_back};
use crate::attempt;
use crate::git;
use crate::hands::Hands;
use crate::paths::Paths;
use crate::shim::client::Attempt;
use crate::trouble::Trouble;

pub(crate) async fn run(hands: &Hands, job: &Job) -> Result<Outcome, Trouble> {
    for (spool, number) in spools(&hands.paths, &job.id.run)? {
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
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Trouble::io("reading", &folder, &error)),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| Trouble::io("reading", &folder, &error))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.split('-').next().and_then(|number| number.parse().ok());
        if let Some(number) = number {
            found.push((entry.path(), number));
        }
    }
    found.sort_by_key(|(_, number)| *number);
    Ok(found)
}

pub(super) fn remove_all(paths: &Paths, run: &RunId) -> Result<(), Trouble> {
    git::remove_workspace(&paths.workspace(run))?;
    let folder = paths.run(run);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Trouble::io("reading", &folder, &error)),
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("proof-") || name == "effects" {
            git::remove_workspace(&entry.path())?;
        }
    }
    Ok(())
}
