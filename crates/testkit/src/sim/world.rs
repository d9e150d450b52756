//! The world of a simulation: effects wait in it until the script ends them. An effect that is asked for again ends as
//! it did before, as the hands adopt what was done.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};

use domain::{Effect, EffectId, Outcome, Run};
use engine::{EffectRunner, Job};
use tokio::sync::oneshot;

/// Where effects wait.
#[derive(Default)]
pub(super) struct World {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: BTreeMap<(u32, EffectId), Waiting>,
    done: BTreeMap<EffectId, Outcome>,
    asked: u64,
    repeated: u64,
}

struct Waiting {
    effect: Effect,
    run: Arc<Run>,
    end: oneshot::Sender<Outcome>,
}

/// The hands of one engine.
pub(super) struct Hands {
    /// Which engine.
    pub(super) node: u32,
    /// Their world.
    pub(super) world: Arc<World>,
}

impl World {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics in the world")
    }

    /// Effects of an engine that wait.
    #[must_use]
    pub(super) fn waiting(&self, node: u32) -> usize {
        self.state().waiting.keys().filter(|(of, _)| *of == node).count()
    }

    /// All that wait, in a fixed order.
    #[must_use]
    pub(super) fn all(&self) -> Vec<(u32, EffectId)> {
        self.state().waiting.keys().cloned().collect()
    }

    /// How many effects were begun, and how many of them not for the first time.
    #[must_use]
    pub(super) fn counts(&self) -> (u64, u64) {
        let state = self.state();
        (state.asked, state.repeated)
    }

    /// Ends one that waits: as it ended before, or as `choose` says.
    pub(super) fn end(&self, key: &(u32, EffectId), choose: impl FnOnce(&Run, u32, &Effect) -> Outcome) {
        let mut state = self.state();
        let Some(waiting) = state.waiting.remove(key) else { return };
        let known = state.done.get(&key.1).cloned();
        let outcome = known.unwrap_or_else(|| choose(&waiting.run, key.1.number, &waiting.effect));
        state.done.insert(key.1.clone(), outcome.clone());
        // Nobody may be there to hear it; then it is asked for again.
        let _ = waiting.end.send(outcome);
    }

    /// Forgets what waits for an engine that is gone.
    pub(super) fn forget(&self, node: u32) {
        self.state().waiting.retain(|(of, _), _| *of != node);
    }
}

impl EffectRunner for Hands {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        let (end, ended) = oneshot::channel();
        let key = (self.node, job.id.clone());
        {
            let mut state = self.world.state();
            state.asked += 1;
            state.repeated += u64::from(state.done.contains_key(&job.id));
            state.waiting.insert(key.clone(), Waiting { effect: job.effect, run: job.run, end });
        }
        let leave = Leave { world: Arc::clone(&self.world), key };
        Box::pin(async move {
            let _leave = leave;
            match ended.await {
                Ok(outcome) => outcome,
                // The engine is gone; its word does not count.
                Err(_) => std::future::pending().await,
            }
        })
    }
}

/// A flight that is told to stop no longer waits.
struct Leave {
    world: Arc<World>,
    key: (u32, EffectId),
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.world.state().waiting.remove(&self.key);
    }
}
