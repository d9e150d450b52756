//! Clocks: due timers become commands, leases of this node are renewed. Decides nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::{Command, RunId};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;

use crate::handle::blocking;
use crate::panics::catch_async;
use crate::{Clock, Engine, NodeId, Refusal};

/// How long a lease lasts without renewal.
pub(crate) const LEASE: SignedDuration = SignedDuration::from_secs(30);

// Wall clocks jump (suspend, NTP); looking again this often bounds how late a timer can be.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
const RENEW_EVERY: Duration = Duration::from_secs(10);

/// Fires due timers, for as long as the engine lives.
pub(crate) fn watch(engine: Engine, clock: Clock, mut earliest: watch::Receiver<Option<Timestamp>>) {
    spawn_vital(engine.clone(), "timers", async move {
        let mut broken = HashSet::new();
        loop {
            if fire_due(&engine, &clock, &mut broken).await.is_err() {
                return;
            }
            let wait = until_next(&engine, &clock).await;
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                changed = earliest.changed() => if changed.is_err() { return },
            }
        }
    });
}

/// `broken` are timers that a bug keeps from firing: they are not tried twice.
async fn fire_due(engine: &Engine, clock: &Clock, broken: &mut HashSet<(RunId, u64)>) -> Result<(), Refusal> {
    let (store, now) = (Arc::clone(engine.store()), clock());
    let due = match blocking(move || store.due_timers(now, 256)).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(%error, "timers could not be read; trying again");
            return Ok(());
        }
    };
    for timer in due {
        if broken.contains(&(timer.run.clone(), timer.timer)) {
            continue;
        }
        match engine.submit(timer.run.clone(), Command::TimerFired { timer: timer.timer }, None).await {
            Ok(_) | Err(Refusal::Rejected(_)) => {}
            Err(Refusal::Stopped) => return Err(Refusal::Stopped),
            Err(Refusal::Panicked(_) | Refusal::Quarantined(_)) => drop(broken.insert((timer.run, timer.timer))),
            Err(refusal @ (Refusal::Store(_) | Refusal::ShortIdTaken)) => {
                tracing::warn!(run = %timer.run, %refusal, "a timer could not fire; trying again");
            }
        }
    }
    Ok(())
}

async fn until_next(engine: &Engine, clock: &Clock) -> Duration {
    let store = Arc::clone(engine.store());
    let next = blocking(move || store.next_timer()).await.ok().flatten();
    let wait = next.map(|due| due.duration_since(clock()));
    match wait {
        Some(wait) if wait.is_positive() => wait.unsigned_abs().min(LOOK_AGAIN),
        // Due but refused a moment ago (a busy store): not at once, to leave it room.
        Some(_) => Duration::from_millis(200),
        None => LOOK_AGAIN,
    }
}

/// Renews this node's leases and looks for those of dead nodes.
pub(crate) fn renew(engine: Engine, clock: Clock, node: NodeId) {
    spawn_vital(engine.clone(), "leases", async move {
        let mut positions = engine.positions();
        loop {
            tokio::select! {
                () = tokio::time::sleep(RENEW_EVERY) => {}
                () = closed(&mut positions) => return,
            }
            let (store, node) = (Arc::clone(engine.store()), node.clone());
            let until = clock().saturating_add(LEASE).unwrap_or(Timestamp::MAX);
            if let Err(error) = blocking(move || store.renew(&node, until)).await {
                tracing::warn!(%error, "leases could not be renewed");
                if error.is_fatal() {
                    engine.fail(&error.to_string());
                    return;
                }
            }
            if engine.look().await.is_err() {
                return;
            }
        }
    });
}

/// Runs a task without which nothing goes on by itself: a panic in it ends the process, not only the task.
fn spawn_vital(engine: Engine, name: &'static str, work: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(async move {
        if let Err(panic) = catch_async(work).await {
            engine.fail(&format!("a bug in the task for {name}: {panic}"));
        }
    });
}

async fn closed(positions: &mut watch::Receiver<u64>) {
    while positions.changed().await.is_ok() {}
}
