//! What happens to one run, as it happens: over the WebSocket, reconnecting when it breaks, and by asking
//! again and again while it cannot connect. Every stored event is given out once and in order.

use std::{collections::VecDeque, time::Duration};

use futures_util::StreamExt as _;
use serde_json::Value;
use tokio::{net::TcpStream, sync::mpsc, task::JoinHandle};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest as _, http::HeaderValue},
};
use wire::{EventView, LiveMessage, LiveName, RunView};

use crate::{client::Client, failure::Failure};

/// How long to wait before asking or connecting again.
pub(crate) const PAUSE: Duration = Duration::from_millis(700);

/// Something to draw.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Update {
    /// The run as it is now.
    Run(Box<RunView>),
    /// A stored event.
    Event(EventView),
    /// The run of a task as it is now.
    Child(Box<RunView>),
    /// Something an agent does right now, in the run itself or in the run of a task.
    Activity(String, LiveName, Value),
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// What is done and said in a channel.
pub(crate) async fn channel(client: &Client, id: &str) -> Option<Socket> {
    connect(client, &format!("/api/channels/{id}/live")).await
}

/// Everything that happens to any run: a snapshot first, then what is stored and done after it.
pub(crate) async fn everything(client: &Client) -> Option<Socket> {
    connect(client, "/api/live").await
}

async fn connect(client: &Client, path: &str) -> Option<Socket> {
    let url = format!("{}{path}", client.url().replacen("http", "ws", 1));
    let mut request = url.into_client_request().ok()?;
    let token = HeaderValue::from_str(&format!("Bearer {}", client.token())).ok()?;
    request.headers_mut().insert("authorization", token);
    // Why it cannot connect does not matter: asking over HTTP tells the real reason.
    connect_async(request).await.ok().map(|(socket, _)| socket)
}

/// The updates of one run, and of the runs of its tasks.
pub(crate) struct Feed {
    client: Client,
    run: String,
    /// Last event given out.
    sequence: u64,
    /// Last global position heard of.
    position: Option<u64>,
    /// Newest state of the run given out; an older one would show a hold that is gone.
    version: u64,
    socket: Option<Socket>,
    /// Connections tried since the last message.
    tries: u32,
    waiting: VecDeque<Update>,
}

/// A feed read by a task of its own, because a half-done read must not be dropped.
pub(crate) struct Follower {
    updates: mpsc::Receiver<Result<Update, Failure>>,
    task: JoinHandle<()>,
}

impl Follower {
    pub(crate) fn new(mut feed: Feed) -> Self {
        // A screen draws faster than agents speak; should it not, the server tells that we are behind.
        let (sender, updates) = mpsc::channel(64);
        let task = tokio::spawn(async move {
            loop {
                let update = feed.next().await;
                let failed = update.is_err();
                if sender.send(update).await.is_err() || failed {
                    return;
                }
            }
        });
        Self { updates, task }
    }

    /// The next update. May be dropped and called again; after a failure there is no next one.
    pub(crate) async fn next(&mut self) -> Result<Update, Failure> {
        self.updates.recv().await.unwrap_or_else(|| {
            Err(Failure::unavailable("server_unreachable", "the live feed ended", "watch the run again"))
        })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Feed {
    /// Updates after an event the caller already knows of.
    pub(crate) fn new(client: Client, run: String, sequence: u64) -> Self {
        Self { client, run, sequence, position: None, version: 0, socket: None, tries: 0, waiting: VecDeque::new() }
    }

    /// The next update.
    pub(crate) async fn next(&mut self) -> Result<Update, Failure> {
        loop {
            if let Some(update) = self.waiting.pop_front() {
                return Ok(update);
            }
            match &mut self.socket {
                Some(socket) => match socket.next().await {
                    Some(Ok(Message::Text(text))) => self.take(text.as_str()).await?,
                    Some(Ok(Message::Close(_)) | Err(_)) | None => self.socket = None,
                    Some(Ok(Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
                },
                None => self.connect_or_poll().await?,
            }
        }
    }

    async fn connect_or_poll(&mut self) -> Result<(), Failure> {
        if self.tries > 0 {
            tokio::time::sleep(PAUSE).await;
        }
        self.tries += 1;
        self.socket = self.connect().await;
        // Also after connecting: closes the gap between the last answer and the first message.
        self.poll().await
    }

    async fn connect(&self) -> Option<Socket> {
        let after = self.position.map(|position| format!("&after={position}")).unwrap_or_default();
        connect(&self.client, &format!("/api/live?children=true&run={}{after}", self.run)).await
    }

    async fn poll(&mut self) -> Result<(), Failure> {
        let events = self.client.events(&self.run, self.sequence).await?;
        let run = self.client.run(&self.run).await?;
        if run.tasks.iter().any(|task| task.child.is_some()) {
            let children = self.client.children(&self.run).await?;
            self.waiting.extend(children.into_iter().map(|child| Update::Child(Box::new(child))));
        }
        events.into_iter().for_each(|event| self.give(event));
        self.show(Box::new(run));
        Ok(())
    }

    async fn take(&mut self, text: &str) -> Result<(), Failure> {
        // A message of a newer server that is not understood is no reason to stop.
        let Ok(message) = serde_json::from_str::<LiveMessage>(text) else { return Ok(()) };
        self.tries = 0;
        match message {
            LiveMessage::Snapshot { position, runs } => {
                self.position = Some(position);
                for run in runs {
                    if run.id != self.run {
                        self.waiting.push_back(Update::Child(Box::new(run)));
                    } else if run.version > self.sequence {
                        self.poll().await?;
                    } else {
                        self.show(Box::new(run));
                    }
                }
            }
            LiveMessage::Event { position, event, run, .. } if event.run != self.run => {
                self.position = Some(position);
                self.waiting.push_back(Update::Child(run));
            }
            LiveMessage::Event { position, event, run, .. } => {
                self.position = Some(position);
                if event.sequence > self.sequence + 1 {
                    return self.poll().await;
                }
                self.give(event);
                self.show(run);
            }
            LiveMessage::Activity { run, name, data } => self.waiting.push_back(Update::Activity(run, name, data)),
            LiveMessage::Behind { .. } => {}
        }
        Ok(())
    }

    fn show(&mut self, run: Box<RunView>) {
        if run.version >= self.version {
            self.version = run.version;
            self.waiting.push_back(Update::Run(run));
        }
    }

    fn give(&mut self, event: EventView) {
        if event.run == self.run && event.sequence > self.sequence {
            self.sequence = event.sequence;
            self.waiting.push_back(Update::Event(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::run::sample;
    use axum::{
        Json, Router,
        extract::{State, WebSocketUpgrade, ws},
        response::Response,
        routing::get,
    };
    use serde_json::json;
    use wire::LiveMessage;

    fn event(sequence: u64) -> EventView {
        let (run, kind) = (sample::running().id, "STAGE_STARTED".to_owned());
        EventView { run, sequence, kind, timestamp: sample::at(), payload: json!({}), task: None }
    }

    fn message(sequence: u64) -> LiveMessage {
        let run = Box::new(RunView { version: sequence, ..sample::running() });
        LiveMessage::Event { position: 100 + sequence, name: LiveName::WorkflowEvent, event: event(sequence), run }
    }

    /// Each connection gets the next list of messages and is then cut off.
    type Scripts = std::sync::Arc<std::sync::Mutex<VecDeque<Vec<LiveMessage>>>>;

    async fn serve(scripts: Vec<Vec<LiveMessage>>, stored: u64) -> Client {
        async fn live(State(scripts): State<Scripts>, upgrade: WebSocketUpgrade) -> Response {
            let messages = scripts.lock().unwrap().pop_front().unwrap_or_default();
            upgrade.on_upgrade(async move |mut socket| {
                for message in messages {
                    let text = serde_json::to_string(&message).unwrap();
                    socket.send(ws::Message::Text(text.into())).await.unwrap();
                }
            })
        }
        let events = move || async move { Json((1..=stored).map(event).collect::<Vec<_>>()) };
        let run = move || async move { Json(RunView { version: stored, ..sample::running() }) };
        let mut router = Router::new().route("/api/runs/{id}", get(run)).route("/api/runs/{id}/events", get(events));
        if !scripts.is_empty() {
            router = router.merge(
                Router::new()
                    .route("/api/live", get(live))
                    .with_state(Scripts::new(std::sync::Mutex::new(scripts.into()))),
            );
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Client::new(&url, "secret".to_owned(), "cli").unwrap()
    }

    async fn sequences(feed: &mut Feed, count: usize) -> Vec<u64> {
        let mut seen = Vec::new();
        while seen.len() < count {
            if let Update::Event(event) = feed.next().await.unwrap() {
                seen.push(event.sequence);
            }
        }
        seen
    }

    #[tokio::test]
    async fn events_come_once_and_in_order_over_broken_connections() {
        let client = serve(vec![vec![message(2), message(3)], vec![message(3), message(4)]], 2).await;
        let mut feed = Feed::new(client, sample::running().id, 0);
        assert_eq!(sequences(&mut feed, 4).await, [1, 2, 3, 4]);
    }

    #[tokio::test]
    async fn a_gap_is_filled_by_asking() {
        let client = serve(vec![vec![message(5)]], 5).await;
        let mut feed = Feed::new(client, sample::running().id, 1);
        assert_eq!(sequences(&mut feed, 4).await, [2, 3, 4, 5]);
    }

    #[tokio::test]
    async fn without_a_socket_the_server_is_asked() {
        let client = serve(Vec::new(), 2).await;
        let mut feed = Feed::new(client, sample::running().id, 0);
        assert_eq!(sequences(&mut feed, 2).await, [1, 2]);
        assert!(matches!(feed.next().await.unwrap(), Update::Run(run) if run.version == 2));
    }

    #[tokio::test]
    async fn a_follower_loses_nothing_when_its_reader_looks_elsewhere() {
        let mut follower = Follower::new(Feed::new(serve(Vec::new(), 3).await, sample::running().id, 0));
        let mut seen = Vec::new();
        while seen.len() < 3 {
            tokio::select! {
                biased;
                update = follower.next() => if let Update::Event(event) = update.unwrap() { seen.push(event.sequence) },
                () = tokio::task::yield_now() => {}
            }
        }
        assert_eq!(seen, [1, 2, 3]);
    }

    #[tokio::test]
    async fn an_older_state_of_the_run_is_not_shown_again() {
        let client = serve(vec![vec![message(2), message(5), message(6)]], 5).await;
        let mut feed = Feed::new(client, sample::running().id, 0);
        let mut versions = Vec::new();
        while versions.last() != Some(&6) {
            if let Update::Run(run) = feed.next().await.unwrap() {
                versions.push(run.version);
            }
        }
        assert_eq!(versions, [5, 5, 6]);
    }

    #[tokio::test]
    async fn the_run_of_a_task_is_told_apart_from_the_run_itself() {
        let child = RunView { id: "child".to_owned(), version: 9, ..sample::running() };
        let told = EventView { run: "child".to_owned(), sequence: 9, ..event(1) };
        let name = LiveName::WorkflowEvent;
        let of_child = LiveMessage::Event { position: 101, name, event: told, run: Box::new(child) };
        let mut feed = Feed::new(serve(vec![vec![of_child, message(2)]], 1).await, sample::running().id, 0);
        let mut children = Vec::new();
        loop {
            match feed.next().await.unwrap() {
                Update::Child(run) => children.push(run.id),
                Update::Event(event) if event.sequence == 2 => break,
                Update::Event(_) | Update::Run(_) | Update::Activity(..) => {}
            }
        }
        assert_eq!(children, ["child"]);
    }

    #[tokio::test]
    async fn what_an_agent_does_is_passed_on() {
        let run = sample::running().id;
        let data = json!({"tool": "shell"});
        let doing = LiveMessage::Activity { run, name: LiveName::TurnToolStarted, data: data.clone() };
        let mut feed = Feed::new(serve(vec![vec![doing]], 0).await, sample::running().id, 0);
        loop {
            if let Update::Activity(run, name, told) = feed.next().await.unwrap() {
                assert_eq!((run, name, told), (sample::running().id, LiveName::TurnToolStarted, data));
                return;
            }
        }
    }
}
