//! Live messages to one client. What is stored is told by position: by the news that all clients share while the client
//! keeps up, from the store where it does not, so nothing is buffered and nothing is lost; a client that is too slow is
//! told so and begins anew with a snapshot.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use domain::{Event, RunId};
use engine::{FeedItem, RunFilter};
use futures_util::SinkExt as _;
use runner::Activity;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use wire::{LiveMessage, RunView};

use crate::gate::Given;
use crate::news::{Told, message, told, written};
use crate::problem::Failure;
use crate::{App, kin, to_wire};

const BATCH: usize = 256;

/// One client that watches.
pub(crate) struct Watch {
    pub(crate) app: App,
    pub(crate) token: Given,
    pub(crate) scope: Scope,
    pub(crate) after: Option<u64>,
}

/// What a client watches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every run.
    All,
    /// One run.
    One(RunId),
    /// One run and the runs of its tasks.
    Family(RunId),
}

/// The runs of the watched run's tasks, as far as they are known.
type Children = BTreeSet<RunId>;

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
        // Subscribed before anything is read: what comes in between is heard of.
        let mut news = self.app.news.listen();
        let mut activity = self.app.shelf.activity();
        let mut children = self.children().await.map_err(troubled)?;
        let mut sent = self.begin(socket, &mut children).await?;
        sent = self.catch_up(socket, sent, &mut children).await?;
        let mut ping = interval(self.app.live.ping);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                told = news.recv() => sent = self.pass_on(socket, told, &mut news, sent, &mut children).await?,
                said = socket.recv() => match said {
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Leave::Gone),
                    Some(Ok(_)) => heard = Instant::now(),
                },
                done = activity.recv() => self.show(socket, done, &children).await?,
                _ = ping.tick() => {
                    if heard.elapsed() > self.app.live.ping * 3 {
                        return Err(Leave::Gone);
                    }
                    self.check()?;
                    if self.app.engine.positions().has_changed().is_err() {
                        return Err(stopping());
                    }
                    self.push(socket, Message::Ping(axum::body::Bytes::new())).await?;
                }
            }
        }
    }

    /// Passes on what was heard, and whatever has come since: written together, since that is one packet.
    async fn pass_on(
        &self,
        socket: &mut WebSocket,
        first: Result<Arc<Told>, RecvError>,
        news: &mut Receiver<Arc<Told>>,
        mut sent: u64,
        children: &mut Children,
    ) -> Result<u64, Leave> {
        self.check()?;
        let mut heard = first;
        for _ in 0..BATCH {
            match heard.as_deref() {
                Ok(Told::Event(piece)) if piece.position <= sent => {}
                Ok(Told::Event(piece)) if piece.after <= sent => {
                    if let Scope::Family(run) = &self.scope
                        && piece.parent.as_ref() == Some(run)
                    {
                        children.insert(piece.run.clone());
                    }
                    if self.scope == Scope::All {
                        self.within(socket.feed(Message::Text(piece.text.clone()))).await?;
                        sent = piece.position;
                    } else if self.wants(&piece.run, children) {
                        // Who watches one run is shown it whole.
                        sent = self.catch_up(socket, sent, children).await?;
                    } else {
                        sent = piece.position;
                    }
                }
                Ok(Told::Event(_)) | Err(RecvError::Lagged(_)) => sent = self.catch_up(socket, sent, children).await?,
                Ok(Told::Trouble) => return Err(unreadable()),
                Ok(Told::Over) | Err(RecvError::Closed) => return Err(stopping()),
            }
            heard = match news.try_recv() {
                Ok(told) => Ok(told),
                Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            };
        }
        self.within(socket.flush()).await?;
        Ok(sent)
    }

    /// Begins where the client left off, or with a snapshot.
    async fn begin(&self, socket: &mut WebSocket, children: &mut Children) -> Result<u64, Leave> {
        let newest = self.app.read(|store| store.position()).await.map_err(troubled)?;
        match self.after {
            Some(after) if after <= newest => Ok(after),
            // A position from the future is one of another database.
            Some(_) | None => self.snapshot(socket, newest, children).await,
        }
    }

    async fn snapshot(&self, socket: &mut WebSocket, position: u64, children: &mut Children) -> Result<u64, Leave> {
        // The position is read before the rows: a row may show more than it says, never less.
        children.extend(self.children().await.map_err(troubled)?);
        let runs = self.runs(children).await.map_err(troubled)?;
        self.send(socket, &LiveMessage::Snapshot { position, runs }).await?;
        Ok(position)
    }

    async fn children(&self) -> Result<Children, Failure> {
        let Scope::Family(run) = self.scope.clone() else { return Ok(Children::new()) };
        let log = self.app.read(move |store| store.events(&run, 0)).await?;
        Ok(kin::children(&log).into_iter().map(|(_, child)| child).collect())
    }

    async fn runs(&self, children: &Children) -> Result<Vec<RunView>, Failure> {
        let run = match &self.scope {
            Scope::One(run) | Scope::Family(run) => run,
            Scope::All => {
                let filter = RunFilter { limit: 1000, ..RunFilter::default() };
                let rows = self.app.read(move |store| store.rows(&filter)).await?;
                return Ok(rows.iter().map(to_wire::row).collect());
            }
        };
        let mut views = Vec::new();
        for id in std::iter::once(run).chain(children) {
            views.extend(self.app.engine.load(id).await?.as_ref().map(to_wire::run));
        }
        Ok(views)
    }

    /// Sends what is stored after a position, or a snapshot when that is too much.
    async fn catch_up(&self, socket: &mut WebSocket, mut sent: u64, children: &mut Children) -> Result<u64, Leave> {
        let newest = self.app.read(|store| store.position()).await.map_err(troubled)?;
        if newest.saturating_sub(sent) > self.app.live.backlog {
            return self.start_anew(socket, newest, children).await;
        }
        loop {
            let items = self.app.read(move |store| store.feed(sent, BATCH)).await.map_err(troubled)?;
            let Some(last) = items.last().map(|item| item.position) else { return Ok(sent) };
            let began = Instant::now();
            self.send_events(socket, items, children).await?;
            sent = last;
            if began.elapsed() > self.app.live.slow {
                let newest = self.app.read(|store| store.position()).await.map_err(troubled)?;
                // Slow, and falling further behind: the state of things is worth more than how it came about.
                if newest.saturating_sub(sent) > BATCH as u64 {
                    return self.start_anew(socket, newest, children).await;
                }
            }
        }
    }

    async fn start_anew(&self, socket: &mut WebSocket, position: u64, children: &mut Children) -> Result<u64, Leave> {
        self.send(socket, &LiveMessage::Behind { position }).await?;
        self.snapshot(socket, position, children).await
    }

    /// One watched run is shown whole; a board of many is shown by rows, which cost no folding.
    async fn view(&self, id: &RunId) -> Result<Option<RunView>, Failure> {
        if self.scope != Scope::All {
            let run = self.app.engine.load(id).await?;
            return Ok(run.as_ref().map(to_wire::run));
        }
        let id = id.clone();
        let row = self.app.read(move |store| store.row(&id)).await?;
        Ok(row.as_ref().map(to_wire::row))
    }

    fn wants(&self, id: &RunId, children: &Children) -> bool {
        match &self.scope {
            Scope::All => true,
            Scope::One(run) => run == id,
            Scope::Family(run) => run == id || children.contains(id),
        }
    }

    async fn send_events(
        &self,
        socket: &mut WebSocket,
        items: Vec<FeedItem>,
        children: &mut Children,
    ) -> Result<(), Leave> {
        let mut views: HashMap<RunId, RunView> = HashMap::new();
        for item in items {
            // A child tells whose it is with its first event, before its parent says that it has begun.
            if let (Scope::Family(run), Event::RunStarted { parent: Some(parent), .. }) =
                (&self.scope, &item.recorded.event)
                && parent.run == *run
            {
                children.insert(item.run.clone());
            }
            if !self.wants(&item.run, children) {
                continue;
            }
            let run = match views.get(&item.run) {
                Some(view) => view.clone(),
                None => {
                    let Some(view) = self.view(&item.run).await.map_err(troubled)? else { continue };
                    views.entry(item.run.clone()).or_insert(view).clone()
                }
            };
            let told = self.app.read(move |store| Ok((told(store, &item)?, item))).await;
            let (task, item) = told.map_err(troubled)?;
            self.send(socket, &message(&item, task, run)).await?;
        }
        Ok(())
    }

    async fn show(
        &self,
        socket: &mut WebSocket,
        done: Result<Activity, RecvError>,
        children: &Children,
    ) -> Result<(), Leave> {
        match done {
            Ok(done) if self.wants(&done.run, children) => self.send(socket, &to_wire::activity(&done)).await,
            // Activity is not stored and may be missed.
            Ok(_) | Err(RecvError::Lagged(_)) => Ok(()),
            Err(RecvError::Closed) => Err(stopping()),
        }
    }

    async fn send(&self, socket: &mut WebSocket, message: &LiveMessage) -> Result<(), Leave> {
        self.check()?;
        self.push(socket, Message::Text(written(message))).await
    }

    /// Whoever watches may still do so.
    fn check(&self) -> Result<(), Leave> {
        match self.app.caller(&self.token) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(Leave::Say(close_code::POLICY, "the token or login was taken back")),
            Err(_) => Err(Leave::Say(close_code::AGAIN, "the token file cannot be read")),
        }
    }

    async fn push(&self, socket: &mut WebSocket, message: Message) -> Result<(), Leave> {
        self.within(socket.send(message)).await
    }

    /// Who takes nothing for too long is given up.
    async fn within(&self, written: impl Future<Output = Result<(), axum::Error>>) -> Result<(), Leave> {
        match timeout(self.app.live.lost, written).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Leave::Gone),
        }
    }
}

fn troubled(_: Failure) -> Leave {
    unreadable()
}

fn unreadable() -> Leave {
    Leave::Say(close_code::ERROR, "the database does not answer")
}

fn stopping() -> Leave {
    Leave::Say(close_code::AWAY, "the server stops")
}
