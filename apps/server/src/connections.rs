//! Connections: accepts them, and limits how many there are and how long one may take to say what it wants.
//!
//! At a limit the connection that has waited longest without a request makes room, so half-open connections keep nobody
//! out. A connection that became a WebSocket is counted and never made to leave.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::JoinSet;

/// How many connections there may be, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// In all.
    pub total: usize,
    /// From one address.
    pub per_client: usize,
    /// Until the first request of a connection is there, up to its body.
    pub first_request: Duration,
    /// Until the body of a request is there.
    pub body: Duration,
    /// Until a further request is there; longer than clients keep a connection they do not use.
    pub idle: Duration,
}

/// No descriptor limit lets more connections in than this.
const MOST: usize = 8192;

impl Default for ConnectionLimits {
    /// Three quarters of the descriptors this process may have; the rest is for databases, processes and spools.
    fn default() -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        Self::for_descriptors(limit.map_or(MOST, |limit| usize::try_from(limit).unwrap_or(MOST)))
    }
}

impl ConnectionLimits {
    fn for_descriptors(descriptors: usize) -> Self {
        let total = (descriptors / 4 * 3).clamp(8, MOST);
        let [first_request, body, idle] = [10, 30, 120].map(Duration::from_secs);
        Self { total, per_client: total / 4 * 3, first_request, body, idle }
    }
}

/// Where a request came from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// How long its body may take.
    pub(crate) body: Duration,
}

/// Serves until told to stop, then waits for the requests that are being answered.
pub async fn accept(listener: TcpListener, router: Router, limits: ConnectionLimits, mut stop: oneshot::Receiver<()>) {
    let table = Table { limits, rows: Arc::default(), freed: Arc::default() };
    let (stopping, stopped) = watch::channel(false);
    let mut serving = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stop => break,
            Some(_ended) = serving.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    if let Some(place) = table.admit(peer.ip()).await {
                        serving.spawn(serve(stream, peer, router.clone(), place, limits, stopped.clone()));
                    }
                }
                Err(error) => back_off(&error).await,
            },
        }
    }
    drop(listener);
    stopping.send_replace(true);
    while serving.join_next().await.is_some() {}
}

/// A connection that broke off is the client's affair; without descriptors or memory it helps to wait.
async fn back_off(error: &io::Error) {
    let theirs = [io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset, io::ErrorKind::ConnectionRefused];
    if !theirs.contains(&error.kind()) {
        tracing::warn!(%error, "a connection cannot be accepted; trying again in a second");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    place: Arc<Place>,
    limits: ConnectionLimits,
    mut stopped: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let (counted, asked) = (Arc::clone(&place), Arc::clone(&place));
    let answer = service_fn(move |request: hyper::Request<Incoming>| {
        counted.set(State::Busy);
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(Peer { address: peer.ip(), body: limits.body });
        let (answering, place) = (hyper::service::Service::call(&router, request), Arc::clone(&counted));
        async move {
            let response: Result<Response, _> = answering.await;
            let upgraded = response.as_ref().is_ok_and(|response| response.status() == StatusCode::SWITCHING_PROTOCOLS);
            place.set(if upgraded { State::Upgraded } else { State::Waiting });
            response
        }
    });
    let io = TokioIo::new(Counted { stream, _place: Arc::clone(&place) });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.idle);
    let mut connection = std::pin::pin!(builder.serve_connection(io, answer).with_upgrades());
    let first_request = tokio::time::sleep(limits.first_request);
    let mut first_request = std::pin::pin!(first_request);
    let (mut ending, mut asked_at_all) = (false, false);
    loop {
        tokio::select! {
            // How a connection ends is no news: clients leave as they like.
            _ended = connection.as_mut() => return,
            () = asked.leave.notified() => return,
            () = &mut first_request, if !asked_at_all => {
                if asked.is_fresh() {
                    return;
                }
                asked_at_all = true;
            }
            _ = stopped.wait_for(|stopped| *stopped), if !ending => {
                ending = true;
                // What never asked for anything is not waited for.
                if asked.is_fresh() {
                    return;
                }
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// The connections there are.
#[derive(Clone)]
struct Table {
    limits: ConnectionLimits,
    rows: Arc<Mutex<Rows>>,
    freed: Arc<Notify>,
}

#[derive(Default)]
struct Rows {
    next: u64,
    // By number, which rises: the first that waits has come before the others.
    places: BTreeMap<u64, (IpAddr, Arc<Shared>)>,
}

/// One connection's place in the table, for as long as its stream is open.
struct Place {
    number: u64,
    table: Table,
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    leave: Notify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No request came yet.
    Fresh,
    /// A request is being answered.
    Busy,
    /// All requests so far were answered.
    Waiting,
    /// It is a WebSocket.
    Upgraded,
    /// It was told to leave.
    Leaving,
}

impl std::ops::Deref for Place {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: State) {
        *self.state() = state;
    }

    fn is_fresh(&self) -> bool {
        *self.state() == State::Fresh
    }
}

impl Table {
    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection; at a limit the one that has waited longest makes room, and where none can the new one
    /// is closed.
    async fn admit(&self, client: IpAddr) -> Option<Arc<Place>> {
        loop {
            let freed = self.freed.notified();
            match self.rows().room(client, &self.limits) {
                Room::Free => break,
                Room::Soon => {}
                Room::None => return None,
            }
            // Its descriptor is free only once it has gone.
            freed.await;
        }
        let shared = Arc::new(Shared { state: Mutex::new(State::Fresh), leave: Notify::new() });
        let mut rows = self.rows();
        rows.next += 1;
        let number = rows.next;
        rows.places.insert(number, (client, Arc::clone(&shared)));
        Some(Arc::new(Place { number, table: self.clone(), shared }))
    }
}

/// Whether there is room for one more.
enum Room {
    Free,
    /// Somebody was told to leave.
    Soon,
    None,
}

impl Rows {
    fn room(&self, client: IpAddr, limits: &ConnectionLimits) -> Room {
        let of_client = self.places.values().filter(|(ip, _)| *ip == client).count();
        if of_client >= limits.per_client {
            self.make_room(|ip| ip == client)
        } else if self.places.len() >= limits.total {
            self.make_room(|_| true)
        } else {
            Room::Free
        }
    }

    fn make_room(&self, of: impl Fn(IpAddr) -> bool) -> Room {
        let oldest = |wanted: State| {
            self.places.values().find(|(ip, shared)| of(*ip) && *shared.state() == wanted).map(|(_, shared)| shared)
        };
        if oldest(State::Leaving).is_some() {
            return Room::Soon;
        }
        match oldest(State::Fresh).or_else(|| oldest(State::Waiting)) {
            Some(shared) => {
                shared.set(State::Leaving);
                shared.leave.notify_one();
                Room::Soon
            }
            None => Room::None,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.table.rows().places.remove(&self.number);
        self.table.freed.notify_waiters();
    }
}

/// A stream that keeps its place, also once it was handed on as a WebSocket.
struct Counted {
    stream: TcpStream,
    _place: Arc<Place>,
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(total: usize, per_client: usize) -> Table {
        let limits = ConnectionLimits { total, per_client, ..ConnectionLimits::for_descriptors(1024) };
        Table { limits, rows: Arc::default(), freed: Arc::default() }
    }

    const ADA: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const EVE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));

    #[test]
    fn connections_leave_descriptors_for_everything_else() {
        let limits = ConnectionLimits::for_descriptors(1024);
        assert_eq!((limits.total, limits.per_client), (768, 576));
    }

    #[tokio::test]
    async fn at_a_limit_whoever_asks_for_nothing_makes_room() {
        let table = table(4, 2);
        let (idle, busy) = (table.admit(ADA).await.unwrap(), table.admit(ADA).await.unwrap());
        busy.set(State::Busy);
        let leaving = async {
            idle.leave.notified().await;
            drop(idle);
        };
        let (third, ()) = tokio::join!(table.admit(ADA), leaving);
        third.as_ref().unwrap().set(State::Upgraded);
        assert!(table.admit(ADA).await.is_none(), "who is served and who watches stay");
        let (first, second) = (table.admit(EVE).await.unwrap(), table.admit(EVE).await.unwrap());
        first.set(State::Busy);
        second.set(State::Busy);
        let other = "10.0.0.3".parse().unwrap();
        assert!(table.admit(other).await.is_none());
        drop(first);
        assert!(table.admit(other).await.is_some());
    }
}
