//! How fast open runs move again after the process died.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;
use domain::{Command, EffectId, Outcome};
use engine::{EffectRunner, Job, Store};
use store::Sqlite;
use testkit::samples;
use tokio::sync::mpsc;

use super::steps::engine;

/// What was measured.
pub struct Recovery {
    /// From opening the database to the first effect.
    pub first_ms: f64,
    /// To the effect of the last run.
    pub all_ms: f64,
    /// Runs that moved.
    pub moved: usize,
    /// Effects that were started twice.
    pub doubled: usize,
}

/// Effects that never end; each start is told.
struct Starts {
    tell: mpsc::UnboundedSender<EffectId>,
    seen: Mutex<HashMap<EffectId, usize>>,
}

impl EffectRunner for Starts {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner).entry(job.id.clone()).or_default() += 1;
        // The measurement may be over.
        let _ = self.tell.send(job.id);
        Box::pin(pending())
    }
}

/// Leaves so many runs with an open, leased effect, then starts again as after a kill.
pub async fn measure(path: &Path, runs: u64) -> Result<Recovery> {
    let (tell, _quiet) = mpsc::unbounded_channel();
    let starts = Arc::new(Starts { tell, seen: Mutex::default() });
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(path)?);
    let before = engine(Arc::clone(&store), starts)?;
    for n in 1..=runs {
        let start = Command::Start(Box::new(samples::start(samples::config())));
        before.submit(samples::run_id(n), start, None).await?;
    }
    before.stop().await;
    drop((before, store));

    let (tell, mut told) = mpsc::unbounded_channel();
    let starts = Arc::new(Starts { tell, seen: Mutex::default() });
    let begun = Instant::now();
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(path)?);
    let after = engine(store, Arc::clone(&starts) as Arc<dyn EffectRunner>)?;
    let mut first_ms = f64::NAN;
    let mut moved = 0;
    while moved < usize::try_from(runs)? && told.recv().await.is_some() {
        moved += 1;
        if moved == 1 {
            first_ms = begun.elapsed().as_secs_f64() * 1000.0;
        }
    }
    let all_ms = begun.elapsed().as_secs_f64() * 1000.0;
    after.stop().await;
    let seen = starts.seen.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Recovery { first_ms, all_ms, moved: seen.len(), doubled: seen.values().filter(|count| **count > 1).count() })
}
