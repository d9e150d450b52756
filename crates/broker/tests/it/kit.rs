//! A gateway with a client on its socket, and upstreams that play a list of answers.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use broker::calls::{self, CallRecord, Settled, Tried};
use broker::{
    Gateway, Grant, HostedFeatures, Limits, Micros, Price, RetryPolicy, Script, Secret, Upstream, UpstreamKind, prices,
};
use bytes::Bytes;
use futures_util::stream;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// A running gateway. Dropping it tells the gateway to stop.
pub(crate) struct Door {
    pub(crate) client: reqwest::Client,
    pub(crate) socket: PathBuf,
    log: PathBuf,
    notes: mpsc::UnboundedReceiver<()>,
    stop: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<()>,
    _room: tempfile::TempDir,
}

pub(crate) fn grant(upstreams: Vec<Upstream>) -> Grant {
    Grant {
        run: "run-1".into(),
        attempt: "attempt-1".into(),
        role: "coder".into(),
        visit: 1,
        upstreams,
        limit: None,
        retry: RetryPolicy {
            attempts: 3,
            base_ms: 1,
            cap_ms: 2_000,
            connect_ms: 2_000,
            first_byte_ms: 5_000,
            idle_ms: 5_000,
        },
        max_calls: None,
        search: None,
        embeddings: None,
        mcp: Vec::new(),
        direct: None,
        limits_folder: None,
        ask_after: None,
        purses: Vec::new(),
        purses_folder: None,
    }
}

impl Door {
    pub(crate) fn open(grant: Grant) -> Self {
        Self::made(grant, |gateway| gateway)
    }

    /// The same for an agent that hands in.
    pub(crate) fn taking(grant: Grant, hand_ins: broker::HandIns) -> Self {
        Self::made(grant, |gateway| gateway.taking(hand_ins))
    }

    fn made(grant: Grant, with: impl FnOnce(Gateway) -> Gateway) -> Self {
        let room = tempfile::tempdir().unwrap();
        let (socket, log) = (room.path().join("s"), room.path().join("calls.jsonl"));
        let file = OpenOptions::new().append(true).create(true).open(&log).unwrap();
        let (note, notes) = mpsc::unbounded_channel();
        // A test may end before the last line is written; then nobody listens.
        let notify = Arc::new(move || {
            let _ = note.send(());
        });
        let gateway = Arc::new(with(Gateway::new(grant, file, notify).unwrap()));
        let listener = tokio::net::UnixListener::bind(&socket).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(gateway.serve(listener, async move { drop(stopped.await) }));
        let client = reqwest::Client::builder().unix_socket(socket.clone()).no_proxy().build().unwrap();
        let stop = Some(stop);
        Self { client, socket, log, notes, stop, served, _room: room }
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> reqwest::RequestBuilder {
        self.client.post(format!("http://broker{path}")).json(body)
    }

    /// Sends, reads the whole answer, and gives status and text.
    pub(crate) async fn ask(&self, path: &str, body: &Value) -> (u16, String) {
        let response = self.post(path, body).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    pub(crate) async fn json(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.ask(path, body).await;
        (status, serde_json::from_str(&text).unwrap())
    }

    pub(crate) fn records(&self) -> Vec<CallRecord> {
        calls::read(&self.log).unwrap()
    }

    pub(crate) fn settled(&self) -> Vec<Settled> {
        let settled = |record| match record {
            CallRecord::Settled(settled) => Some(settled),
            _other => None,
        };
        self.records().into_iter().filter_map(settled).collect()
    }

    pub(crate) fn tried(&self) -> Vec<Tried> {
        let tried = |record| match record {
            CallRecord::Tried(tried) => Some(tried),
            _other => None,
        };
        self.records().into_iter().filter_map(tried).collect()
    }

    /// The only settled call.
    #[track_caller]
    pub(crate) fn one(&self) -> Settled {
        let mut settled = self.settled();
        assert_eq!(settled.len(), 1, "{settled:#?}");
        settled.remove(0)
    }

    /// Waits until that many lines have been written since the gateway was opened.
    pub(crate) async fn wait_for_lines(&mut self, lines: usize) {
        while self.records().len() < lines {
            self.notes.recv().await.unwrap();
        }
    }

    /// Waits for another line than those that were waited for so far.
    pub(crate) async fn next_line(&mut self) {
        self.notes.recv().await.unwrap();
    }

    /// Ends the gateway and gives what it logged.
    pub(crate) async fn close(mut self) -> Vec<Settled> {
        self.stop.take().unwrap().send(()).unwrap();
        (&mut self.served).await.unwrap();
        self.settled()
    }
}

/// What a fake upstream does with one request.
pub(crate) enum Play {
    Reply {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// Events in chunks; then the end, or a broken connection.
    Events {
        chunks: Vec<String>,
        ending: Ending,
    },
    /// Sends the chunks only when the test says so.
    Held {
        gate: oneshot::Receiver<()>,
        body: String,
    },
    /// An event stream of any bytes.
    Bytes(Vec<Vec<u8>>),
    /// Accepts the request and never answers.
    Silence,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ending {
    Clean,
    Broken,
    Never,
}

pub(crate) fn reply(status: u16, body: &Value) -> Play {
    Play::Reply { status, headers: vec![], body: body.to_string() }
}

pub(crate) fn events(text: &str) -> Play {
    Play::Events { chunks: split(text), ending: Ending::Clean }
}

/// Uneven pieces, so that events do not match chunks.
pub(crate) fn split(text: &str) -> Vec<String> {
    let bytes: Vec<char> = text.chars().collect();
    bytes.chunks(37).map(|chunk| chunk.iter().collect()).collect()
}

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) query: Option<String>,
    pub(crate) headers: axum::http::HeaderMap,
    pub(crate) body: Value,
}

#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) url: String,
    plays: Arc<Mutex<VecDeque<Play>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    arrived: Arc<tokio::sync::Notify>,
}

impl Fake {
    pub(crate) async fn start(plays: Vec<Play>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            plays: Arc::new(Mutex::new(plays.into())),
            seen: Arc::default(),
            arrived: Arc::default(),
        };
        let app = Router::new().fallback(serve).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        fake
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) async fn arrival(&self) {
        self.arrived.notified().await;
    }

    pub(crate) fn upstream(&self, provider: &str, kind: UpstreamKind) -> Upstream {
        let base_url = match kind {
            UpstreamKind::OpenAi => format!("{}/v1", self.url),
            UpstreamKind::Anthropic | UpstreamKind::Gemini | UpstreamKind::Scripted => self.url.clone(),
        };
        Upstream {
            provider: provider.into(),
            kind,
            base_url,
            key: Secret::new("sk-the-real-key"),
            script: None,
            prices: vec![Price {
                model: "m".into(),
                input: 1_000_000,
                output: 10_000_000,
                cache_read: 100_000,
                cache_write: 2_000_000,
                long: None,
            }],
            models: vec!["m".into(), "unpriced".into()],
            hosted: HostedFeatures::default(),
            limits: Limits::default(),
        }
    }
}

async fn serve(State(fake): State<Fake>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    fake.seen.lock().unwrap().push(Seen {
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        body: serde_json::from_slice(&body).unwrap(),
    });
    let play = fake.plays.lock().unwrap().pop_front().expect("a request too many");
    fake.arrived.notify_one();
    match play {
        Play::Reply { status, headers, body } => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).unwrap()
        }
        Play::Events { chunks, ending } => {
            let chunks = stream::unfold(chunks.into_iter(), move |mut chunks| async move {
                tokio::task::yield_now().await;
                if let Some(chunk) = chunks.next() {
                    return Some((Ok(Bytes::from(chunk)), chunks));
                }
                match ending {
                    Ending::Clean => None,
                    Ending::Broken => Some((Err(std::io::Error::other("broken")), chunks)),
                    Ending::Never => std::future::pending().await,
                }
            });
            let response = Response::builder().header("content-type", "text/event-stream");
            response.body(Body::from_stream(chunks)).unwrap()
        }
        Play::Held { gate, body } => {
            gate.await.unwrap();
            Response::new(Body::from(body))
        }
        Play::Bytes(chunks) => {
            let chunks = chunks.into_iter().map(|chunk| Ok::<_, std::io::Error>(Bytes::from(chunk)));
            let response = Response::builder().header("content-type", "text/event-stream");
            response.body(Body::from_stream(stream::iter(chunks))).unwrap()
        }
        Play::Silence => std::future::pending().await,
    }
}

pub(crate) fn scripted(text: &str) -> Upstream {
    Upstream {
        provider: "scripted".into(),
        kind: UpstreamKind::Scripted,
        base_url: String::new(),
        key: Secret::default(),
        script: Some(Script::parse(text, "demo").unwrap()),
        prices: prices::table().for_provider("scripted"),
        models: Vec::new(),
        hosted: HostedFeatures::default(),
        limits: Limits::default(),
    }
}

/// The `data:` values of an event stream.
pub(crate) fn data(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data: "));
    lines.filter(|line| *line != "[DONE]").map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn micros(settled: &Settled) -> u64 {
    settled.micro_usd.unwrap_or(Micros(0)).0
}
