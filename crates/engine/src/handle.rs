//! The handle: the one door. Everybody holds one; only the desk behind it changes anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use domain::{Command, EffectId, Outcome, Recorded, Rejection, Run, RunId, replay};
use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};

use crate::desk::Desk;
use crate::panics::catch;
use crate::quarantine::Quarantine;
use crate::{CommandKey, EffectRunner, EntryRule, NodeId, QueueState, Store, StoreError, timers};

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What an engine is made of.
pub struct Parts {
    /// Where facts are kept.
    pub store: Arc<dyn Store>,
    /// Who acts.
    pub runner: Arc<dyn EffectRunner>,
    /// The time.
    pub clock: Clock,
    /// How much may be done at once.
    pub slots: Slots,
    /// When a queued run is let in.
    pub entry: EntryRule,
    /// The name of this process.
    pub node: NodeId,
    /// Whether no other process works on this store: then all old leases are taken back at once.
    pub sole_process: bool,
}

/// How many effects may be worked on at once.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    /// Agents and checks.
    pub heavy: usize,
    /// Git plumbing and the like.
    pub light: usize,
}

/// State of the writer thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writer {
    /// Takes commands.
    Running,
    /// Was asked to end.
    Stopped,
    /// Ended by itself, for this reason: what it wrote last is unknown, so the process must end and start anew.
    Failed(Arc<str>),
}

/// The door to all runs.
#[derive(Clone)]
pub struct Engine {
    asks: mpsc::Sender<Ask>,
    positions: watch::Receiver<u64>,
    writer: Arc<watch::Sender<Writer>>,
    quarantine: Quarantine,
    busy: Arc<AtomicUsize>,
    store: Arc<dyn Store>,
    entry: EntryRule,
}

/// A command was taken, and is on disk.
#[derive(Debug, Clone)]
pub struct Receipt {
    /// The run after it.
    pub run: Arc<Run>,
    /// Whether it had been taken before, under the same key.
    pub repeated: bool,
}

/// A command was not taken, and nothing changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refusal {
    /// The run's state does not allow it.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The store could not.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another run has the same short id.
    #[error("another run has the same short id")]
    ShortIdTaken,
    /// The engine has stopped.
    #[error("the engine has stopped")]
    Stopped,
    /// A bug kept the command from being decided; the run waits for a person.
    #[error("a bug kept it from being decided: {0}")]
    Panicked(Arc<str>),
    /// A bug keeps every command of the run from being decided; it is left alone until the server starts anew.
    #[error("the run is in quarantine, because of a bug: {0}")]
    Quarantined(Arc<str>),
}

/// What the desk is asked.
pub(crate) enum Ask {
    /// A command.
    Submit {
        run: RunId,
        command: Box<Command>,
        key: Option<CommandKey>,
        reply: oneshot::Sender<Result<Receipt, Refusal>>,
    },
    /// The end of an effect this node works on.
    Report { effect: EffectId, epoch: u64, outcome: Box<Outcome>, reply: oneshot::Sender<Result<(), StoreError>> },
    /// Look for effects whose lease ran out, and for runs that may begin.
    Look,
    /// End.
    Stop { reply: oneshot::Sender<()> },
}

// Enough for a burst of clients; past it, askers wait their turn instead of filling memory.
const ASKS: usize = 4096;

impl Engine {
    /// Starts the desk, the clock and the renewal of leases. Must be called inside a tokio runtime.
    pub fn start(parts: Parts) -> Result<Self, StoreError> {
        if parts.sole_process {
            parts.store.release_all_leases()?;
        }
        let (asks, inbox) = mpsc::channel(ASKS);
        let (position, positions) = watch::channel(parts.store.position()?);
        let busy = Arc::new(AtomicUsize::new(0));
        let (due, earliest) = watch::channel(parts.store.next_timer()?);
        let (store, entry) = (Arc::clone(&parts.store), parts.entry);
        let writer = Arc::new(watch::Sender::new(Writer::Running));
        let quarantine = Quarantine::default();
        let engine = Self { asks, positions, writer, quarantine, busy: Arc::clone(&busy), store, entry };
        timers::watch(engine.clone(), Arc::clone(&parts.clock), earliest);
        timers::renew(engine.clone(), Arc::clone(&parts.clock), parts.node.clone());
        Desk::open(parts, engine.clone(), position, due, busy).spawn(inbox);
        Ok(engine)
    }

    /// Submits a command; the answer comes after it is on disk.
    pub async fn submit(&self, run: RunId, command: Command, key: Option<CommandKey>) -> Result<Receipt, Refusal> {
        let (reply, answer) = oneshot::channel();
        let ask = Ask::Submit { run, command: Box::new(command), key, reply };
        self.asks.send(ask).await.map_err(|_| Refusal::Stopped)?;
        answer.await.map_err(|_| Refusal::Stopped)?
    }

    /// Tells when there are new events: the newest position. Closed when the engine has stopped.
    #[must_use]
    pub fn positions(&self) -> watch::Receiver<u64> {
        self.positions.clone()
    }

    /// A run, folded from its log.
    pub async fn load(&self, run: &RunId) -> Result<Option<Run>, StoreError> {
        let (store, id) = (Arc::clone(&self.store), run.clone());
        let events = blocking(move || store.events(&id, 0)).await?;
        catch(|| fold(run, events)).map_err(|panic| {
            self.quarantine(run, &panic);
            StoreError::Other(format!("the events of run {run} cannot be read, because of a bug: {panic}"))
        })
    }

    /// How a run stands that waits to be let in; `None` when it does not.
    pub async fn queue(&self, run: &RunId) -> Result<Option<QueueState>, StoreError> {
        let (store, run, rule) = (Arc::clone(&self.store), run.clone(), self.entry);
        blocking(move || store.queue(&run, &rule)).await
    }

    /// State of the writer thread; it never goes back to `Running`.
    #[must_use]
    pub fn writer(&self) -> watch::Receiver<Writer> {
        self.writer.subscribe()
    }

    /// Records why nothing more may be written; the first reason counts.
    pub(crate) fn fail(&self, reason: &str) {
        let first = self.writer.send_if_modified(|state| {
            let running = *state == Writer::Running;
            if running {
                *state = Writer::Failed(reason.into());
            }
            running
        });
        if first {
            tracing::error!(reason, "the writer failed; the process has to end");
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(*self.writer.borrow(), Writer::Failed(_))
    }

    /// Records that the writer was asked to end.
    pub(crate) fn stopped(&self) {
        self.writer.send_if_modified(|state| {
            let running = *state == Writer::Running;
            if running {
                *state = Writer::Stopped;
            }
            running
        });
    }

    /// What happened to a run that is left alone because of a bug; `None` for all others.
    #[must_use]
    pub fn quarantined(&self, run: &RunId) -> Option<Arc<str>> {
        self.quarantine.get(run)
    }

    pub(crate) fn quarantine(&self, run: &RunId, panic: &str) -> Arc<str> {
        self.quarantine.add(run, panic)
    }

    /// The store, for reading.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Effects being worked on by this process.
    #[must_use]
    pub fn busy(&self) -> usize {
        self.busy.load(Ordering::SeqCst)
    }

    /// Stops taking commands and lets go of effects; what runs outside goes on and is adopted later.
    pub async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        if self.asks.send(Ask::Stop { reply }).await.is_ok() {
            // An error means that the desk is gone already, which is what is asked for.
            let _ = done.await;
        }
    }

    pub(crate) async fn report(&self, effect: &EffectId, epoch: u64, outcome: &Outcome) -> Result<(), Refusal> {
        let (reply, answer) = oneshot::channel();
        let ask = Ask::Report { effect: effect.clone(), epoch, outcome: Box::new(outcome.clone()), reply };
        self.asks.send(ask).await.map_err(|_| Refusal::Stopped)?;
        Ok(answer.await.map_err(|_| Refusal::Stopped)??)
    }

    pub(crate) async fn look(&self) -> Result<(), Refusal> {
        self.asks.send(Ask::Look).await.map_err(|_| Refusal::Stopped)
    }
}

pub(crate) fn fold(id: &RunId, events: Vec<Recorded>) -> Option<Run> {
    (!events.is_empty()).then(|| replay(id.clone(), events))
}

/// Runs a blocking store call away from the async threads.
pub(crate) async fn blocking<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    match tokio::task::spawn_blocking(call).await {
        Ok(result) => result,
        Err(join) => Err(StoreError::Other(format!("a store call ended early: {join}"))),
    }
}
