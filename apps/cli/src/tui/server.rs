//! The server's side of the screen: follows everything live, and carries orders out. Shows nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use wire::{CancelRequest, DecideRequest, HoldView, LiveMessage, RunView, TaskMerge};

use super::news::{Force, News, Order};
use super::page::Page;
use super::state::{Agent, Link};
use crate::ask;
use crate::change::{self, Of};
use crate::client::Client;
use crate::commands::whole;
use crate::failure::Failure;
use crate::live::{self, PAUSE};
use crate::report::run::short;
use crate::session::Session;
use crate::watch::{send, shown};

/// A server that is silent for so long, not even asking whether we are there, is none.
const SILENCE: Duration = Duration::from_secs(70);
/// Connections tried before another server is started: a killed one may be started again by whoever runs it.
const PATIENCE: u32 = 7;
/// What changed is looked at together, so that a busy run does not ask ten times a second.
const LOOK: Duration = Duration::from_millis(300);
/// Agents of more runs than this are not asked for at once.
const MOST: usize = 200;

/// Bytes of a diff that are shown on the screen; of what is left out the name is shown.
const LONG_DIFF: usize = 1024 * 1024;

/// The way to the server.
#[derive(Clone)]
pub(super) struct Server {
    session: Session,
    client: Arc<watch::Sender<Client>>,
    news: mpsc::Sender<News>,
}

impl Server {
    pub(super) fn new(session: Session, client: Client, news: mpsc::Sender<News>) -> Self {
        Self { session, client: Arc::new(watch::Sender::new(client)), news }
    }

    fn client(&self) -> Client {
        self.client.borrow().clone()
    }

    async fn tell(&self, news: News) {
        // Nobody listens any more only when the screen is gone.
        let _gone = self.news.send(news).await;
    }

    /// Follows everything that happens until it is stopped; finds the server again when it is gone.
    pub(super) async fn follow(self) {
        let mut seen = Timestamp::now();
        let mut lost: Option<(Timestamp, u32)> = None;
        loop {
            if self.listen(&mut seen).await {
                lost = None;
            }
            let (since, tries) = lost.unwrap_or_else(|| (Timestamp::now(), 0));
            if let Ok(runs) = self.client().runs().await {
                seen = Timestamp::now();
                lost = None;
                self.tell(News::Snapshot(runs)).await;
                self.tell(News::Link(Link::Asking)).await;
            } else {
                lost = Some((since, tries + 1));
                self.tell(News::Link(Link::Lost { since, seen })).await;
            }
            tokio::time::sleep(PAUSE).await;
            self.find(tries).await;
        }
    }

    /// The server may have come back at another address.
    async fn find(&self, tries: u32) {
        let found = match self.session.running().await {
            Some(client) => Some(client),
            None if tries >= PATIENCE => self.session.connect().await.ok(),
            None => None,
        };
        if let Some(client) = found {
            self.client.send_replace(client);
        }
    }

    /// Listens until the connection breaks. Whether anything was heard.
    async fn listen(&self, seen: &mut Timestamp) -> bool {
        let Some(mut socket) = live::everything(&self.client()).await else { return false };
        let mut changed: BTreeMap<String, RunView> = BTreeMap::new();
        let mut looking: Option<JoinHandle<()>> = None;
        let mut look = tokio::time::interval(LOOK);
        let (mut heard, mut last) = (false, tokio::time::Instant::now());
        loop {
            tokio::select! {
                message = socket.next() => {
                    let Some(Ok(message)) = message else { return heard };
                    (*seen, last) = (Timestamp::now(), tokio::time::Instant::now());
                    match message {
                        Message::Text(text) => heard |= self.heard(text.as_str(), &mut changed).await,
                        Message::Close(_) => return heard,
                        Message::Binary(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
                    }
                }
                _ = look.tick() => {
                    if last.elapsed() > SILENCE {
                        return heard;
                    }
                    if !changed.is_empty() && looking.as_ref().is_none_or(JoinHandle::is_finished) {
                        looking = Some(tokio::spawn(self.clone().look(std::mem::take(&mut changed))));
                    }
                }
            }
        }
    }

    async fn heard(&self, text: &str, changed: &mut BTreeMap<String, RunView>) -> bool {
        // A message of a newer server that is not understood is no reason to stop.
        let Ok(message) = serde_json::from_str::<LiveMessage>(text) else { return false };
        match message {
            LiveMessage::Snapshot { runs, .. } => {
                let open = runs.iter().filter(|run| run.completed_at.is_none() || run.status == "failed");
                changed.extend(open.take(MOST).map(|run| (run.id.clone(), run.clone())));
                self.tell(News::Snapshot(runs)).await;
                self.tell(News::Link(Link::Live)).await;
                // A snapshot has only the newest runs; something older may wait.
                if let Ok(holds) = self.client().holds().await {
                    self.tell(News::Holds(holds)).await;
                }
            }
            LiveMessage::Event { run, .. } => {
                changed.insert(run.id.clone(), run.as_ref().clone());
                self.tell(News::Run(run)).await;
            }
            LiveMessage::Activity { run, name, data } => self.tell(News::Activity(run, name, data)).await,
            LiveMessage::Behind { .. } => {}
        }
        true
    }

    /// Asks how the agents of runs stand.
    async fn look(self, changed: BTreeMap<String, RunView>) {
        let client = self.client();
        let mut agents = Vec::new();
        if changed.values().any(|run| run.task_status.is_some())
            && let Ok(tasks) = client.tasks(None, true).await
        {
            agents.extend(tasks.into_iter().map(|task| (task.id, agent(&task.session))));
        }
        for run in changed.values().filter(|run| run.task_status.is_none()) {
            if let Ok(sessions) = client.sessions(&run.id).await {
                let active = sessions.iter().find(|session| session.state == "active");
                let state = active.or(sessions.last()).map(|session| session.state.as_str());
                agents.push((run.id.clone(), agent(state.unwrap_or_default())));
            }
        }
        self.tell(News::Agents(agents)).await;
    }

    /// Carries an order out and tells what came of it.
    pub(super) async fn carry_out(self, order: Order) {
        let client = self.client();
        let news = match order {
            Order::Load(run) => match load(&client, &run).await {
                Ok(page) => News::Page(Box::new(page)),
                Err(failure) => News::NoPage(run, failure),
            },
            Order::Decide { hold, request } => decided(&client, &hold, *request).await,
            Order::AnswerFile { hold, path } => match ask::file_answer(std::path::Path::new(&path)) {
                Ok(answer) => {
                    let request = DecideRequest { answer: Some(answer), ..ask::request(&hold, "answer") };
                    decided(&client, &hold, request).await
                }
                Err(failure) => News::Refused(failure),
            },
            Order::Cancel(run) => {
                let cancelled = client.cancel(&run, &CancelRequest { reason: None }).await;
                done(cancelled, |_| format!("{} is cancelled", short(&run)))
            }
            Order::PullRequest(run) => {
                let opened = client.create_task_pr(&run).await;
                done(opened, |_| format!("a pull request of {} is being opened", short(&run)))
            }
            Order::Merge { run, force } => merged(&client, run, force).await,
            // Those are the screen's.
            Order::Outside(_) | Order::Quit => return,
        };
        self.tell(news).await;
    }
}

fn agent(session: &str) -> Agent {
    match session {
        "active" => Agent::Active,
        "crashed" | "error" => Agent::Crashed,
        _ => Agent::Inactive,
    }
}

fn done<T>(result: Result<T, Failure>, what: impl FnOnce(T) -> String) -> News {
    match result {
        Ok(value) => News::Done(what(value)),
        Err(failure) => News::Refused(failure),
    }
}

async fn decided(client: &Client, hold: &HoldView, request: DecideRequest) -> News {
    let word = request.decision.replace('_', " ");
    done(send(client, hold, request).await, |run| {
        format!("{}: {word}; it is {}", short(&run.id), run.status.replace('_', " "))
    })
}

async fn merged(client: &Client, run: String, force: Force) -> News {
    let task = match client.task(&run).await {
        Ok(task) => task,
        Err(failure) => return News::Refused(failure),
    };
    let merge = TaskMerge { force: force == Force::Yes, reason: None, commit: task.commit };
    match client.merge_task(&run, &merge).await {
        Err(failure) if failure.problem.code == "not_reviewed" => News::NotReviewed(run, failure),
        merged => done(merged, |task| format!("{} is {}", short(&task.id), task.status)),
    }
}

/// Everything about a run. Only the run itself must be there.
async fn load(client: &Client, id: &str) -> Result<Page, Failure> {
    let run = client.run(id).await?;
    let history = async {
        let sessions = client.sessions(id).await.ok()?;
        let chosen = sessions.iter().find(|session| session.state == "active").or(sessions.last())?;
        whole(client, &chosen.id).await.ok()
    };
    let content = async {
        match &run.hold {
            Some(held) => shown(client, &run, held, LONG_DIFF).await.ok(),
            None => None,
        }
    };
    let (content, diff, history, calls, why, events) = tokio::join!(
        content,
        change::load(client, id, Of::Branch, LONG_DIFF),
        history,
        client.spend(id),
        client.why(id),
        client.events(id, 0)
    );
    Ok(Page {
        shown: content.unwrap_or(crate::report::hold::Shown::Nothing),
        diff: diff.map_err(|failure| failure.problem.message),
        history,
        calls: calls.unwrap_or_default(),
        why: why.ok(),
        events: events.unwrap_or_default(),
        run,
    })
}
