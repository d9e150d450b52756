//! Flights: effects being worked on by this process, each in a task of its own, one at a time per run.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::{Command, EffectId, Outcome, PursuitReport, Run, RunId, SpendReport, TaintReport};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tracing::{Instrument as _, Span};

use crate::handle::Refusal;
use crate::panics::catch_async;
use crate::{EffectRunner, Engine, Job, Leased, PursuitSink, Slots, SpendSink, TaintSink, Weight, boundary, kin};

/// The effects in the air.
pub(crate) struct Flights {
    runtime: Handle,
    runner: Arc<dyn EffectRunner>,
    slots: Slots,
    in_air: HashMap<RunId, Flight>,
    // Tasks that were told to stop; the run's next effect waits for them.
    leaving: HashMap<RunId, JoinHandle<()>>,
    heavy: usize,
    light: usize,
    busy: Arc<AtomicUsize>,
}

struct Flight {
    number: u32,
    epoch: u64,
    weight: Weight,
    task: JoinHandle<()>,
}

impl Flights {
    pub(crate) fn new(runner: Arc<dyn EffectRunner>, slots: Slots, busy: Arc<AtomicUsize>) -> Self {
        let runtime = Handle::current();
        Self { runtime, runner, slots, in_air: HashMap::new(), leaving: HashMap::new(), heavy: 0, light: 0, busy }
    }

    /// Free heavy and light slots.
    pub(crate) fn free(&self) -> (usize, usize) {
        (self.slots.heavy.saturating_sub(self.heavy), self.slots.light.saturating_sub(self.light))
    }

    pub(crate) fn is_flying(&self, run: &RunId) -> bool {
        self.in_air.contains_key(run)
    }

    pub(crate) fn number(&self, run: &RunId) -> Option<u32> {
        self.in_air.get(run).map(|flight| flight.number)
    }

    /// Starts an effect. The run's earlier task, if it was told to stop, is waited for first.
    pub(crate) fn start(&mut self, leased: Leased, run: Arc<Run>, engine: Engine) {
        // Whose door it is makes no difference here: an entry takes a light slot.
        let weight = Weight::of(&leased.effect, None);
        let (id, number) = (leased.id.run.clone(), leased.id.number);
        // A lease can be lost and given again while its effect is in the air: what flies under the old one is worthless.
        if let Some(old) = self.in_air.get(&id).map(|flight| flight.number) {
            self.land(&id, old);
        }
        let before = self.leaving.remove(&id);
        let spend = spend_sink(engine.clone(), id.clone());
        let pursuit = pursuit_sink(engine.clone(), id.clone());
        let taint = taint_sink(engine.clone(), id.clone());
        let job = Job { id: leased.id.clone(), effect: leased.effect, run, spend, pursuit, taint };
        let runner = Arc::clone(&self.runner);
        let epoch = leased.lease.epoch;
        let span = span(&job, epoch);
        let task = self.runtime.spawn(async move {
            if let Some(before) = before {
                // A task that was told to stop ends with an error; only its end matters.
                let _ = before.await;
            }
            fly(runner, job, epoch, engine).instrument(span).await;
        });
        self.add(weight);
        self.in_air.insert(id, Flight { number, epoch, weight, task });
    }

    /// The effect was reported, or is no longer wanted: its slot is free, its task told to stop.
    pub(crate) fn land(&mut self, run: &RunId, number: u32) {
        if self.in_air.get(run).is_none_or(|flight| flight.number != number) {
            return;
        }
        if let Some(flight) = self.in_air.remove(run) {
            self.remove(flight.weight);
            if !flight.task.is_finished() {
                flight.task.abort();
                self.leaving.insert(run.clone(), flight.task);
            }
        }
        self.leaving.retain(|_, task| !task.is_finished());
    }

    /// A report under an old lease came to nothing: its flight is over, but not one under a newer lease.
    pub(crate) fn land_fenced(&mut self, run: &RunId, number: u32, epoch: u64) {
        if self.in_air.get(run).is_some_and(|flight| flight.epoch == epoch) {
            self.land(run, number);
        }
    }

    /// Lets go of everything.
    pub(crate) fn ground(&mut self) {
        for (_, flight) in self.in_air.drain() {
            flight.task.abort();
        }
        self.busy.store(0, Ordering::SeqCst);
    }

    fn add(&mut self, weight: Weight) {
        match weight {
            Weight::Heavy => self.heavy += 1,
            Weight::Light | Weight::Entry => self.light += 1,
        }
        self.busy.fetch_add(1, Ordering::SeqCst);
    }

    fn remove(&mut self, weight: Weight) {
        match weight {
            Weight::Heavy => self.heavy -= 1,
            Weight::Light | Weight::Entry => self.light -= 1,
        }
        self.busy.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What is told of an effect to whoever collects traces: which, of which run, and how it ended; never its content.
fn span(job: &Job, attempt: u64) -> Span {
    let (word, run) = (job.effect.word(), &job.id.run);
    tracing::info_span!(
        "effect",
        otel.name = %format!("effect {word}"),
        run_id = %run,
        effect_id = %job.id,
        effect = word,
        attempt,
        outcome = tracing::field::Empty,
    )
}

/// Does one effect and reports it until the report is stored or known to be worthless.
async fn fly(runner: Arc<dyn EffectRunner>, job: Job, epoch: u64, engine: Engine) {
    let id: EffectId = job.id.clone();
    let word = job.effect.word();
    tracing::debug!(effect = %id, word, "effect starts");
    boundary("effect.before");
    let work = async {
        match kin::run(&engine, &job).await {
            Some(outcome) => outcome,
            None => runner.run(job).await,
        }
    };
    // Whatever a panic left half done is found by the next try, as after a crash.
    let outcome = catch_async(work).await.unwrap_or_else(|panic| {
        tracing::error!(effect = %id, word, panic, "a bug: an effect panicked, and counts as failed");
        let hint = "this is a bug; please report it with the server's log, and try again";
        Outcome::Failed { message: format!("Holdpoint failed during `{word}`: {panic}"), hint: Some(hint.to_owned()) }
    });
    boundary("effect.after");
    tracing::debug!(effect = %id, word, outcome = outcome.word(), "effect ended");
    Span::current().record("outcome", outcome.word());
    loop {
        match engine.report(&id, epoch, &outcome).await {
            Ok(())
            | Err(
                Refusal::Stopped
                | Refusal::Rejected(_)
                | Refusal::ShortIdTaken
                | Refusal::Panicked(_)
                | Refusal::Quarantined(_),
            ) => return,
            Err(Refusal::Store(error)) => {
                tracing::warn!(effect = %id, %error, "a report could not be stored; trying again");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

fn spend_sink(engine: Engine, run: RunId) -> SpendSink {
    SpendSink(Arc::new(move |spend: SpendReport| {
        Box::pin(deliver(engine.clone(), run.clone(), Command::Spend(spend), "a paid call"))
    }))
}

fn pursuit_sink(engine: Engine, run: RunId) -> PursuitSink {
    PursuitSink(Arc::new(move |step: PursuitReport| {
        Box::pin(deliver(engine.clone(), run.clone(), Command::Pursue(step), "a step towards a goal"))
    }))
}

fn taint_sink(engine: Engine, run: RunId) -> TaintSink {
    TaintSink(Arc::new(move |report: TaintReport| {
        Box::pin(deliver(engine.clone(), run.clone(), Command::Taint(report), "a read of strangers' text"))
    }))
}

/// Submits until the command is stored or refused.
async fn deliver(engine: Engine, run: RunId, command: Command, what: &str) {
    loop {
        match engine.submit(run.clone(), command.clone(), None).await {
            Ok(_)
            | Err(
                Refusal::Rejected(_)
                | Refusal::Stopped
                | Refusal::ShortIdTaken
                | Refusal::Panicked(_)
                | Refusal::Quarantined(_),
            ) => return,
            Err(Refusal::Store(error)) => {
                tracing::warn!(%run, %error, "{what} could not be stored; trying again");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
}
