//! What clean-ups could not give back: noted, and tried again by the clean-up of whichever run ends next. Never a reason
//! to hold a run.

use std::fs::DirEntry;
use std::sync::Arc;

use domain::{EffectId, RunId};
use engine::Job;

use super::clean_up::remove_all;
use super::run_agent::keep_unfinished;
use crate::hands::Hands;
use crate::trouble::Trouble;

/// Runs that one clean-up tries again; the next one goes on.
const MOST: usize = 20;

/// Notes that a run's folders are still there: a file with the number of the clean-up that failed.
pub(crate) fn note(hands: &Hands, job: &Job) {
    let folder = hands.paths.left_over();
    let noted = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(job.id.run.as_str()), job.id.number.to_string()));
    if let Err(error) = noted {
        tracing::warn!(run = %job.id.run, %error, "a run's folders stay, and that could not be noted");
    }
}

/// Tries again for other runs. What fails again stays noted.
pub(crate) async fn try_again(hands: &Hands, job: &Job) {
    for (run, number) in noted(hands).into_iter().filter(|(run, _)| *run != job.id.run).take(MOST) {
        match give_back(hands, job, run.clone(), number).await {
            Ok(()) => tracing::info!(%run, "what an earlier clean-up had left was given back"),
            Err(trouble) => tracing::warn!(%run, %trouble, "a run's folders stay once more"),
        }
    }
}

async fn give_back(hands: &Hands, job: &Job, run: RunId, number: u32) -> Result<(), Trouble> {
    let log = hands.store.events(&run, 0).map_err(|error| Trouble::of(&error))?;
    let state = domain::replay(run.clone(), log);
    let id = EffectId { run: run.clone(), number };
    if let Some(head) = state.head.clone() {
        keep_unfinished(hands, &Job { id, run: Arc::new(state), ..job.clone() }, &head).await?;
    }
    let paths = hands.paths.clone();
    let lane = run.clone();
    let remove = move || {
        remove_all(&paths, &run)?;
        let note = paths.left_over().join(run.as_str());
        std::fs::remove_file(&note).map_err(|error| Trouble::io("removing", &note, &error))
    };
    hands.blocking(&lane, remove).await
}

fn noted(hands: &Hands) -> Vec<(RunId, u32)> {
    let notes = std::fs::read_dir(hands.paths.left_over()).into_iter().flatten().flatten();
    let noted = |entry: DirEntry| {
        let number = std::fs::read_to_string(entry.path()).ok()?.trim().parse().ok()?;
        Some((entry.file_name().to_str()?.parse().ok()?, number))
    };
    notes.filter_map(noted).collect()
}
