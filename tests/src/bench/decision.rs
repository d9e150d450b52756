//! From a person's decision to the start of the next effect, with many runs waiting.

use std::collections::HashMap;
use std::future::{Future, pending, ready};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use domain::{Command, Decide, Decision, Effect, Outcome, Run, RunId};
use engine::{EffectRunner, Engine, Job, Store};
use store::Sqlite;
use testkit::{agree, samples};
use tokio::sync::oneshot;

use super::memory::wait_at_gate;
use super::served::{TOKEN, serve};
use super::{Spread, steps};

const WAITING: u64 = 1000;

/// What was measured.
pub struct Latency {
    /// Through the engine's door.
    pub engine: Spread,
    /// Through the whole server.
    pub http: Spread,
}

/// Does nothing; tells the instant at which a run's publishing starts.
#[derive(Default)]
struct Watch {
    waiting: Mutex<HashMap<RunId, oneshot::Sender<Instant>>>,
}

impl Watch {
    fn next_effect_of(&self, run: &RunId) -> oneshot::Receiver<Instant> {
        let (tell, told) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone(), tell);
        told
    }
}

impl EffectRunner for Watch {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        if matches!(job.effect, Effect::Publish { .. }) {
            let waiter = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.id.run);
            // Nobody may be waiting.
            let _ = waiter.map(|tell| tell.send(Instant::now()));
            // The run stands still here, so that its next steps do not take part in the measurement of others.
            return Box::pin(pending());
        }
        Box::pin(ready(agree(&job.run, job.id.number, &job.effect)))
    }
}

/// Approves one run after the other while the rest wait.
pub async fn measure(folder: &Path) -> Result<Latency> {
    std::fs::create_dir_all(folder)?;
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(&folder.join("holdpoint.db"))?);
    let watch = Arc::new(Watch::default());
    let engine = steps::engine(store, Arc::clone(&watch) as Arc<dyn EffectRunner>)?;
    wait_at_gate(&engine, 1, WAITING + 800).await?;
    let through_engine = spread_of_engine(&engine, &watch, 1..401).await?;
    let through_http = spread_of_http(&engine, &watch, folder, 401..801).await?;
    engine.stop().await;
    Ok(Latency { engine: through_engine, http: through_http })
}

async fn waiting(engine: &Engine, n: u64) -> Result<Run> {
    engine.load(&samples::run_id(n)).await?.context("the run was started")
}

async fn spread_of_engine(engine: &Engine, watch: &Watch, runs: std::ops::Range<u64>) -> Result<Spread> {
    let mut millis = Vec::new();
    for n in runs {
        let run = waiting(engine, n).await?;
        let hold = run.hold().context("the run waits")?;
        let (hold, digest) = (hold.id, hold.digest.clone());
        let decision = Decision::Approve { notes: None };
        let told = watch.next_effect_of(&run.id);
        let begun = Instant::now();
        let decide = Command::Decide(Decide { hold, digest, decision, by: samples::actor("ada") });
        engine.submit(run.id.clone(), decide, None).await?;
        millis.push(told.await?.duration_since(begun).as_secs_f64() * 1000.0);
    }
    Ok(Spread::of(millis))
}

async fn spread_of_http(engine: &Engine, watch: &Watch, folder: &Path, runs: std::ops::Range<u64>) -> Result<Spread> {
    let (address, serving) = serve(engine, folder).await?;
    let http = reqwest::Client::new();
    let mut millis = Vec::new();
    for n in runs {
        let run = waiting(engine, n).await?;
        let digest = run.hold().context("the run waits")?.digest.clone();
        let told = watch.next_effect_of(&run.id);
        let url = format!("http://{address}/api/runs/{}/approve", run.id);
        let request = http.post(url).bearer_auth(TOKEN).json(&serde_json::json!({"digest": digest.as_str()}));
        let begun = Instant::now();
        let response = request.send().await?;
        ensure!(response.status().is_success(), "{}", response.text().await?);
        millis.push(told.await?.duration_since(begun).as_secs_f64() * 1000.0);
    }
    serving.abort();
    Ok(Spread::of(millis))
}
