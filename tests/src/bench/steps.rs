//! Durable steps a second of the engine, with effects that do nothing.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use domain::{Command, Effect, Outcome, RunId};
use engine::{EffectRunner, Engine, EntryRule, Job, NodeId, Parts, Slots, Store};
use jiff::Timestamp;
use store::Sqlite;
use testkit::{agree, samples};
use tokio::sync::oneshot;

const WHILE: Duration = Duration::from_secs(4);

/// What was measured.
pub struct Steps {
    /// Whole runs.
    pub runs_per_second: f64,
    /// Effects finished and recorded.
    pub steps_per_second: f64,
    /// Events recorded.
    pub events_per_second: f64,
}

/// Where data is put: beside the build, on a disk and not in memory.
pub fn place() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.parent().context("a program lies in a folder")?.to_owned())
}

/// Does nothing, at once, and tells who waits when a run's last effect comes.
#[derive(Default)]
pub struct Noop {
    /// Effects done.
    pub done: AtomicU64,
    waiting: Mutex<HashMap<RunId, oneshot::Sender<()>>>,
}

impl Noop {
    /// Resolves when the run's last effect is done.
    pub fn last_effect_of(&self, run: &RunId) -> oneshot::Receiver<()> {
        let (tell, told) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), tell);
        told
    }
}

impl EffectRunner for Noop {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        self.done.fetch_add(1, Ordering::Relaxed);
        if matches!(job.effect, Effect::CleanUp) {
            let waiter = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.id.run);
            // Nobody may be waiting any more.
            let _ = waiter.map(|tell| tell.send(()));
        }
        Box::pin(ready(agree(&job.run, job.id.number, &job.effect)))
    }
}

/// An engine for measuring.
pub fn engine(store: Arc<dyn Store>, runner: Arc<dyn EffectRunner>) -> Result<Engine> {
    Ok(Engine::start(Parts {
        store,
        runner,
        clock: Arc::new(Timestamp::now),
        slots: Slots { heavy: 4096, light: 4096 },
        // One user starts them all.
        entry: EntryRule { per_user: u32::MAX, waiting: u32::MAX },
        node: NodeId("bench".to_owned()),
        sole_process: true,
    })?)
}

/// Keeps so many runs going for a while.
pub async fn measure(path: &Path, at_once: u64) -> Result<Steps> {
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(path)?);
    let runner = Arc::new(Noop::default());
    let engine = engine(Arc::clone(&store), Arc::clone(&runner) as Arc<dyn EffectRunner>)?;
    let next = Arc::new(AtomicU64::new(1));
    let ended = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let workers = (0..at_once).map(|_| {
        let (engine, runner, next, ended) =
            (engine.clone(), Arc::clone(&runner), Arc::clone(&next), Arc::clone(&ended));
        tokio::spawn(async move {
            while begun.elapsed() < WHILE {
                let id = samples::run_id(next.fetch_add(1, Ordering::Relaxed));
                let last = runner.last_effect_of(&id);
                let start = Command::Start(Box::new(samples::start(samples::config())));
                engine.submit(id, start, None).await?;
                last.await?;
                ended.fetch_add(1, Ordering::Relaxed);
            }
            anyhow::Ok(())
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await??;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let (steps, runs, events) = (runner.done.load(Ordering::Relaxed), ended.load(Ordering::Relaxed), store.position()?);
    engine.stop().await;
    Ok(Steps {
        runs_per_second: runs as f64 / seconds,
        steps_per_second: steps as f64 / seconds,
        events_per_second: events as f64 / seconds,
    })
}
