//! A server's life: take the data directory, open everything, say where it is, serve, and leave nothing behind.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::{StoreError, Writer};
use jiff::{SignedDuration, Timestamp};
use runner::ServerSecrets;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{oneshot, watch};
use wire::{Problem, ServerInfo};

use crate::App;
use crate::compose::{Wishes, compose, user};
use crate::config::{SettingsError, Setup};
use crate::connections::{ConnectionLimits, accept};
use crate::home::{Home, HomeError};
use crate::http::router;
use crate::people::People;
use crate::place::{self, Missing, Place, Proxy};
use crate::problem::store_problem;
use crate::retention;

/// Called once the server answers.
pub type Ready = Box<dyn FnOnce(&ServerInfo) + Send>;

/// Called as soon as the server begins to end, once or more often. It sees to it that the process ends even if something
/// in it hangs, and returns at once.
pub type LastResort = Arc<dyn Fn() + Send + Sync>;

/// How long requests in flight may take once the server stops.
const GRACE: Duration = Duration::from_secs(5);

/// The same once nothing can be written any more: changes are refused, and only reads are left to finish.
const GRACE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// What a server is started with.
pub struct Settings {
    /// The data directory.
    pub home: PathBuf,
    /// The port; `ORCHESTRATOR_PORT` or a free one unless said.
    pub port: Option<u16>,
    /// The address to listen on; this machine only unless said.
    pub listen: Option<IpAddr>,
    /// The proxy that encrypts, as browsers see it.
    pub proxy: Option<Proxy>,
    /// Ends by itself after so long with nothing to do.
    pub idle_exit: Option<Duration>,
    /// Agents and checks at once.
    pub agents: usize,
    /// Called once the server answers.
    pub ready: Option<Ready>,
    /// Called when the server begins to end.
    pub last_resort: Option<LastResort>,
    /// Our own program, to start supervisors with.
    pub program: PathBuf,
    /// The process's environment: nothing here reads it by itself.
    pub environment: BTreeMap<String, String>,
    /// Every secret that the server comes to know is added here, for whoever writes the log.
    pub secrets: ServerSecrets,
}

/// Why a server did not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another has the data directory.
    #[error("a server for this data directory runs already{}", place(.0.as_ref()))]
    AlreadyRunning(Option<ServerInfo>),
    /// The data directory cannot be used.
    #[error("{0}")]
    Home(HomeError),
    /// A setting means nothing.
    #[error("{0}")]
    Settings(#[from] SettingsError),
    /// The port is taken.
    #[error("port {0} is in use")]
    PortInUse(u16),
    /// The port cannot be had.
    #[error("cannot listen on port {port}: {source}")]
    Listen {
        /// Which.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// Others could read along.
    #[error("the server would be reachable from elsewhere at {0} without encryption")]
    Unencrypted(IpAddr),
    /// All who come would be one.
    #[error("the server would be reachable from elsewhere, and nobody is named who may use it")]
    NobodyNamed,
    /// The database.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The writer failed: what it wrote last is unknown until the database is opened anew.
    #[error("the server ended because nothing could be written any more: {0}")]
    Writer(Arc<str>),
    /// The system does not let us.
    #[error("the server cannot go on: {0}")]
    System(io::Error),
}

fn place(server: Option<&ServerInfo>) -> String {
    server.map(|server| format!(" at {} (process {})", server.url, server.pid)).unwrap_or_default()
}

impl From<HomeError> for ServeError {
    fn from(error: HomeError) -> Self {
        match error {
            HomeError::Taken { server } => Self::AlreadyRunning(server),
            HomeError::File { .. } => Self::Home(error),
        }
    }
}

impl ServeError {
    /// The error as every interface shows it.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let (code, hint) = match self {
            Self::AlreadyRunning(_) => {
                ("already_running", "use that one, or stop it first, or set HOLDPOINT_HOME to another directory")
            }
            Self::Home(_) => ("home_unusable", "make it writable for you, or set HOLDPOINT_HOME to one that is"),
            Self::Settings(_) => ("bad_setting", "mend the setting and start again"),
            Self::PortInUse(_) => {
                ("port_in_use", "choose another with ORCHESTRATOR_PORT, or leave it out for a free one")
            }
            Self::Listen { .. } => ("port_refused", "choose a port above 1023, or leave it out for a free one"),
            Self::Unencrypted(_) => (
                "not_encrypted",
                "put a proxy with TLS before it and say its address: `--behind-proxy https://NAME`; or leave out \
                 `--listen` and use an ssh tunnel",
            ),
            Self::NobodyNamed => (
                "no_users",
                "start it without `--listen` and `--behind-proxy`, and let people in with `holdpoint user add`",
            ),
            Self::Store(error) => return store_problem(error),
            Self::Writer(_) => (
                "writer_failed",
                "nothing that was acknowledged is lost: the next command starts a server that reads the database anew; if \
                 it fails again, look at the system's log for disk errors",
            ),
            Self::System(_) => ("system", "see the message; the server's log may say more"),
        };
        Problem { code: code.to_owned(), message: self.to_string(), hint: hint.to_owned(), field: None }
    }
}

/// Serves until a signal comes or nothing is left to do.
pub async fn serve(settings: Settings) -> Result<(), ServeError> {
    let home = Home::take(&settings.home)?;
    let (token, agent_token) = (home.token()?, home.agent_token()?);
    let people = People::open(home.people())?;
    let ip = settings.listen.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let users = people.users(Timestamp::now()).len();
    place::check(ip, settings.proxy.as_ref(), users).map_err(|missing| match missing {
        Missing::Encryption => ServeError::Unencrypted(ip),
        Missing::Users => ServeError::NobodyNamed,
    })?;
    let setup = Setup::read(home.path(), &settings.environment)?;
    setup.models.keys.report_to(&settings.secrets);
    // Before anything of an earlier server goes on: what agents made is scanned for these keys too.
    setup.models.keys.fetch_all().await;
    let port = wished_port(&settings)?;
    // Bound before the engine starts: a server that nobody can reach must not begin to work.
    let listener = listen(ip, port).await?;
    let address = listener.local_addr().map_err(ServeError::System)?;
    let signals = Signals::new().map_err(ServeError::System)?;
    let wishes = Wishes {
        token,
        agent_token,
        people,
        setup,
        forge: runner::ForgeSettings::read(&settings.environment),
        secrets: settings.secrets.clone(),
        program: settings.program,
        agents: settings.agents,
        user: user(&settings.environment),
        place: Place::new(address, settings.proxy),
    };
    // Blocks for as long as the database takes to open; there is nobody else to serve yet.
    let app = compose(&home, wishes)?;
    let last_resort = settings.last_resort.unwrap_or_else(|| Arc::new(|| {}));
    watch_writer(app.engine.writer(), Arc::clone(&last_resort)).map_err(ServeError::System)?;
    if let Err(error) = app.channels.recover() {
        tracing::warn!(%error, "questions that were left open cannot be read");
    }
    app.begin_telling().await;
    retention::begin(&app);
    let info = ServerInfo { url: app.url(), pid: std::process::id(), version: env!("CARGO_PKG_VERSION").to_owned() };
    home.announce(&info)?;
    if let Some(ready) = settings.ready {
        ready(&info);
    }
    tracing::info!(url = %info.url, "serving");
    let end = until_end(&app, listener, signals, settings.idle_exit, &last_resort).await;
    // The writer may hang in a system call; the last resort then ends the process.
    if tokio::time::timeout(GRACE, app.engine.stop()).await.is_err() {
        tracing::warn!("the writer does not end; the process ends without it");
    }
    home.withdraw(&info);
    end
}

/// Calls the last resort from a thread of its own when the writer fails: no task needs to be polled for it.
fn watch_writer(writer: watch::Receiver<Writer>, last_resort: LastResort) -> io::Result<()> {
    let runtime = tokio::runtime::Handle::current();
    let watch = move || {
        // Polled on this thread, and a watch channel needs no timer and no reactor.
        if runtime.block_on(failure(writer)).is_some() {
            last_resort();
        }
    };
    std::thread::Builder::new().name("writer-watch".to_owned()).spawn(watch).map(drop)
}

/// Why the writer failed; `None` once it stopped as it was asked to.
async fn failure(mut writer: watch::Receiver<Writer>) -> Option<Arc<str>> {
    let ended = writer.wait_for(|state| *state != Writer::Running).await;
    match ended.as_deref() {
        Ok(Writer::Failed(reason)) => Some(Arc::clone(reason)),
        Ok(Writer::Running | Writer::Stopped) | Err(_) => None,
    }
}

fn wished_port(settings: &Settings) -> Result<u16, SettingsError> {
    let said = settings.environment.get("ORCHESTRATOR_PORT").map(|text| text.trim()).filter(|text| !text.is_empty());
    match (settings.port, said) {
        (Some(port), _) => Ok(port),
        (None, Some(text)) => text.parse().map_err(|_| SettingsError::Environment {
            name: "ORCHESTRATOR_PORT".to_owned(),
            value: text.chars().filter(|c| !c.is_control()).take(60).collect(),
            reason: "use a number from 0 to 65535".to_owned(),
        }),
        (None, None) => Ok(0),
    }
}

async fn listen(ip: IpAddr, port: u16) -> Result<TcpListener, ServeError> {
    let bound = TcpListener::bind(SocketAddr::from((ip, port))).await;
    bound.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::PortInUse(port),
        _ => ServeError::Listen { port, source },
    })
}

async fn until_end(
    app: &App,
    listener: TcpListener,
    mut signals: Signals,
    idle: Option<Duration>,
    last_resort: &LastResort,
) -> Result<(), ServeError> {
    let (stop, stopped) = oneshot::channel::<()>();
    let limits = ConnectionLimits::default();
    let mut serving = tokio::spawn(accept(listener, router(app.clone()), limits, stopped));
    tokio::select! {
        ended = &mut serving => return ended.map_err(|error| ServeError::System(io::Error::other(error))),
        _ = failure(app.engine.writer()) => {}
        () = signals.any() => tracing::info!("a signal asks for the end"),
        () = nothing_left(app, idle) => tracing::info!("nothing is left to do"),
    }
    last_resort();
    let _ = stop.send(());
    let failed = writer_failure(app);
    let grace = if failed.is_some() { GRACE_AFTER_FAILURE } else { GRACE };
    let ended = match tokio::time::timeout(grace, &mut serving).await {
        Ok(ended) => ended.map_err(|error| ServeError::System(io::Error::other(error))),
        Err(_) => {
            serving.abort();
            Ok(())
        }
    };
    failed.map_or(ended, |reason| Err(ServeError::Writer(reason)))
}

fn writer_failure(app: &App) -> Option<Arc<str>> {
    match &*app.engine.writer().borrow() {
        Writer::Failed(reason) => Some(Arc::clone(reason)),
        Writer::Running | Writer::Stopped => None,
    }
}

/// Resolves, with the door closed, once nothing happened for that long and nothing will within the hour.
async fn nothing_left(app: &App, idle: Option<Duration>) {
    let Some(time) = idle else { return std::future::pending().await };
    let mut positions = app.engine.positions();
    loop {
        positions.mark_unchanged();
        let quiet = async { tokio::join!(tokio::time::sleep(time), app.door.quiet_for(time)) };
        tokio::select! {
            changed = positions.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            _ = quiet => {
                if app.engine.busy() == 0 && app.door.close() {
                    if is_idle(app).await {
                        return;
                    }
                    app.door.open();
                }
            }
        }
    }
}

async fn is_idle(app: &App) -> bool {
    let soon = Timestamp::now().saturating_add(SignedDuration::from_hours(1)).unwrap_or(Timestamp::MAX);
    let timer = app.read(|store| store.next_timer()).await;
    let far = timer.is_ok_and(|timer| timer.is_none_or(|due| due > soon));
    far && app.engine.busy() == 0
}

/// The signals that ask for the end.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
