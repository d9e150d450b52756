//! One courier per destination, so that a slow one holds up nobody else: reads on in the feed, keeps what is to be told,
//! delivers what is due. A webhook is told at least once, a screen at most once.

use std::sync::Arc;
use std::time::Duration;

use domain::RunId;
use engine::{FeedItem, Store, StoreError, boundary};
use jiff::{SignedDuration, Timestamp};
use store::{Delivery, DeliveryRow, NewDelivery, Post, Standing};
use wire::{Fault, Notice};

use super::notice::{notice, topic};
use super::webhook::{self, Letter};
use super::{Destination, Notify, Patience, Topic, desktop};
use crate::App;
use crate::idle::Visit;
use crate::problem::Failure;

const BATCH: usize = 256;
/// After trouble with the disk.
const BREATH: Duration = Duration::from_secs(5);

/// All destinations, and how to wake their couriers.
pub(crate) struct Bureau {
    patience: Patience,
    desks: Vec<(Destination, Arc<tokio::sync::Notify>)>,
}

/// How a destination stands.
pub(crate) struct Told {
    pub(crate) destination: Destination,
    pub(crate) standing: Standing,
}

impl Bureau {
    pub(crate) fn new(notify: &Notify) -> Self {
        let desks = notify.destinations().into_iter().map(|destination| (destination, Arc::default())).collect();
        Self { patience: notify.patience, desks }
    }

    /// Sends the couriers out. They end with the engine.
    pub(crate) async fn open(&self, app: &App) -> Result<(), Failure> {
        let names: Vec<String> = self.desks.iter().map(|(destination, _)| destination.name().to_owned()).collect();
        let dropped = keep(app, move |post| post.keep_only(&names.iter().map(String::as_str).collect::<Vec<_>>()));
        let dropped = dropped.await?;
        if dropped > 0 {
            tracing::warn!(dropped, "notices waited for destinations that are no longer in config.toml");
        }
        for (destination, wake) in &self.desks {
            let courier = Courier::new(app.clone(), destination.clone(), self.patience)?;
            tokio::spawn(courier.serve(Arc::clone(wake)));
        }
        Ok(())
    }

    pub(crate) async fn standing(&self, app: &App, recent: usize) -> Result<Vec<Told>, Failure> {
        let mut told = Vec::new();
        for (destination, _) in &self.desks {
            let name = destination.name().to_owned();
            let standing = keep(app, move |post| post.standing(&name, recent)).await?;
            told.push(Told { destination: destination.clone(), standing });
        }
        Ok(told)
    }

    /// Sends a test notice, once, through the same line, and says what became of it.
    pub(crate) async fn test(&self, app: &App, name: &str) -> Result<DeliveryRow, Failure> {
        let (destination, _) = self.find(name)?;
        let courier = Courier::new(app.clone(), destination.clone(), self.patience)?;
        let notice = Notice {
            id: format!("test-{:016x}", rand::random::<u64>()),
            event: "test".to_owned(),
            at: Timestamp::now(),
            position: *app.engine.positions().borrow(),
            run: None,
            hold: None,
            failure: None,
            link: String::new(),
        };
        let (name, new, id) = (destination.name().to_owned(), kept(&notice), notice.id.clone());
        let newest = notice.position;
        // Not due by itself for so long that nobody else takes it up.
        let due = Timestamp::now().saturating_add(SignedDuration::from_hours(1)).unwrap_or(Timestamp::MAX);
        let put = move |post: &Post| {
            post.cursor(&name, newest)?;
            post.put(&name, &new, due, Timestamp::now())
        };
        let delivery = keep(app, put).await?;
        courier.deliver(delivery, Tries::One).await?;
        let name = destination.name().to_owned();
        let row = keep(app, move |post| post.delivery(&name, &id)).await?;
        row.ok_or_else(|| Failure::bug("a test notice is gone"))
    }

    /// Puts what was given up back into the line.
    pub(crate) async fn revive(&self, app: &App, name: &str) -> Result<usize, Failure> {
        let (destination, wake) = self.find(name)?;
        let name = destination.name().to_owned();
        let revived = keep(app, move |post| post.revive(&name, Timestamp::now())).await?;
        wake.notify_one();
        Ok(revived)
    }

    fn find(&self, name: &str) -> Result<&(Destination, Arc<tokio::sync::Notify>), Failure> {
        self.desks.iter().find(|(destination, _)| destination.name() == name).ok_or_else(|| {
            let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
            let hint =
                "see `holdpoint notify list`; destinations stand under [notify] in config.toml, read at the start";
            Failure::new(Fault::Missing, "no_such_destination", format!("nobody is told as `{shown}`"), hint)
        })
    }
}

/// How often a delivery may be tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tries {
    One,
    Patient,
}

struct Courier {
    app: App,
    destination: Destination,
    patience: Patience,
    client: Option<reqwest::Client>,
}

impl Courier {
    fn new(app: App, destination: Destination, patience: Patience) -> Result<Self, Failure> {
        let client = match &destination {
            Destination::Webhook(webhook) => Some(webhook::client(webhook, patience.one).map_err(|problem| {
                Failure::new(Fault::World, "no_client", problem, "see whether the system's certificates can be read")
            })?),
            Destination::Desktop(_) => None,
        };
        Ok(Self { app, destination, patience, client })
    }

    async fn serve(self, wake: Arc<tokio::sync::Notify>) {
        let mut positions = self.app.engine.positions();
        // A server with something to deliver is not idle.
        let mut _stays: Option<Visit>;
        loop {
            positions.mark_unchanged();
            _stays = self.app.door.enter();
            let next = match self.round().await {
                Ok(next) => next,
                Err(failure) => {
                    tracing::warn!(destination = self.destination.name(), ?failure, "notices have to wait");
                    Some(BREATH)
                }
            };
            if next.is_none() {
                _stays = None;
            }
            tokio::select! {
                changed = positions.changed() => if changed.is_err() { return },
                () = wake.notified() => {}
                () = pause(next) => {}
            }
        }
    }

    /// Keeps what is new and delivers what is due; with how long until the next is.
    async fn round(&self) -> Result<Option<Duration>, Failure> {
        let (destination, store) = (self.destination.clone(), Arc::clone(self.app.engine.store()));
        keep(&self.app, move |post| read_on(store.as_ref(), post, &destination)).await?;
        let name = self.destination.name().to_owned();
        loop {
            let of = name.clone();
            let due = keep(&self.app, move |post| post.due(&of, Timestamp::now())).await?;
            let Some(delivery) = due else { break };
            self.deliver(delivery, Tries::Patient).await?;
        }
        let next = keep(&self.app, move |post| post.next_due(&name)).await?;
        Ok(next.map(|due| due.duration_since(Timestamp::now()).try_into().unwrap_or_default()))
    }

    async fn deliver(&self, delivery: Delivery, tries: Tries) -> Result<(), Failure> {
        let Ok(mut notice) = serde_json::from_str::<Notice>(&delivery.notice) else {
            let number = delivery.number;
            let unreadable = "the kept notice cannot be read";
            return keep(&self.app, move |post| post.failed(number, unreadable, None, Timestamp::now())).await;
        };
        notice.link = match &notice.run {
            Some(run) => format!("{}/runs/{}", self.app.place.public_url(), run.id),
            None => self.app.place.public_url(),
        };
        match &self.destination {
            Destination::Webhook(webhook) => {
                let client = self.client.as_ref().expect("a courier of a webhook has a client");
                let body = serde_json::to_string(&notice).expect("notices have text keys only");
                let letter = Letter { id: &delivery.id, event: &delivery.event, attempt: delivery.tries + 1, body };
                boundary("notice: before it is sent");
                let sent = webhook::send(client, webhook, letter).await;
                boundary("notice: sent, not yet noted");
                self.note(delivery, sent, tries).await
            }
            Destination::Desktop(desktop) => {
                let number = delivery.number;
                // Noted first: a person who sees it twice is told something untrue.
                keep(&self.app, move |post| post.delivered(number, Timestamp::now())).await?;
                match desktop::show(desktop, &notice, self.patience.one).await {
                    Ok(()) => Ok(()),
                    Err(problem) => keep(&self.app, move |post| post.missed(number, &problem, Timestamp::now())).await,
                }
            }
        }
    }

    async fn note(&self, delivery: Delivery, sent: Result<(), String>, tries: Tries) -> Result<(), Failure> {
        let (number, now) = (delivery.number, Timestamp::now());
        let problem = match sent {
            Ok(()) => return keep(&self.app, move |post| post.delivered(number, now)).await,
            Err(problem) => problem,
        };
        let wait = match tries {
            Tries::One => None,
            Tries::Patient => self.patience.wait(delivery.tries + 1, rand::random()),
        };
        let again = wait.map(|wait| now.checked_add(wait).unwrap_or(Timestamp::MAX));
        let (name, id, given_up) = (self.destination.name(), &delivery.id, again.is_none());
        tracing::warn!(destination = name, delivery = %id, attempt = delivery.tries + 1, given_up, %problem, "not delivered");
        keep(&self.app, move |post| post.failed(number, &problem, again, now)).await
    }
}

/// What the feed says since it was last read for a destination.
fn read_on(store: &dyn Store, post: &Post, destination: &Destination) -> Result<(), StoreError> {
    let (name, newest) = (destination.name(), store.position()?);
    let mut from = post.cursor(name, newest)?;
    loop {
        let items = store.feed(from, BATCH)?;
        let Some(last) = items.last().map(|item| item.position) else { return Ok(()) };
        let mut new = Vec::new();
        for item in &items {
            if let Some(topic) = topic(&item.recorded.event).filter(|topic| destination.topics().contains(topic)) {
                new.extend(told(store, item, topic)?);
            }
        }
        boundary("notice: before it is kept");
        post.take_in(name, last, &new, Timestamp::now())?;
        boundary("notice: kept");
        from = last;
    }
}

fn told(store: &dyn Store, item: &FeedItem, topic: Topic) -> Result<Option<NewDelivery>, StoreError> {
    let run: &RunId = &item.run;
    let row = store.row(run)?;
    Ok(row.and_then(|row| notice(item, topic, &row)).map(|notice| kept(&notice)))
}

fn kept(notice: &Notice) -> NewDelivery {
    let text = serde_json::to_string(notice).expect("notices have text keys only");
    NewDelivery { id: notice.id.clone(), event: notice.event.clone(), notice: text }
}

async fn pause(next: Option<Duration>) {
    match next {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}

async fn keep<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&Post) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Failure> {
    let post = Arc::clone(&app.post);
    let joined = tokio::task::spawn_blocking(move || work(&post)).await;
    Ok(joined.map_err(|_| Failure::bug("keeping a notice broke off"))??)
}
