//! Live messages to many clients at once: how late, how many, at what cost in memory, beside one that never reads.
//!
//! The server is a process of its own (`host`), so that its memory can be told from that of the clients. Its events are
//! those of real commands: runs with an agent at work are paused and resumed.

use std::future::{Future, pending, ready};
use std::path::Path;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use domain::{Command, Decide, Decision, Effect, Outcome, RunId};
use engine::{EffectRunner, Engine, Job, Store};
use futures_util::StreamExt as _;
use jiff::Timestamp;
use store::Sqlite;
use testkit::{agree, samples};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::memory::resident_kb_of;
use super::served::{TOKEN, serve};
use super::{Spread, steps};

const RUNS: u64 = 100;

/// What is tried.
#[derive(Clone, Copy)]
pub struct Load {
    /// Clients that watch everything.
    pub clients: usize,
    /// Events a second.
    pub rate: u64,
    /// For how long.
    pub seconds: u64,
}

/// What was measured.
pub struct Live {
    /// From the event's own time to the client, in milliseconds.
    pub delivery: Spread,
    /// The slowest of all.
    pub slowest: f64,
    /// Events recorded while everybody watched.
    pub events: u64,
    /// Messages that came.
    pub delivered: u64,
    /// Messages that should have come.
    pub expected: u64,
    /// Times a client was told that it fell behind.
    pub behind: u64,
    /// The server's memory in MB: before anybody watched, with all of them there, and after the load.
    pub memory: [f64; 3],
    /// Processor seconds the server took while it ran.
    pub processor: f64,
    /// How long the client that never reads was kept.
    pub stalled_seconds: f64,
}

/// Agents never end; everything else does at once.
struct AtWork;

impl EffectRunner for AtWork {
    fn run(self: Arc<Self>, job: Job) -> Pin<Box<dyn Future<Output = Outcome> + Send>> {
        match job.effect {
            Effect::RunAgent(_) => Box::pin(pending()),
            _ => Box::pin(ready(agree(&job.run, job.id.number, &job.effect))),
        }
    }
}

/// The server's side: says where it is, waits for `go`, makes events, says the last position, waits for the end.
pub async fn host(folder: &Path, load: Load) -> Result<()> {
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(&folder.join("holdpoint.db"))?);
    let engine = steps::engine(Arc::clone(&store), Arc::new(AtWork))?;
    for n in 1..=RUNS {
        let start = Command::Start(Box::new(samples::start(samples::config())));
        engine.submit(samples::run_id(n), start, None).await?;
    }
    let mut positions = engine.positions();
    while engine.busy() < usize::try_from(RUNS)? {
        positions.changed().await?;
    }
    let (address, serving) = serve(&engine, folder).await?;
    let mut stdout = tokio::io::stdout();
    stdout.write_all(format!("{address}\n").as_bytes()).await?;
    stdout.flush().await?;
    let mut orders = BufReader::new(tokio::io::stdin()).lines();
    orders.next_line().await?.context("the clients are there")?;
    make_events(&engine, store.as_ref(), load).await?;
    stdout.write_all(format!("{}\n", store.position()?).as_bytes()).await?;
    stdout.flush().await?;
    orders.next_line().await?;
    serving.abort();
    engine.stop().await;
    Ok(())
}

/// Keeps to the rate: a command makes several events, so the next one waits until they are due.
async fn make_events(engine: &Engine, store: &dyn Store, load: Load) -> Result<()> {
    let (begun, first) = (Instant::now(), store.position()?);
    let mut runs = (1..=RUNS).map(samples::run_id).cycle();
    loop {
        let made = store.position()? - first;
        if made >= load.rate * load.seconds {
            return Ok(());
        }
        let due = begun + Duration::from_secs(1) * u32::try_from(made)? / u32::try_from(load.rate)?;
        tokio::time::sleep_until(due.into()).await;
        turn(engine, runs.next().context("a circle has no end")?).await?;
    }
}

/// Pauses a run at work; lets one that is paused go on.
async fn turn(engine: &Engine, id: RunId) -> Result<()> {
    let run = engine.load(&id).await?.context("the run was started")?;
    let by = samples::actor("ada");
    let command = match run.hold() {
        Some(hold) => {
            Command::Decide(Decide { hold: hold.id, digest: hold.digest.clone(), decision: Decision::Resume, by })
        }
        None => Command::Pause { by, reason: None },
    };
    engine.submit(id, command, None).await?;
    Ok(())
}

/// The clients' side.
pub async fn measure(folder: &Path, load: Load) -> Result<Live> {
    std::fs::create_dir_all(folder)?;
    let mut host = tokio::process::Command::new(std::env::current_exe()?)
        .arg("host")
        .arg(folder)
        .args([load.clients.to_string(), load.rate.to_string(), load.seconds.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let process = host.id().context("the host runs")?.to_string();
    let mut orders = host.stdin.take().context("the host takes orders")?;
    let mut said = BufReader::new(host.stdout.take().context("the host speaks")?).lines();
    let address = said.next_line().await?.context("the host says where it is")?;
    let alone = resident_kb_of(&process)? / 1024.0;
    let (end, ended) = watch::channel(u64::MAX);
    let mut clients = Vec::new();
    for _ in 0..load.clients {
        let (socket, _) = client_async(request(&address)?, TcpStream::connect(&address).await?).await?;
        clients.push(tokio::spawn(listen(socket, ended.clone())));
    }
    let deaf = stall(&address).await?;
    let stalled = Instant::now();
    watched_by(&address, load.clients + 1).await?;
    let watched = resident_kb_of(&process)? / 1024.0;
    let before = processor_seconds(&process)?;
    orders.write_all(b"go\n").await?;
    let last: u64 = said.next_line().await?.context("the host says how far it came")?.trim().parse()?;
    let processor = processor_seconds(&process)? - before;
    let after = resident_kb_of(&process)? / 1024.0;
    end.send(last)?;
    let mut accounts = Vec::new();
    for client in clients {
        accounts.push(tokio::time::timeout(Duration::from_secs(60), client).await.context("everything comes")???);
    }
    // Who listened has left; the one that never reads is let go because it does not answer.
    watched_by(&address, 0).await?;
    let stalled_seconds = stalled.elapsed().as_secs_f64();
    drop((deaf, orders));
    host.wait().await?;
    let millis: Vec<f64> = accounts.iter().flat_map(|account| account.millis.iter().copied()).collect();
    Ok(Live {
        slowest: millis.iter().copied().fold(0.0, f64::max),
        delivery: Spread::of(millis),
        events: accounts.iter().map(|account| last - account.first).max().unwrap_or_default(),
        delivered: accounts.iter().map(|account| account.delivered).sum(),
        expected: accounts.iter().map(|account| last - account.first).sum(),
        behind: accounts.iter().map(|account| account.behind).sum(),
        memory: [alone, watched, after],
        processor,
        stalled_seconds,
    })
}

fn request(address: &str) -> Result<tokio_tungstenite::tungstenite::handshake::client::Request> {
    let mut request = format!("ws://{address}/api/live").into_client_request()?;
    request.headers_mut().insert("authorization", format!("Bearer {TOKEN}").parse()?);
    Ok(request)
}

/// Listens until the end is known and reached. Every position must follow the one before it.
async fn listen(mut socket: WebSocketStream<TcpStream>, mut ended: watch::Receiver<u64>) -> Result<Account> {
    let mut account = Account::default();
    while account.last < *ended.borrow_and_update() {
        tokio::select! {
            message = socket.next() => {
                let message = message.context("the server keeps who listens")??;
                if let Message::Text(text) = message {
                    account.take(text.as_str(), Timestamp::now())?;
                }
            }
            changed = ended.changed() => changed?,
        }
    }
    Ok(account)
}

/// One client's account.
#[derive(Default)]
struct Account {
    millis: Vec<f64>,
    /// Where its snapshot stood.
    first: u64,
    last: u64,
    delivered: u64,
    behind: u64,
}

impl Account {
    /// Looks only where it must: whoever reads everything would measure itself.
    fn take(&mut self, text: &str, now: Timestamp) -> Result<()> {
        let position: u64 = after(text, "\"position\":", |c| !c.is_ascii_digit())?.parse()?;
        match after(text, "\"message\":\"", |c| c == '"')? {
            "snapshot" => (self.first, self.last) = (if self.first == 0 { position } else { self.first }, position),
            "behind" => self.behind += 1,
            _ => {
                ensure!(position == self.last + 1, "{position} came after {}", self.last);
                let recorded: Timestamp = after(text, "\"timestamp\":\"", |c| c == '"')?.parse()?;
                self.millis.push(now.duration_since(recorded).as_secs_f64() * 1000.0);
                (self.last, self.delivered) = (position, self.delivered + 1);
            }
        }
        Ok(())
    }
}

fn after<'a>(text: &'a str, name: &str, ends: impl Fn(char) -> bool) -> Result<&'a str> {
    let (_, rest) = text.split_once(name).with_context(|| format!("no {name} in a message"))?;
    Ok(rest.split(ends).next().unwrap_or_default())
}

/// A client that opens a socket and never reads from it.
async fn stall(address: &str) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    let mut stream = socket.connect(address.parse()?).await?;
    let head = format!(
        "GET /api/live HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: Upgrade\r\nUpgrade: \
         websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    Ok(stream)
}

/// Waits until the server counts so many watchers.
async fn watched_by(address: &str, count: usize) -> Result<()> {
    let http = reqwest::Client::new();
    let wanted = format!("holdpoint_live_clients {count}");
    let counted = async {
        loop {
            let asked = http.get(format!("http://{address}/metrics")).bearer_auth(TOKEN);
            if asked.send().await?.text().await?.lines().any(|line| line == wanted) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), counted).await.with_context(|| format!("never {count} watchers"))?
}

/// What a process has taken of the processors, by the kernel's count of hundredths.
fn processor_seconds(process: &str) -> Result<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, rest) = stat.rsplit_once(')').context("a name in parentheses")?;
    let ticks = |at: usize| -> Result<f64> { Ok(rest.split_whitespace().nth(at).context("a count")?.parse()?) };
    Ok((ticks(11)? + ticks(12)?) / 100.0)
}
