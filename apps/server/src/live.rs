//! Live messages to one client: what is stored is read from the store by position, so nothing is buffered and
//! nothing is lost; a client that is too slow is told so and begins anew with a snapshot.

use std::collections::HashMap;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use domain::RunId;
use engine::{FeedItem, RunFilter};
use runner::Activity;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use wire::{LiveMessage, RunView};

use crate::gate::Given;
use crate::problem::Failure;
use crate::{App, to_wire};

const BATCH: usize = 256;

/// One client that watches.
pub(crate) struct Watch {
    pub(crate) app: App,
    pub(crate) token: Given,
    pub(crate) run: Option<RunId>,
    pub(crate) after: Option<u64>,
}

/// Why a client is let go.
enum Leave {
    /// It left, or cannot be reached.
    Gone,
    /// We end it, and say why.
    Say(u16, &'static str),
}

impl Watch {
    /// Serves the client until it leaves.
    pub(crate) async fn serve(self, mut socket: WebSocket) {
        let Err(leave) = self.run(&mut socket).await;
        if let Leave::Say(code, reason) = leave {
            let frame = CloseFrame { code, reason: reason.into() };
            let _ = timeout(self.app.live.slow, socket.send(Message::Close(Some(frame)))).await;
        }
    }

    async fn run(&self, socket: &mut WebSocket) -> Result<std::convert::Infallible, Leave> {
        // Subscribed before anything is read: what comes in between is seen as a change.
        let mut positions = self.app.engine.positions();
        let mut activity = self.app.shelf.activity();
        let mut sent = self.begin(socket).await?;
        let mut ping = interval(self.app.live.ping);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        loop {
            let newest = *positions.borrow_and_update();
            if newest > sent {
                sent = self.catch_up(socket, sent).await?;
                continue;
            }
            tokio::select! {
                changed = positions.changed() => {
                    changed.map_err(|_| Leave::Say(close_code::AWAY, "the server stops"))?;
                }
                said = socket.recv() => match said {
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Leave::Gone),
                    Some(Ok(_)) => heard = Instant::now(),
                },
                done = activity.recv() => self.show(socket, done).await?,
                _ = ping.tick() => {
                    if heard.elapsed() > self.app.live.ping * 3 {
                        return Err(Leave::Gone);
                    }
                    self.push(socket, Message::Ping(axum::body::Bytes::new())).await?;
                }
            }
        }
    }

    /// Begins where the client left off, or with a snapshot.
    async fn begin(&self, socket: &mut WebSocket) -> Result<u64, Leave> {
        let newest = self.app.read(|store| store.position()).await.map_err(troubled)?;
        match self.after {
            Some(after) if after <= newest => Ok(after),
            // A position from the future is one of another database.
            Some(_) | None => self.snapshot(socket, newest).await,
        }
    }

    async fn snapshot(&self, socket: &mut WebSocket, position: u64) -> Result<u64, Leave> {
        // The position is read before the rows: a row may show more than it says, never less.
        let runs = self.runs().await.map_err(troubled)?;
        self.send(socket, &LiveMessage::Snapshot { position, runs }).await?;
        Ok(position)
    }

    async fn runs(&self) -> Result<Vec<RunView>, Failure> {
        if let Some(run) = &self.run {
            let run = self.app.engine.load(run).await?;
            return Ok(run.iter().map(to_wire::run).collect());
        }
        let filter = RunFilter { limit: 1000, ..RunFilter::default() };
        let rows = self.app.read(move |store| store.rows(&filter)).await?;
        Ok(rows.iter().map(to_wire::row).collect())
    }

    /// Sends what is stored after a position, or a snapshot when that is too much.
    async fn catch_up(&self, socket: &mut WebSocket, mut sent: u64) -> Result<u64, Leave> {
        let newest = self.app.read(|store| store.position()).await.map_err(troubled)?;
        if newest.saturating_sub(sent) > self.app.live.backlog {
            return self.start_anew(socket, newest).await;
        }
        loop {
            let items = self.app.read(move |store| store.feed(sent, BATCH)).await.map_err(troubled)?;
            let Some(last) = items.last().map(|item| item.position) else { return Ok(sent) };
            let began = Instant::now();
            self.send_events(socket, items).await?;
            sent = last;
            if began.elapsed() > self.app.live.slow {
                let newest = self.app.read(|store| store.position()).await.map_err(troubled)?;
                // Slow, and falling further behind: the state of things is worth more than how it came about.
                if newest.saturating_sub(sent) > BATCH as u64 {
                    return self.start_anew(socket, newest).await;
                }
            }
        }
    }

    async fn start_anew(&self, socket: &mut WebSocket, position: u64) -> Result<u64, Leave> {
        self.send(socket, &LiveMessage::Behind { position }).await?;
        self.snapshot(socket, position).await
    }

    /// One watched run is shown whole; a board of many is shown by rows, which cost no folding.
    async fn view(&self, id: &RunId) -> Result<Option<RunView>, Failure> {
        if self.run.is_some() {
            let run = self.app.engine.load(id).await?;
            return Ok(run.as_ref().map(to_wire::run));
        }
        let id = id.clone();
        let row = self.app.read(move |store| store.row(&id)).await?;
        Ok(row.as_ref().map(to_wire::row))
    }

    async fn send_events(&self, socket: &mut WebSocket, items: Vec<FeedItem>) -> Result<(), Leave> {
        let wanted = |item: &FeedItem| self.run.as_ref().is_none_or(|run| *run == item.run);
        let mut views: HashMap<RunId, RunView> = HashMap::new();
        for item in items.into_iter().filter(wanted) {
            let run = match views.get(&item.run) {
                Some(view) => view.clone(),
                None => {
                    let Some(view) = self.view(&item.run).await.map_err(troubled)? else { continue };
                    views.entry(item.run.clone()).or_insert(view).clone()
                }
            };
            let message = LiveMessage::Event {
                position: item.position,
                name: to_wire::live_name(&item.recorded.event),
                event: to_wire::event(&item.run, &item.recorded),
                run: Box::new(run),
            };
            self.send(socket, &message).await?;
        }
        Ok(())
    }

    async fn show(&self, socket: &mut WebSocket, done: Result<Activity, RecvError>) -> Result<(), Leave> {
        match done {
            Ok(done) if self.run.as_ref().is_none_or(|run| *run == done.run) => {
                self.send(socket, &to_wire::activity(&done)).await
            }
            // Activity is not stored and may be missed.
            Ok(_) | Err(RecvError::Lagged(_)) => Ok(()),
            Err(RecvError::Closed) => Err(Leave::Say(close_code::AWAY, "the server stops")),
        }
    }

    async fn send(&self, socket: &mut WebSocket, message: &LiveMessage) -> Result<(), Leave> {
        if !self.app.token.admits(&self.token.0) {
            return Err(Leave::Say(close_code::POLICY, "the token was replaced"));
        }
        let text = serde_json::to_string(message).expect("live messages have text keys only");
        self.push(socket, Message::Text(text.into())).await
    }

    async fn push(&self, socket: &mut WebSocket, message: Message) -> Result<(), Leave> {
        match timeout(self.app.live.lost, socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Leave::Gone),
        }
    }
}

fn troubled(_: Failure) -> Leave {
    Leave::Say(close_code::ERROR, "the database does not answer")
}
