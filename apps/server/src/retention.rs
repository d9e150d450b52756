//! Retention: session folders of runs that ended long ago are removed. Conversations stay in `conversations.db`; a fork of
//! such a run begins its agents' conversations anew.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::RunId;
use engine::{Store, StoreError, Writer};
use jiff::{SignedDuration, Timestamp};

use crate::App;

/// How often it is looked for old folders.
const EVERY: Duration = Duration::from_secs(6 * 60 * 60);

/// Removes old session folders now and then, for as long as the engine runs.
pub(crate) fn begin(app: &App) {
    let Some(keep) = app.setup.keep_sessions else { return };
    let (store, home, mut writer) = (Arc::clone(app.engine.store()), app.setup.home.clone(), app.engine.writer());
    tokio::spawn(async move {
        loop {
            let before = Timestamp::now().saturating_sub(keep).unwrap_or(Timestamp::MIN);
            let (store, home) = (Arc::clone(&store), home.clone());
            let swept = tokio::task::spawn_blocking(move || remove_old_sessions(store.as_ref(), &home, before)).await;
            match swept {
                Ok(Ok(0)) => {}
                Ok(Ok(runs)) => tracing::info!(runs, "session folders of old runs were removed"),
                Ok(Err(error)) => tracing::warn!(%error, "session folders of old runs could not be looked for"),
                Err(error) => tracing::warn!(%error, "removing session folders of old runs broke off"),
            }
            tokio::select! {
                () = tokio::time::sleep(EVERY) => {}
                _ended = writer.wait_for(|state| *state != Writer::Running) => return,
            }
        }
    });
}

/// Removes the session folders of runs that ended before then and have nothing left to do; says of how many. Blocks.
///
/// # Errors
/// When the store cannot be read. A folder that cannot be removed is logged and left.
pub fn remove_old_sessions(store: &dyn Store, home: &Path, before: Timestamp) -> Result<usize, StoreError> {
    let mut removed = 0;
    // Only we make folders here, named after runs; whatever else lies here is not ours to remove.
    let Ok(entries) = std::fs::read_dir(home.join("runs")) else { return Ok(0) };
    for folder in entries.filter_map(Result::ok) {
        let Some(run) = folder.file_name().to_str().and_then(|name| name.parse::<RunId>().ok()) else { continue };
        let row = store.row(&run)?;
        let old = row.and_then(|row| row.completed_at).is_some_and(|ended| ended < before);
        let sessions = folder.path().join("sessions");
        if !old || !sessions.exists() || !store.outbox(Some(&run))?.is_empty() {
            continue;
        }
        match runner::git::remove_workspace(&sessions) {
            Ok(()) => removed += 1,
            Err(error) => tracing::warn!(%run, %error, "the session folder of an old run cannot be removed"),
        }
        // Fails where something else lies in it, which stays.
        let _ = std::fs::remove_dir(folder.path());
    }
    Ok(removed)
}

/// How long session folders are kept; `None` for ever.
pub(crate) fn keep(days: Option<u32>) -> Option<SignedDuration> {
    let days = days.unwrap_or(30);
    (days > 0).then(|| SignedDuration::from_hours(24 * i64::from(days)))
}
