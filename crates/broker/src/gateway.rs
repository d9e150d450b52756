//! The gateway of one attempt: made from a grant, served on a unix socket until told to stop.

use std::fs::File;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::net::UnixListener;
use tokio::sync::watch;

use crate::books::Books;
use crate::direct::Direct;
use crate::door;
use crate::grant::{Grant, GrantError, Upstream, UpstreamKind};
use crate::hand_in::HandIns;
use crate::http::HttpUpstream;
use crate::mcp::McpDoors;
use crate::memory::Memory;
use crate::money::Envelope;
use crate::purses::Purses;
use crate::quota::Wall;
use crate::retry::RetryPolicy;
use crate::route::Route;
use crate::scripted::{Scene, ScriptedUpstream};
use crate::search::Search;
use crate::turnstile::Turnstile;

/// How long connections of an agent that does not read may hold up the end.
const CLOSING_GRACE: Duration = Duration::from_secs(5);

/// The door of one agent attempt to its models.
pub struct Gateway {
    pub(crate) attempt: String,
    /// Those for conversations, then the one for embeddings.
    pub(crate) upstreams: Vec<Upstream>,
    /// Same order as `upstreams`, like the two after it.
    pub(crate) places: Vec<Place>,
    pub(crate) turnstiles: Vec<Option<Turnstile>>,
    /// Usage windows that are known to be spent.
    pub(crate) walls: Mutex<Vec<Option<Wall>>>,
    pub(crate) policy: RetryPolicy,
    pub(crate) books: Arc<Books>,
    pub(crate) memory: Memory,
    pub(crate) closing: watch::Sender<bool>,
    pub(crate) search: Option<Search>,
    /// Leads to the last upstream.
    pub(crate) embeddings: Option<Route>,
    pub(crate) mcp: McpDoors,
    pub(crate) direct: Option<Arc<Direct>>,
    pub(crate) hand_ins: Option<HandIns>,
}

pub(crate) enum Place {
    Http(HttpUpstream),
    Scripted(ScriptedUpstream),
}

impl Gateway {
    /// `log` is an empty file of this attempt; `notify` is called after each line appended to it.
    pub fn new(grant: Grant, log: File, notify: Arc<dyn Fn() + Send + Sync>) -> Result<Self, GrantError> {
        grant.check()?;
        let mut grant = grant;
        let embeddings = grant.embeddings.take().map(|embeddings| {
            let route = Route { upstream: grant.upstreams.len(), model: embeddings.model };
            grant.upstreams.push(embeddings.upstream);
            route
        });
        let scene = Scene { run: grant.run.clone(), role: grant.role.clone(), visit: grant.visit };
        let place = |upstream: &Upstream| match (upstream.kind, &upstream.script) {
            (UpstreamKind::Scripted, Some(script)) => {
                Ok(Place::Scripted(ScriptedUpstream::new(script.clone(), scene.clone())))
            }
            (UpstreamKind::Scripted, None) => Err(GrantError::NoScript(upstream.provider.clone())),
            (UpstreamKind::Anthropic | UpstreamKind::OpenAi | UpstreamKind::Gemini, _) => {
                HttpUpstream::new(upstream, &grant.retry).map(Place::Http)
            }
        };
        let places = grant.upstreams.iter().map(place).collect::<Result<_, _>>()?;
        let folder = grant.limits_folder.as_deref();
        let turnstile = |upstream: &Upstream| Turnstile::new(folder, &upstream.provider, upstream.limits);
        let turnstiles = grant.upstreams.iter().map(turnstile).collect();
        let walls = Mutex::new(vec![None; grant.upstreams.len()]);
        let envelope = Envelope::new(grant.limit, grant.max_calls).asking_after(grant.ask_after);
        let purses = Purses::new(grant.purses_folder.as_deref(), grant.purses.clone(), &grant.attempt);
        let books = Arc::new(Books::new(envelope, purses, log, notify).map_err(GrantError::Log)?);
        Ok(Self {
            direct: grant.direct.map(|direct| Arc::new(Direct::new(direct, Arc::clone(&books)))),
            attempt: grant.attempt,
            upstreams: grant.upstreams,
            places,
            turnstiles,
            walls,
            policy: grant.retry,
            books,
            memory: Memory::default(),
            closing: watch::Sender::new(false),
            search: grant.search.map(Search::new).transpose()?,
            embeddings,
            mcp: McpDoors::new(grant.mcp)?,
            hand_ins: None,
        })
    }

    /// The same for an agent that hands in.
    #[must_use]
    pub fn taking(self, hand_ins: HandIns) -> Self {
        Self { hand_ins: Some(hand_ins), ..self }
    }

    /// The upstreams that conversations may use.
    pub(crate) fn talkers(&self) -> &[Upstream] {
        let count = self.embeddings.as_ref().map_or(self.upstreams.len(), |route| route.upstream);
        &self.upstreams[..count]
    }

    /// Answers agents until `shutdown` is ready. Calls that are still open then are broken off
    /// and settled as abandoned: the agent they were made for is gone.
    pub async fn serve(self: Arc<Self>, listener: UnixListener, shutdown: impl Future<Output = ()> + Send + 'static) {
        let closing = self.closing.clone();
        let (direct, books) = (self.direct.clone(), Arc::clone(&self.books));
        let mut closed = self.closing.subscribe();
        let server = axum::serve(listener, door::router(self)).with_graceful_shutdown(async move {
            shutdown.await;
            // Tunnels would hold up the end of their connections.
            if let Some(direct) = direct {
                direct.close();
                books.on_disk().await;
            }
            closing.send_replace(true);
        });
        let overdue = async move {
            until_closing(&mut closed).await;
            tokio::time::sleep(CLOSING_GRACE).await;
        };
        tokio::select! {
            result = server.into_future() => {
                if let Err(error) = result {
                    tracing::error!(%error, "the model gateway stopped");
                }
            }
            () = overdue => tracing::debug!("connections were still open when the gateway ended"),
        }
    }
}

/// Ready once the attempt is over, or the gateway itself is gone.
pub(crate) async fn until_closing(closing: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, and with it everyone who could go on.
    let _ = closing.wait_for(|closing| *closing).await;
}
