//! What is stored, told to every live client at once: read and written out once, however many listen.
//!
//! Nothing is kept for who is slow: the newest messages are in a ring, and whoever falls out of it reads on from the
//! store by position.

use std::collections::HashMap;
use std::sync::{Arc, Once};

use axum::extract::ws::Utf8Bytes;
use domain::{Event, RunId};
use engine::{FeedItem, Store, StoreError};
use tokio::sync::{broadcast, watch};
use wire::{EventView, LiveMessage, RunView, TaskEventView};

use crate::to_wire;

const BATCH: usize = 256;

/// What whoever watches everything is told.
pub(crate) enum Told {
    /// A stored event.
    Event(Piece),
    /// The store could not be read.
    Trouble,
    /// The server stops.
    Over,
}

/// One stored event.
pub(crate) struct Piece {
    /// The position it follows. Who has not been told of that one has missed something.
    pub(crate) after: u64,
    pub(crate) position: u64,
    pub(crate) run: RunId,
    /// Whose task the run works on, where this is its first event.
    pub(crate) parent: Option<RunId>,
    /// The whole message, as who watches everything gets it.
    pub(crate) text: Utf8Bytes,
}

/// Tells everybody. Reads nothing while nobody listens.
pub(crate) struct News {
    store: Arc<dyn Store>,
    positions: watch::Receiver<u64>,
    sender: broadcast::Sender<Arc<Told>>,
    begun: Once,
}

impl News {
    /// Keeps so many messages.
    pub(crate) fn new(store: Arc<dyn Store>, positions: watch::Receiver<u64>, ring: usize) -> Self {
        Self { store, positions, sender: broadcast::channel(ring).0, begun: Once::new() }
    }

    /// From here on everything is told, or known to be missed.
    pub(crate) fn listen(&self) -> broadcast::Receiver<Arc<Told>> {
        let listening = self.sender.subscribe();
        self.begun.call_once(|| {
            // Ends with the engine, whose positions it follows.
            tokio::spawn(tell(Arc::clone(&self.store), self.positions.clone(), self.sender.clone()));
        });
        listening
    }
}

async fn tell(store: Arc<dyn Store>, mut positions: watch::Receiver<u64>, sender: broadcast::Sender<Arc<Told>>) {
    // Nobody listening is no error, here and below.
    let say = |told: Told| drop(sender.send(Arc::new(told)));
    let mut last = *positions.borrow_and_update();
    while positions.changed().await.is_ok() {
        let newest = *positions.borrow_and_update();
        if sender.receiver_count() == 0 {
            last = newest;
            continue;
        }
        while last < newest {
            let (store, after) = (Arc::clone(&store), last);
            let read = tokio::task::spawn_blocking(move || pieces(store.as_ref(), after)).await;
            let Ok(Ok(pieces)) = read else {
                say(Told::Trouble);
                break;
            };
            last = pieces.last().map_or(newest, |piece| piece.position);
            pieces.into_iter().for_each(|piece| say(Told::Event(piece)));
        }
    }
    say(Told::Over);
}

/// The next events after a position, written out. Blocks.
fn pieces(store: &dyn Store, mut after: u64) -> Result<Vec<Piece>, StoreError> {
    let mut views: HashMap<RunId, RunView> = HashMap::new();
    let mut pieces = Vec::new();
    for item in store.feed(after, BATCH)? {
        // A board of many is shown by rows, which cost no folding.
        let run = match views.get(&item.run) {
            Some(view) => view.clone(),
            None => {
                let Some(row) = store.row(&item.run)? else { continue };
                views.entry(item.run.clone()).or_insert(to_wire::row(&row)).clone()
            }
        };
        let text = written(&message(&item, told(store, &item)?, run));
        let parent = match &item.recorded.event {
            Event::RunStarted { parent, .. } => parent.as_ref().map(|parent| parent.run.clone()),
            _ => None,
        };
        pieces.push(Piece { after, position: item.position, run: item.run, parent, text });
        after = item.position;
    }
    Ok(pieces)
}

/// An event with its run, as it is sent.
pub(crate) fn message(item: &FeedItem, task: Option<TaskEventView>, run: RunView) -> LiveMessage {
    LiveMessage::Event {
        position: item.position,
        name: to_wire::named(to_wire::live_name(&item.recorded.event), task.as_ref()),
        event: EventView { task, ..to_wire::event(&item.run, &item.recorded) },
        run: Box::new(run),
    }
}

pub(crate) fn written(message: &LiveMessage) -> Utf8Bytes {
    serde_json::to_string(message).expect("live messages have text keys only").into()
}

/// What an event means to a list of tasks. Few events mean anything, so few logs are read for it. Blocks.
pub(crate) fn told(store: &dyn Store, item: &FeedItem) -> Result<Option<TaskEventView>, StoreError> {
    let may_mean = matches!(
        item.recorded.event,
        Event::AutoAdvanced { .. } | Event::AgentCrashed { .. } | Event::HoldPlaced { .. }
    );
    if !may_mean {
        return Ok(None);
    }
    Ok(to_wire::told(&item.run, &store.events(&item.run, 0)?, item.recorded.sequence))
}
